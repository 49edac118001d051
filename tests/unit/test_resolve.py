"""Defaults: complete, legal, good, and the same every time."""

from __future__ import annotations

import importlib
from random import Random
from typing import Any

import pytest

from cutegen.arch import ARCHS
from cutegen.atoms import COPY_S2R, MMA_ATOMS
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.fuzz.generate import PARTITIONED, odd_config, sparse_config
from cutegen.layout import Layout
from cutegen.layout.banks import ideal_wavefronts, wavefronts
from cutegen.layout.partition import tile_offsets
from cutegen.layout.swizzle import Swizzle
from cutegen.operands.swap import transposed
from cutegen.plan import plan
from cutegen.resolve import resolve
from cutegen.resolve.mma import fitting_atoms
from cutegen.resources import operand_stage_bytes, smem_alignment, smem_bytes, swizzle_of
from cutegen.rules import check
from cutegen.vectors import VECTOR_NAMES
from tests.support.cases import AUTO, BASE, base, config
from tests.support.config_gen import wild_config
from tests.support.rule_cases_wgmma import hopper
from tests.support.simulate import fault_of
from tests.support.wgmma_variants import VARIANTS


def size(layout: Any) -> int:
    return Layout.make(layout.shape).size


class TestProperties:
    @pytest.mark.parametrize("seed", range(6))
    def test_resolving_twice_changes_nothing(self, seed: int) -> None:
        rng = Random(seed)
        for make in (sparse_config, odd_config, wild_config):
            for _ in range(25):
                once = resolve(make(rng))
                assert resolve(once) == once

    def test_is_deterministic(self) -> None:
        configs = [sparse_config(Random(seed)) for seed in range(30)]
        before = [resolve(c) for c in configs]
        importlib.import_module("cutegen.resolve")._resolve.cache_clear()
        assert [resolve(c) for c in reversed(configs)] == before[::-1]

    @pytest.mark.parametrize("seed", range(6))
    def test_what_is_given_stays(self, seed: int) -> None:
        rng = Random(seed)
        for _ in range(40):
            given = sparse_config(rng)
            resolved = resolve(given).model_dump()
            kept(given.model_dump(exclude_none=True), resolved)

    def test_everything_is_filled(self) -> None:
        for mainloop in ("multistage", "simt"):
            types = {"a.dtype": "f32", "b.dtype": "f32"} if mainloop == "simt" else {}
            hopper = dict.fromkeys(
                ("cluster", "schedule", "swap_ab", "pdl", "promote", "fast_accumulation"), True
            )
            parts = {
                "a": {"cache", "constant"},
                "b": {"cache", "constant"},
                "scheduler": {"split_k", "reduction"},
                "epilogue": {*VECTOR_NAMES, "overlap"},
            }
            filled = resolve(config(types, mainloop=mainloop))
            assert not list(empty(filled.model_dump(exclude={"limits": True, **hopper, **parts})))

    def test_operands_are_swapped_where_only_columns_are_multiples_of_64(self) -> None:
        swapped = {(16, 64): True, (96, 128): True, (64, 64): None, (128, 96): None, (100, 64): None}
        for (m, n), want in swapped.items():
            assert resolve(hopper(tile=[m, n, 64])).swap_ab is want
            assert resolve(hopper(tile=[m, n, 64], swap_ab=False)).swap_ab is False
        automatic = hopper(tile=[16, 64, 64]).replace(mainloop=None)
        assert resolve(automatic).mainloop == "multistage"
        assert resolve(automatic.replace(swap_ab=True)).mainloop == "tma_wgmma"

    def test_swapped_twice_is_the_same(self) -> None:
        for name, cfg in VARIANTS.items():
            resolved = resolve(cfg)
            assert transposed(transposed(resolved)) == resolved, name

    def test_a_given_config_is_its_own_resolution(self) -> None:
        resolved = resolve(base())
        for part in ("tile", "stages", "tiled_mma", "smem", "s2r"):
            assert getattr(resolved, part) == getattr(GemmConfig.model_validate(BASE), part)


def kept(given: Any, resolved: Any) -> None:
    """Every value of ``given`` is in ``resolved``; a missing stride may have been written out."""
    if isinstance(given, dict):
        for name, value in given.items():
            kept(value, resolved[name])
    else:
        assert resolved == given


def empty(value: Any, path: str = "") -> Any:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from empty(inner, f"{path}.{name}")
    elif value is None:
        yield path


#: What a user may give that leaves no legal choice, and the rule that says so.
CONSTRAINED = {
    "stages-fit": ("tile",),
    "g2s-tiles-operand": ("tile", "tiled_mma.layout"),
    "epilogue-fits": ("epilogue.store", "tile"),
    "fragment-buffers": ("fragment_buffers",),
}


def given(cfg: GemmConfig, path: str) -> bool:
    value: Any = cfg
    for name in path.split("."):
        value = getattr(value, name)
    return value is not None


class TestDefaultsAreLegal:
    @pytest.mark.parametrize("seed", range(12))
    def test_whenever_there_is_a_legal_choice(self, seed: int) -> None:
        rng = Random(seed)
        for _ in range(30):
            cfg = sparse_config(rng, mainloops=PARTITIONED)
            for violation in check(cfg):
                fields = CONSTRAINED.get(violation.rule)
                assert fields, f"{violation}\n{cfg.model_dump_json(exclude_none=True)}"
                assert all(given(cfg, f) for f in fields), (
                    f"{violation}\n{cfg.model_dump_json(exclude_none=True)}"
                )
                if violation.rule == "g2s-tiles-operand":
                    assert not splits(cfg, violation.field[-1])
                if violation.rule == "stages-fit":
                    assert crowded(cfg, cfg.stages or 1), cfg.model_dump_json(exclude_none=True)
                if violation.rule == "fragment-buffers":
                    assert unpaired(cfg), cfg.model_dump_json(exclude_none=True)

    @pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
    def test_for_every_atom(self, arch: str) -> None:
        capability = int("".join(c for c in arch if c.isdigit()))
        for atom in MMA_ATOMS.values():
            if atom.min_cc > capability:
                continue
            for mainloop in ("simt",) if atom.is_simt else ("direct", "multistage"):
                cfg = config(
                    {"a.dtype": atom.a, "b.dtype": atom.b}, arch=arch, accumulator=atom.acc, mainloop=mainloop
                )
                assert check(cfg) == [], f"{atom.name} {mainloop}"

    @pytest.mark.parametrize("stages", [1, 2, 5, 8, 16, 40])
    @pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90a"])
    def test_a_tile_is_chosen_that_the_stages_leave_room_for(self, arch: str, stages: int) -> None:
        cfg = config(arch=arch, stages=stages)
        assert check(cfg) == []
        assert resolve(cfg).stages == stages

    @pytest.mark.parametrize("warps", [(m, n) for m in (1, 2, 3, 4, 6) for n in (1, 2, 3, 5)])
    def test_a_tile_is_chosen_that_the_warps_divide(self, warps: tuple[int, int]) -> None:
        for majors in ("kk", "mn"):
            cfg = config({"tiled_mma.layout": [*warps, 1], "a.major": majors[0], "b.major": majors[1]})
            assert check(cfg) == []

    @pytest.mark.parametrize("row", [16, 32, 64, 128])
    def test_a_tile_is_chosen_that_the_layout_atom_divides(self, row: int) -> None:
        cfg = config({"smem.a": {"shape": [8, row], "stride": [row, 1]}})
        assert check(cfg) == []

    @pytest.mark.parametrize(
        "given",
        [{"tile": [64, 64, 16]}, {"arch": "sm_86", "stages": 12}],
        ids=["the atom", "the tile"],
    )
    def test_k_blocks_come_in_pairs_for_two_buffers_of_fragments(self, given: dict[str, Any]) -> None:
        assert check(config(given, fragment_buffers=2)) == []

    @pytest.mark.parametrize("tile", [[96, 160, 48], [6, 128, 8], [50, 30, 7], [33, 65, 3]], ids=str)
    def test_cuda_cores_take_any_tile(self, tile: list[int]) -> None:
        assert check(config({"a.dtype": "f32", "b.dtype": "f32"}, tile=tile)) == []

    def test_warps_match_the_threads_of_a_given_copy(self) -> None:
        for threads in (32, 64, 128, 256):
            cfg = config(
                {"g2s.a.threads": {"shape": [threads // 4, 4], "stride": [4, 1]}}, tile=[128, 128, 32]
            )
            assert check(cfg) == []
            resolved = resolve(cfg)
            assert size(resolved.g2s.b.threads) == threads

    def test_ldmatrix_gives_way_to_padding_that_is_no_multiple_of_16_bytes(self) -> None:
        cfg = config({"smem.a": {"shape": [128, 32], "stride": [36, 1]}}, tile=[128, 128, 32])
        assert check(cfg) == []
        resolved = resolve(cfg)
        assert resolved.s2r.a == "UniversalCopy"
        assert resolved.g2s.a.bits == 64
        assert COPY_S2R[resolved.s2r.b or ""].kind == "ldmatrix"


def crowded(cfg: GemmConfig, stages: int) -> bool:
    """Whether so many stages of a given tile are more than shared memory holds, even without padding."""
    m, n, k = cfg.tile or (0, 0, 0)
    stage = k * (m * dtype(cfg.a.dtype).bytes + n * dtype(cfg.b.dtype).bytes)
    return stages * stage > ARCHS[cfg.arch].smem_per_block


def unpaired(cfg: GemmConfig) -> bool:
    """Whether two buffers of fragments are asked for where they cannot be, whatever atom is chosen."""
    if cfg.mainloop != "multistage" or cfg.stages == 1:
        return cfg.fragment_buffers == 2
    if cfg.fragment_buffers != 2 or cfg.tile is None:
        return False
    atoms = [MMA_ATOMS[cfg.tiled_mma.atom]] if cfg.tiled_mma.atom else fitting_atoms(cfg)
    no_second = cfg.stages is None and crowded(cfg, 2)
    return no_second or all(cfg.tile[2] % (2 * atom.shape[2]) for atom in atoms)


def splits(cfg: GemmConfig, which: str) -> bool:
    """Whether an operand's tile splits among the threads at all, by trying every split of single elements."""
    resolved = resolve(cfg)
    assert resolved.tile is not None
    assert resolved.tiled_mma.layout is not None
    mn, k = resolved.tile[0 if which == "a" else 1], resolved.tile[2]
    m, n, _ = resolved.tiled_mma.layout
    threads = MMA_ATOMS[resolved.tiled_mma.atom or ""].threads * m * n
    return any(threads % t == 0 and mn % t == 0 and k % (threads // t) == 0 for t in range(1, threads + 1))


class TestDefaultsAreGood:
    def test_accumulator_follows_a_given_atom(self) -> None:
        cfg = config({"tiled_mma.atom": "SM80_16x8x16_F16F16F16F16_TN"})
        assert resolve(cfg).accumulator == "f16"
        assert check(cfg) == []

    def test_mainloop_follows_a_given_atom(self) -> None:
        cfg = config({"tiled_mma.atom": "UniversalFMA<float,half_t,half_t,float>"})
        assert resolve(cfg).mainloop == "simt"
        assert check(cfg) == []

    @pytest.mark.parametrize(
        ("types", "arch", "mainloop"),
        [
            ("f32", "sm_90a", "simt"),
            ("f64", "sm_75", "simt"),
            ("f64", "sm_80", "multistage"),
            ("f16", "sm_75", "multistage"),
            ("tf32", "sm_80", "multistage"),
        ],
    )
    def test_tensor_cores_where_there_are_any(self, types: str, arch: str, mainloop: str) -> None:
        assert resolve(config({"a.dtype": types, "b.dtype": types}, arch=arch)).mainloop == mainloop

    @pytest.mark.parametrize("types", ["f16", "bf16", "tf32", "s8", "e4m3"])
    def test_ldmatrix_reads_k_major_without_conflicts(self, types: str) -> None:
        for k in (16, 32, 64, 128):
            cfg = config({"a.dtype": types, "b.dtype": types}, arch="sm_89", tile=[64, 64, max(k, 32)])
            resolved = resolve(cfg)
            assert COPY_S2R[resolved.s2r.a or ""].kind == "ldmatrix"
            assert row_ways(resolved, "k") == 1

    @pytest.mark.parametrize("types", ["f16", "bf16"])
    def test_transposing_ldmatrix_reads_mn_major_without_conflicts(self, types: str) -> None:
        cfg = config({"a.dtype": types, "a.major": "m", "b.dtype": types, "b.major": "n"})
        resolved = resolve(cfg)
        assert resolved.s2r.a == "SM75_U16x8_LDSM_T"
        assert row_ways(resolved, "m") == 1

    def test_the_smallest_swizzle_that_is_enough(self) -> None:
        for k, bits in ((16, 1), (32, 2), (64, 3), (128, 3)):
            swizzle = resolve(config(tile=[64, 64, k])).smem.a
            assert swizzle is not None
            assert swizzle.swizzle == (bits, 3, 3)

    @pytest.mark.parametrize("majors", ["kk", "kn", "mk", "mn"])
    def test_the_widest_copies(self, majors: str) -> None:
        resolved = resolve(config({"a.major": majors[0], "b.major": majors[1]}))
        for copy in (resolved.g2s.a, resolved.g2s.b):
            assert copy.bits == 128
            assert copy.atom == "SM80_CP_ASYNC_CACHEGLOBAL"

    def test_no_cp_async_before_sm_80(self) -> None:
        assert resolve(config(arch="sm_75")).g2s.a.atom == "UniversalCopy"

    def test_registers_are_not_held_back_for_ctas_that_shared_memory_has_no_room_for(self) -> None:
        resolved = resolve(config(arch="sm_86", tile=[64, 64, 64], stages=6))
        assert resolved.min_blocks is not None
        assert smem_bytes(resolved) * resolved.min_blocks <= 100 * 1024

    def test_a_stride_that_is_left_out_is_written_out(self) -> None:
        resolved = resolve(base({"g2s.a.threads": {"shape": [32, 4]}}))
        assert resolved.g2s.a.threads is not None
        assert resolved.g2s.a.threads.stride == (1, 32)

    @pytest.mark.parametrize(("k", "atom"), [(16, "SM90_16x8x16"), (8, "SM90_16x8x8"), (4, "SM90_16x8x4")])
    def test_f64_uses_the_wide_atoms_of_hopper(self, k: int, atom: str) -> None:
        f64 = {"a.dtype": "f64", "b.dtype": "f64"}
        wide = resolve(config(f64, arch="sm_90a", tile=[64, 64, k])).tiled_mma.atom
        assert wide == f"{atom}_F64F64F64F64_TN"
        assert resolve(config(f64, tile=[64, 64, k])).tiled_mma.atom == "SM80_8x8x4_F64F64F64F64_TN"

    def test_a_narrow_tile_gets_a_narrow_atom(self) -> None:
        assert resolve(config(tile=[64, 64, 8])).tiled_mma.atom == "SM80_16x8x8_F32F16F16F32_TN"
        assert resolve(config(tile=[64, 64, 48])).tiled_mma.atom == "SM80_16x8x16_F32F16F16F32_TN"
        int8 = config({"a.dtype": "s8", "b.dtype": "s8", "tiled_mma.layout": [2, 1, 1]}, tile=[16, 32, 32])
        assert resolve(int8).tiled_mma.atom == "SM80_8x8x16_S32S8S8S32_TN"
        assert check(int8) == []

    def test_an_explicit_swizzle_of_the_wrong_granularity_is_not_worked_around(self) -> None:
        """B10: it is a mistake that is worth a word, not a reason to give ldmatrix up."""
        cfg = config({"smem.a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [2, 2, 3]}})
        assert COPY_S2R[resolve(cfg).s2r.a or ""].kind == "ldmatrix"
        assert check(cfg)

    def test_unresolvable_fields_stay_empty(self) -> None:
        resolved = resolve(config({"b.dtype": "bf16"}))
        assert resolved.tiled_mma.atom is None
        assert resolved.g2s.a.threads is None

    def test_a_config_with_impossible_numbers_is_left_alone(self) -> None:
        resolved = resolve(base({"g2s": AUTO}, tile=[0, 128, 32]))
        assert resolved.tile == (0, 128, 32)
        assert resolved.g2s.a.threads is None


def row_ways(cfg: GemmConfig, major: str) -> float:
    """Ways of an ldmatrix of eight rows of A."""
    layout, tile = cfg.smem.a, cfg.tile
    assert layout is not None
    assert tile is not None
    offsets = tile_offsets(layout.shape, layout.stride, (tile[0], tile[2]))
    swizzle, bytes_ = swizzle_of(layout.swizzle), dtype(cfg.a.dtype).bytes
    across = offsets.mn if major == "k" else offsets.k
    lanes = [bytes_ * swizzle(o) for o in across[:8]]
    return wavefronts(lanes, 16, "ldmatrix") / ideal_wavefronts(8, 16)


class TestStageBytes:
    @pytest.mark.parametrize("swizzle", [[3, 3, 3], [3, 3, 14], [5, 3, 5], [2, 3, 10], "none"], ids=str)
    def test_a_swizzle_that_reads_far_bits_needs_no_more_memory(self, swizzle: Any) -> None:
        smem = {"shape": [8, 32], "stride": [32, 1], "swizzle": swizzle}
        cfg = base({"smem.a": smem, "smem.b": smem}, tile=[128, 128, 32])
        assert check(cfg) == []
        assert operand_stage_bytes(resolve(cfg), "a") == 128 * 32 * 2

    def test_a_swizzle_that_changes_far_bits_does(self) -> None:
        smem = {"shape": [8, 32], "stride": [32, 1], "swizzle": [1, 3, -12]}
        cfg = base({"smem.a": smem}, tile=[128, 128, 32])
        assert operand_stage_bytes(resolve(cfg), "a") == 2 << 16
        single = cfg.model_copy(update={"stages": 1})
        assert operand_stage_bytes(resolve(single), "a") == (1 << 16) + 128 * 32 * 2
        assert check(single) == []
        assert fault_of(plan(single)) is None

    def test_no_element_lies_beyond(self) -> None:
        rng = Random(0)
        for _ in range(200):
            b = rng.randrange(5)
            swizzle = Swizzle(b, rng.randrange(5), rng.choice([-1, 1]) * (b + rng.randrange(4)))
            shape, stride, tile = (8, 16), (16 + rng.choice([0, 8]), 1), (24, 48)
            spec = {"shape": shape, "stride": stride, "swizzle": (swizzle.b, swizzle.m, swizzle.s)}
            for stages in (1, 3):
                cfg = config({"smem.a": spec}, tile=[*tile[:1], 8, tile[1]], stages=stages)
                offsets = tile_offsets(shape, stride, tile)
                reached = 1 + max(swizzle(mn + k) for mn in offsets.mn for k in offsets.k)
                assert operand_stage_bytes(cfg, "a") >= 2 * reached
                assert operand_stage_bytes(cfg, "a") % smem_alignment(cfg) == 0
