"""A of ``tma_wgmma`` in registers: where each lane loads, what that costs, and who gets it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from cutegen.cli.explain_wgmma import wgmma_facts, wgmma_rows
from cutegen.config import GemmConfig
from cutegen.lint.traffic import accesses
from cutegen.operands.wgmma_registers import register_sets
from cutegen.pictures import draw, pictures_of
from cutegen.pictures.tile import wgmma_tile
from cutegen.plan import WgmmaPlan, plan
from cutegen.render import render
from cutegen.resolve import resolve
from cutegen.rules import check
from cutegen.wgmma_atoms import WGMMA_ATOMS
from tests.support.rule_cases_wgmma import hopper
from tests.support.wgmma_variants import VARIANTS

pytestmark = pytest.mark.unit

NAMES = [name for name in VARIANTS if "registers" in name]
TF32 = {"a.dtype": "tf32", "b.dtype": "tf32"}


def planned(config: GemmConfig) -> WgmmaPlan:
    found = plan(config)
    assert isinstance(found, WgmmaPlan)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_thread_loads_the_elements_that_the_operation_wants(name: str) -> None:
    """Each load of each thread finds its element where the swizzled stage has it."""
    found = planned(VARIANTS[name])
    read, held, groups = found.a.registers, found.held_a, found.groups
    assert read is not None
    assert held is not None
    which = "b" if found.config.swap_ab else "a"
    tile, loads = wgmma_tile(found, which), read.loads()  # type: ignore[arg-type]
    k_steps = found.tile[2] // 8
    for (thread, load), atom, step in product(
        product(range(held.thread_m.size), range(4)), range(groups.atoms_m), range(k_steps)
    ):
        lane, group = thread % 128, thread // 128
        value = read.value_of(load, lane) + 4 * (atom + groups.atoms_m * step)
        begin = found.a.atom_bytes(atom) + found.a.step_bytes(step)
        begin += 0 if groups.pingpong else group % groups.m * found.a.warpgroup_bytes
        m, k = held.thread_m(thread) + held.value_m(value), held.thread_k(thread) + held.value_k(value)
        assert begin + loads[load][lane] == tile.table[m][k]


def test_an_operation_has_its_fragment_as_the_ptx_isa_has_it() -> None:
    """m64nNk8: a0 in row groupID, column threadID_in_group; a1 8 rows on, a2 4 columns on, a3 both."""
    held = planned(VARIANTS["registers"]).held_a
    assert held is not None
    for thread, value in product(range(128), range(4)):
        row = thread // 32 * 16 + thread % 32 // 4 + 8 * (value % 2)
        column = thread % 4 + 4 * (value // 2)
        assert held.thread_m(thread) + held.value_m(value) == row
        assert held.thread_k(thread) + held.value_k(value) == column


@pytest.mark.parametrize("name", NAMES)
def test_loads_have_no_bank_conflicts(name: str) -> None:
    found = planned(VARIANTS[name])
    (access,) = accesses(found)
    assert access.name == ("S2R B" if found.config.swap_ab else "S2R A")
    assert (access.degree, access.ways, access.bytes) == (1, 1, 4)
    m, _, k = found.product.tile or (0, 0, 0)
    readers = 1 if found.groups.pingpong else found.groups.n  # those along N read the same
    assert access.requests == access.cost == m * k * readers // 32


def test_without_the_exchange_lanes_would_meet_in_banks() -> None:
    read = planned(VARIANTS["registers"]).a.registers
    assert read is not None
    together = [read.swizzle(t + read.value(0)) // 4 % 32 for t in read.thread.table()[:32]]
    assert len(set(together)) == 16
    assert all(len({byte // 4 % 32 for byte in load[:32]}) == 32 for load in read.loads())


@pytest.mark.parametrize(
    ("blk_k", "sets"), [(8, 1), (16, 2), (24, 3), (32, 4), (40, 5), (48, 3), (56, 7), (64, 4), (128, 4)]
)
def test_each_stage_begins_with_the_first_set(blk_k: int, sets: int) -> None:
    cfg = hopper(TF32 | {"a.major": "m"}, tile=[64, 8, blk_k])
    assert register_sets(cfg) == sets
    assert (blk_k // 8) % sets == 0
    facts = wgmma_facts(planned(cfg))
    assert facts["fragment_registers"] == 4 * sets


class TestWhoGetsIt:
    @pytest.mark.parametrize(
        ("a", "b", "mainloop", "swapped"),
        [
            ("k", "k", "tma_wgmma", None),
            ("m", "k", "tma_wgmma", None),
            ("k", "n", "tma_wgmma", True),
            ("m", "n", "multistage", None),
        ],
    )
    def test_by_majors(self, a: str, b: str, mainloop: str, swapped: bool | None) -> None:
        cfg = GemmConfig.model_validate(
            {"arch": "sm_90a", "a": {"dtype": "tf32", "major": a}, "b": {"dtype": "tf32", "major": b}}
        )
        resolved = resolve(cfg)
        assert check(cfg) == []
        assert (resolved.mainloop, resolved.swap_ab) == (mainloop, swapped)
        if mainloop == "tma_wgmma":
            in_registers = WGMMA_ATOMS[resolved.tiled_mma.atom or ""].a_registers
            assert in_registers == (a != "k" or b != "k")

    def test_a_large_tile_where_majors_alone_swap(self) -> None:
        """Few rows are no reason here, and tiles are those of the product the other way round."""
        resolved = resolve(hopper(TF32 | {"b.major": "n"}))
        assert (resolved.tile, resolved.tiled_mma.layout) == ((256, 128, 32), (1, 2, 1))

    @pytest.mark.parametrize("dtype", ["s8", "e4m3"])
    def test_not_8_bits(self, dtype: str) -> None:
        cfg = hopper({"a.dtype": dtype, "b.dtype": dtype, "a.major": "m"})
        (found,) = check(cfg)
        assert (found.rule, found.field) == ("wgmma-major", "a.major")
        assert "A of 8 bits K-major only" in found.need

    def test_other_renderings_know_nothing_of_it(self) -> None:
        assert "FragmentA" not in render(planned(VARIANTS["tf32"])).text
        assert "FragmentA" in render(planned(VARIANTS["registers"])).text


def rows_of(patches: dict[str, Any]) -> dict[str, str]:
    rows = wgmma_rows(planned(hopper(TF32 | patches, tile=[128, 64, 32])))
    return {row[0]: row[1] for row in rows}


def test_explain_tells_of_the_registers() -> None:
    assert rows_of({"a.major": "m"})["read A"] == "to 32 registers, of 4 k-blocks, from which wgmma takes it"
    assert "read A" not in rows_of({})
    assert "read B" in rows_of({"b.major": "n"})


def test_pictures_of_what_is_in_registers() -> None:
    found = planned(VARIANTS["registers"])
    assert {"tv-a", "s2r-a"} <= set(pictures_of(found))
    assert not {"tv-b", "s2r-b"} & set(pictures_of(found))
    swapped = planned(VARIANTS["swapped_registers"])
    assert {"tv-b", "s2r-b"} <= set(pictures_of(swapped))
    assert "no bank conflicts" in draw(found, "smem-a").grids[1].notes[0]
    _, banks, landing = draw(found, "s2r-a").grids
    assert len([c for c in banks.cells if c.label]) == len({c.column for c in banks.cells if c.label}) == 32
    assert len(landing.cells) == 32
    labels = {c.label for grid in draw(found, "mma").grids for c in grid.cells if grid.title == "A"}
    assert ("T127", "a3") in labels
