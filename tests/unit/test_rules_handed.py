"""Cases from public bug reports: each is refused with the number, the need and a way out, or accepted.

Letters and numbers are those of the collection of cases. Where a message names a fix, the fixed config
is legal; where a config is accepted, its data movement is run in Python (see ``simulate``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.plan import plan
from cutegen.resolve import resolve
from cutegen.resources import stage_bytes
from cutegen.rules import check
from tests.support.cases import AUTO, M_MAJOR, base, config
from tests.support.simulate import fault_of


def only(cfg: GemmConfig) -> Violation:
    violations = check(cfg)
    assert len(violations) == 1, "\n".join(str(v) for v in violations)
    return violations[0]


def accepted(cfg: GemmConfig) -> None:
    assert check(cfg) == []
    assert fault_of(plan(cfg)) is None


def test_base_is_legal() -> None:
    accepted(base())


class TestA02SmemAtomWiderThanTheTile:
    CASE: ClassVar[dict[str, Any]] = {"smem.a": {"shape": [8, 64], "stride": [64, 1], "swizzle": [3, 3, 3]}}

    def test_refused(self) -> None:
        found = only(base(self.CASE))
        assert found.rule == "smem-atom-divides"
        assert found.field == "smem.a.shape"
        assert "smem atom K 64 does not divide BK 32" in str(found)
        assert "use (8,32)+Swizzle<2,3,3> or BK=64" in str(found)

    def test_both_ways_out_work(self) -> None:
        accepted(base())  # (8,32)+Swizzle<2,3,3>
        accepted(base(self.CASE, tile=[128, 128, 64]))

    def test_the_other_mode(self) -> None:
        found = only(base({"smem.b": {"shape": [48, 32], "stride": [32, 1]}}))
        assert "smem atom N 48 does not divide BN 128" in str(found)
        assert "BN=192" in found.fix  # which warps and copies divide, too


class TestA04SwizzleShift:
    def test_refused(self) -> None:
        found = only(base({"smem.a.swizzle": [3, 3, 2]}))
        assert "abs(S) must be >= B" in str(found)
        assert "Swizzle<3,3,2>" in found.got
        accepted(base({"smem.a.swizzle": [3, 3, 3]}))

    @pytest.mark.parametrize("swizzle", [[-1, 3, 3], [2, -3, 3], [-2, -2, 1]])
    def test_negative_bits_are_refused(self, swizzle: list[int]) -> None:
        found = check(base({"smem.a.swizzle": swizzle}))[0]
        assert "B and M must be >= 0" in found.need
        assert str(swizzle) in found.got

    @pytest.mark.parametrize("swizzle", [[2, 3, -3], [1, 3, -1], [0, 3, 0]])
    def test_a_negative_shift_is_fine(self, swizzle: list[int]) -> None:
        accepted(base({"smem.a.swizzle": swizzle}))

    def test_a_negative_shift_must_be_long_enough_too(self) -> None:
        assert only(base({"smem.a.swizzle": [2, 3, -1]})).rule == "swizzle-shift"


class TestA09CopyThatLoops:
    CASE: ClassVar[dict[str, Any]] = M_MAJOR | {
        "tiled_mma.layout": [2, 4, 1],
        "tiled_mma.permutation": [32, 64, 16],
        "g2s.a.threads": {"shape": [16, 16]},
        "g2s.b.threads": {"shape": [64, 4], "stride": [4, 1]},
    }

    def test_accepted_with_two_copies_per_thread(self) -> None:
        cfg = base(self.CASE)
        accepted(cfg)
        assert plan(cfg).threads == 256
        assert plan(cfg).a.copy.steps == 2

    def test_accepted_when_all_else_is_left_to_cutegen(self) -> None:
        """Warps are chosen to match the 256 threads of the copy."""
        cfg = config(
            {
                "a.major": "m",
                "tile": [128, 128, 32],
                "g2s.a": {"threads": {"shape": [16, 16]}, "values": {"shape": [8, 1]}},
            }
        )
        accepted(cfg)
        assert plan(cfg).threads == 256
        assert plan(cfg).a.copy.steps == 2


class TestA12Int8WithFourMatrices:
    SMEM: ClassVar[dict[str, Any]] = {"shape": [8, 32], "stride": [32, 1], "swizzle": [1, 4, 3]}
    THREADS: ClassVar[dict[str, Any]] = {"shape": [64, 2], "stride": [2, 1]}
    CASE: ClassVar[dict[str, Any]] = {
        "a.dtype": "s8",
        "b.dtype": "s8",
        "accumulator": "s32",
        "tiled_mma.atom": "SM80_16x8x16_S32S8S8S32_TN",
        "smem.a": SMEM,
        "smem.b": SMEM,
        "g2s.a.threads": THREADS,
        "g2s.b.threads": THREADS,
        "g2s.a.values": {"shape": [1, 16]},
        "g2s.b.values": {"shape": [1, 16]},
    }

    def test_refused(self) -> None:
        found = check(base(self.CASE))
        assert [v.rule for v in found] == ["s2r-values-fill-atom"] * 2
        assert "8 bytes/thread of A = 2 regs" in found[0].got
        for way in ("SM75_U32x2_LDSM_N", "SM75_U32x1_LDSM_N", "SM80_16x8x32_S32S8S8S32_TN"):
            assert way in found[0].fix

    @pytest.mark.parametrize("matrices", [2, 1])
    def test_fewer_matrices_are_accepted(self, matrices: int) -> None:
        name = f"SM75_U32x{matrices}_LDSM_N"
        accepted(base(self.CASE | {"s2r.a": name, "s2r.b": name}))

    def test_the_wider_atom_is_accepted(self) -> None:
        wider = {"tiled_mma.atom": "SM80_16x8x32_S32S8S8S32_TN", "tiled_mma.permutation": [32, 32, 32]}
        accepted(base(self.CASE | wider))

    def test_a_wider_permutation_is_accepted(self) -> None:
        found = check(base(self.CASE))
        assert "permutation: [64, 32, 16]" in found[0].fix
        assert "permutation: [32, 64, 16]" in found[1].fix
        accepted(base(self.CASE | {"tiled_mma.permutation": [64, 64, 16]}))

    def test_left_to_cutegen_it_works(self) -> None:
        accepted(base(self.CASE | {"s2r": AUTO}))


class TestA14LdmatrixAgainstMajor:
    def test_a_m_major_smem_with_ldsm_n(self) -> None:
        found = only(base(M_MAJOR | {"s2r.a": "SM75_U32x4_LDSM_N"}))
        assert found.field == "s2r.a"
        assert "use LDSM_T" in found.fix
        assert "SM75_U16x8_LDSM_T" in found.fix
        accepted(base(M_MAJOR))

    def test_b_k_major_smem_with_ldsm_t(self) -> None:
        found = only(base({"s2r.a": "SM75_U16x8_LDSM_T"}))
        assert found.field == "s2r.a"
        assert "use LDSM_N" in found.fix
        assert "SM75_U32x4_LDSM_N" in found.fix

    def test_c_vector_along_k(self) -> None:
        case = M_MAJOR | {"g2s.a.values": {"shape": [1, 8]}, "g2s.a.threads": {"shape": [32, 4]}}
        found = only(base(case))
        assert found.field == "g2s.a.values"
        assert "G2S vector runs along K, contiguous mode is M" in str(found)
        assert "values: {shape: [8, 1]}" in found.fix


class TestA18ValuesFillTheCopy:
    def test_too_few(self) -> None:
        found = only(base({"g2s.a.values": {"shape": [1, 4]}}))
        assert found.field == "g2s.a.values"
        assert "val layout gives 4*2 = 8 B, atom moves 16 B" in str(found)
        assert "values: {shape: [1, 8]}" in found.fix

    def test_across_rows(self) -> None:
        found = {v.rule: v for v in check(base({"g2s.a.values": {"shape": [8, 1]}}))}
        contiguous = found["g2s-vector-contiguous"]
        assert "vector along M" in contiguous.got
        assert "contiguous mode is K" in contiguous.need
        assert "values: {shape: [1, 8]}" in contiguous.fix


class TestB10Int8Swizzle:
    @staticmethod
    def case(row: int, swizzle: list[int]) -> GemmConfig:
        smem = {"shape": [8, row], "stride": [row, 1], "swizzle": swizzle}
        return config(
            {"a.dtype": "s8", "b.dtype": "s8", "tile": [128, 128, row], "smem": {"a": smem, "b": smem}}
        )

    def test_refused(self) -> None:
        found = check(self.case(128, [3, 3, 3]))
        assert [v.field for v in found] == ["smem.a.swizzle", "smem.b.swizzle"]
        assert "2^M elements must span at least 16 bytes" in found[0].need
        assert "[3, 4, 3]" in found[0].fix

    def test_refused_with_every_field_given(self) -> None:
        smem = {"shape": [8, 64], "stride": [64, 1], "swizzle": [3, 3, 3]}
        case = TestA12Int8WithFourMatrices.CASE | {
            "tile": [128, 128, 64],
            "tiled_mma.atom": "SM80_16x8x32_S32S8S8S32_TN",
            "tiled_mma.permutation": [32, 32, 32],
            "smem.a": smem,
        }
        found = check(base(case))
        assert {v.rule for v in found} == {"swizzle-keeps-rows", "swizzle-keeps-vectors"}
        assert all("2^M elements must span at least 16 bytes" in v.need for v in found)

    @pytest.mark.parametrize(("row", "swizzle"), [(128, [3, 4, 3]), (64, [2, 4, 3]), (128, "none")])
    def test_accepted(self, row: int, swizzle: Any) -> None:
        accepted(self.case(row, swizzle))


class TestC01WidthsOfCpAsync:
    def test_cg_moves_16_bytes_only(self) -> None:
        found = only(base({"g2s.a.bits": 64}))
        assert found.field == "g2s.a.bits"
        assert "16 B only" in found.need
        assert "8 B" in found.got
        assert "bits: 128" in found.fix
        assert "SM80_CP_ASYNC_CACHEALWAYS" in found.fix

    def test_ca_does_not_move_2_bytes(self) -> None:
        found = only(base({"g2s.a.atom": "SM80_CP_ASYNC_CACHEALWAYS", "g2s.a.bits": 16}))
        assert "4 B, 8 B or 16 B only" in found.need
        assert "UniversalCopy" in found.fix

    @pytest.mark.parametrize("bits", [32, 64, 128])
    def test_ca_moves_these(self, bits: int) -> None:
        accepted(base({"g2s.a.atom": "SM80_CP_ASYNC_CACHEALWAYS", "g2s.a.bits": bits}))


class TestC02Alignment:
    """K = 4092, 4090 and 4091 of f16 leave rows aligned to 8, 4 and 2 bytes."""

    @pytest.mark.parametrize(("align", "bits"), [(16, 128), (8, 64), (4, 32), (2, 16)])
    def test_the_widest_copy_follows_the_alignment(self, align: int, bits: int) -> None:
        cfg = config({"a.align": align})
        accepted(cfg)
        copy = resolve(cfg).g2s.a
        assert copy.bits == bits
        assert (copy.atom == "UniversalCopy") == (bits < 32)  # cp.async moves at least 4 bytes

    @pytest.mark.parametrize("align", [8, 4, 2])
    def test_16_byte_copies_are_refused(self, align: int) -> None:
        found = only(base({"a.align": align}))
        assert found.field == "g2s.a.bits"
        assert f"at most the {align} B" in found.need


#: arch, then the most stages of 128x128x64, 128x128x32 and 128x256x64 f16 tiles.
CEILINGS = [
    ("sm_80", 5, 10, 3),
    ("sm_86", 3, 6, 2),
    ("sm_89", 3, 6, 2),
    ("sm_90a", 7, 14, 4),
    ("sm_100a", 7, 14, 4),
    ("sm_120a", 3, 6, 2),
]
TILES = ([128, 128, 64], [128, 128, 32], [128, 256, 64])


class TestD01StageCeiling:
    @pytest.mark.parametrize("row", CEILINGS, ids=lambda r: r[0])
    @pytest.mark.parametrize("index", range(3))
    def test_most_stages(self, row: tuple[str, int, int, int], index: int) -> None:
        arch, most, tile = row[0], row[1 + index], TILES[index]
        legal = config(arch=arch, mainloop="multistage", tile=tile, stages=most)
        assert check(legal) == []
        each = stage_bytes(resolve(legal))
        assert each == (tile[0] + tile[1]) * tile[2] * 2
        found = only(config(arch=arch, tile=tile, stages=most + 1))
        assert found.field == "stages"
        assert f"{(most + 1) * each} bytes" in found.need
        assert f"stages: {most}, the most that fit" in found.fix

    def test_the_limit_is_named(self) -> None:
        found = only(config(arch="sm_120a", tile=[128, 128, 64], stages=4))
        assert "131072 bytes" in found.need
        assert "101376" in found.need

    def test_left_out_as_many_as_fit_are_taken(self) -> None:
        for arch, *_ in CEILINGS:
            for tile in TILES:
                assert check(config(arch=arch, tile=tile)) == []

    def test_a_tile_of_which_not_one_stage_fits(self) -> None:
        found = only(config(arch="sm_86", tile=[256, 256, 128], **{"tiled_mma.layout": [4, 2, 1]}))
        assert found.field == "tile"
        assert "131072" in found.need
        assert "101376" in found.need


class TestD03TheEdgeOf48KiB:
    @pytest.mark.parametrize(("stages", "size"), [(3, 49152), (4, 65536)])
    def test_both_are_accepted(self, stages: int, size: int) -> None:
        cfg = config(tile=[128, 128, 32], stages=stages)
        accepted(cfg)
        assert plan(cfg).smem_bytes == size


class TestNoOverRefusal:
    @pytest.mark.parametrize(
        "smem",
        [
            {"shape": [128, 32], "stride": [40, 1]},
            {"shape": [8, 32], "stride": [40, 1]},
            {"shape": [8, 32], "stride": [32, 1]},
            {"shape": [8, 32], "stride": [64, 1]},
            {"shape": [16, 16], "stride": [16, 1], "swizzle": [1, 3, 3]},
        ],
        ids=str,
    )
    def test_padding_instead_of_a_swizzle(self, smem: dict[str, Any]) -> None:
        accepted(base({"smem.a": smem, "smem.b": smem}))

    @pytest.mark.parametrize(
        "permutation",
        [
            [32, 32, {"shape": [2, 8], "stride": [8, 1]}],
            [32, {"shape": [8, 2, 2], "stride": [1, 16, 8]}, 16],
            [{"shape": [16, 2, 2], "stride": [1, 32, 16]}, 16, 16],
            [128, 128, 32],
        ],
        ids=str,
    )
    def test_odd_permutations(self, permutation: list[Any]) -> None:
        accepted(base({"tiled_mma.permutation": permutation, "s2r": AUTO}))

    @pytest.mark.parametrize("tile", [[96, 160, 48], [80, 24, 80], [48, 8, 16], [16, 8, 16]], ids=str)
    @pytest.mark.parametrize("majors", ["kk", "kn", "mk", "mn"])
    def test_tiles_that_are_no_powers_of_two(self, tile: list[int], majors: str) -> None:
        accepted(config({"a.major": majors[0], "b.major": majors[1]}, tile=tile))

    def test_8_bit_mn_major(self) -> None:
        """In M-major shared memory it is read element by element; or it is copied so into K-major."""
        accepted(config({"a.dtype": "s8", "a.major": "m", "b.dtype": "s8"}, tile=[128, 128, 64]))
        smem = {"shape": [8, 64], "stride": [64, 1], "swizzle": [2, 4, 3]}
        copied = {"smem.a": smem, "g2s.a": {"atom": "UniversalCopy", "bits": 8}}
        types = {"a.dtype": "s8", "a.major": "m", "b.dtype": "s8"}
        accepted(config(types | copied, tile=[128, 128, 64]))

    def test_spilling_is_no_reason_to_refuse(self) -> None:
        assert check(config(tile=[256, 256, 32], **{"tiled_mma.layout": [1, 1, 1]})) == []
