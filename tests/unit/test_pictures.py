"""Pictures show what the plan says: checked on the model that is drawn, against the plan and the PTX ISA."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

import cutegen
from cutegen.fuzz.generate import legal_config
from cutegen.layout.banks import wavefronts
from cutegen.lint.traffic import targets
from cutegen.pictures import PICTURES, Picture, draw, pictures_of
from cutegen.pictures.copies import rounds
from cutegen.pictures.model import Cell, Grid
from cutegen.pictures.reads import arrivals, lane_addresses
from cutegen.pictures.tile import kernel_tile, wgmma_tile
from cutegen.pictures.tv import owners
from cutegen.plan import KernelPlan, Plan, WgmmaPlan, plan

EXAMPLES = Path(__file__).parents[2] / "examples"
#: K-major, MN-major, CUDA cores with padded rows, 8 bits, 64 bits.
KERNELS = ("ampere_bf16", "sm80_bf16_nt", "sm80_f32", "sm80_s8", "sm80_f64", "sm75_f16")
HOPPER = ("hopper/pingpong", "hopper/cooperative", "hopper/f16_nt", "hopper/swap_ab", "hopper/e4m3")


@cache
def planned(name: str) -> Plan:
    return plan(cutegen.load(EXAMPLES / f"{name}.yaml"))


def kernel(name: str) -> KernelPlan:
    found = planned(name)
    assert isinstance(found, KernelPlan)
    return found


def hopper(name: str) -> WgmmaPlan:
    found = planned(name)
    assert isinstance(found, WgmmaPlan)
    return found


def place(cell: Cell) -> tuple[int, int]:
    """The row and the column of the tile that a cell of shared memory is about."""
    row, column = cell.key.split(",")
    return int(row), int(column)


def places(grid: Grid) -> list[tuple[int, int]]:
    return [
        (cell.row + i, cell.column + j)
        for cell in grid.cells
        for i in range(cell.rows)
        for j in range(cell.columns)
    ]


def copied_to(found: KernelPlan, which: str) -> dict[tuple[int, int], int]:
    """(MN, K) of each element to its byte in shared memory, as the copies from global memory write it."""
    operand = found.a if which == "a" else found.b
    copy = operand.copy
    assert copy.view is not None
    size = kernel_tile(found, operand.which).size
    along_k = found.config.operand(operand.which).major == "k"
    addresses = targets(found, operand, copy.view)
    steps = zip(copy.step_mn.table(), copy.step_k.table(), strict=True)
    threads = list(zip(copy.thread_mn.table(), copy.thread_k.table(), strict=True))
    return {
        (mn + i + (0 if along_k else e), k + j + (e if along_k else 0)): addresses[step][thread] + e * size
        for step, (i, j) in enumerate(steps)
        for thread, (mn, k) in enumerate(threads)
        for e in range(copy.vector)
    }


# ---- shared memory


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("name", KERNELS)
def test_cells_lie_where_the_copies_write_and_in_their_banks(name: str, which: str) -> None:
    found, picture = kernel(name), draw(planned(name), f"smem-{which}")
    written, tile = copied_to(found, which), kernel_tile(found, "a" if which == "a" else "b")
    assert len(written) == tile.rows * tile.columns
    detail, overview = picture.panels[0][-2], picture.grids[-1]
    assert isinstance(detail, Grid)
    assert detail.title == (tile.swizzle if tile.swizzle != "none" else "No swizzle")
    assert len(detail.cells) == min(16, tile.rows) * min(8, tile.columns // tile.unit)
    assert len(overview.cells) * tile.unit == tile.rows * tile.columns
    for cell in (*detail.cells, *overview.cells):
        row, column = place(cell)
        offset = written[(row, column) if tile.along_k else (column, row)]
        if cell.label:
            banks, shown = cell.label
            assert int(shown) == offset
            first = int(banks.partition("-")[0])
            assert first // tile.banks_of_unit == cell.group
            # Two words share a bank when reading them takes two wavefronts.
            assert wavefronts([offset, (1 << 20) + 4 * first], 4, "load") == 2
        for other in range(tile.groups):
            conflict = wavefronts([offset, (1 << 20) + 4 * tile.banks_of_unit * other], 4, "load") == 2
            assert conflict == (other == cell.group)


def test_the_plain_layout_stands_beside_the_swizzled_one() -> None:
    without, swizzled, address = draw(planned("ampere_bf16"), "smem-a").panels[0]
    assert isinstance(without, Grid)
    assert isinstance(swizzled, Grid)
    assert isinstance(address, Grid)
    assert all(int(c.label[1]) == place(c)[0] * 64 + place(c)[1] * 2 for c in without.cells)
    marked = [[c for c in grid.cells if c.marked] for grid in (without, swizzled, address)]
    assert [len(cells) for cells in marked] == [8, 8, 8]
    assert [place(c) for c in marked[0]] == [(row, 0) for row in range(8)]
    # What ldmatrix reads at once lies in two groups of banks without the swizzle, and in all eight with it.
    assert [len({c.group for c in cells}) for cells in marked[:2]] == [2, 8]
    assert len({c.column for c in marked[2]}) == 8
    assert "1024 wavefronts a k-tile for 256, 4-way conflicts" in without.notes[0]
    assert "256 wavefronts a k-tile, no bank conflicts" in swizzled.notes[0]


@pytest.mark.parametrize("name", ["ampere_bf16", "sm80_f32", "hopper/pingpong", "hopper/f16_nt"])
def test_by_address_each_place_is_that_of_its_byte(name: str) -> None:
    found = planned(name)
    tile = kernel_tile(found, "a") if isinstance(found, KernelPlan) else wgmma_tile(hopper(name), "a")
    grid = draw(found, "smem-a").panels[0][-1]
    assert isinstance(grid, Grid)
    assert len(set(places(grid))) == len(grid.cells) > 0
    for cell in grid.cells:
        offset = tile.offset(*place(cell))
        assert (cell.row, cell.column) == (offset // 128, offset % 128 // (tile.unit * tile.size))


@pytest.mark.parametrize("name", HOPPER)
@pytest.mark.parametrize("which", ["a", "b"])
def test_wgmma_tiles_fill_their_stage(name: str, which: str) -> None:
    found = hopper(name)
    tile = wgmma_tile(found, "a" if which == "a" else "b")
    offsets = sorted(offset for line in tile.table for offset in line)
    assert offsets == list(range(0, tile.rows * tile.columns * tile.size, tile.size))
    # Eight rows of 16 bytes below one another, which wgmma reads together, are in different banks.
    first = [tile.group(tile.offset(row, 0)) for row in range(8)]
    assert len(set(first)) == 8
    assert tile.unit * tile.size == 16


# ---- threads and values


@pytest.mark.parametrize("name", [*KERNELS, "simple"])
def test_each_element_has_the_owners_that_the_mma_needs(name: str) -> None:
    """Who accumulates (m,n) is in a warp that holds all of row m of A and of row n of B."""
    found = kernel(name)
    m, n, k = found.tile
    held = {tensor: owners(found, tensor).held for tensor in ("a", "b", "c")}  # type: ignore[arg-type]
    assert set(held["c"]) == {(i, j) for i in range(m) for j in range(n)}
    assert all(len(who) == 1 for who in held["c"].values())
    assert len({who[0] for who in held["c"].values()}) == m * n
    group = 1 if found.atom.is_simt else 32
    rows: dict[str, dict[int, set[tuple[int, int]]]] = {}
    for tensor in ("a", "b"):
        rows[tensor] = {}
        for (mn, at), who in held[tensor].items():
            for thread, _ in who:
                rows[tensor].setdefault(thread // group, set()).add((mn, at))
    for (i, j), ((thread, _),) in held["c"].items():
        assert {(i, at) for at in (0, k // 2, k - 1)} <= rows["a"][thread // group]
        assert {(j, at) for at in (0, k // 2, k - 1)} <= rows["b"][thread // group]


@pytest.mark.parametrize("name", HOPPER)
def test_accumulators_of_wgmma_cover_the_tile(name: str) -> None:
    found = hopper(name)
    held = owners(found, "c").held
    assert set(held) == {(i, j) for i in range(found.tile[0]) for j in range(found.tile[1])}
    copies = 2 if found.groups.pingpong else 1
    assert all(len(who) == copies for who in held.values())
    assert all(who[-1][0] == who[0][0] + 128 * (copies - 1) for who in held.values())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        *((name, what) for name in KERNELS for what in ("tv-a", "tv-b", "tv-c")),
        ("hopper/pingpong", "tv-c"),
        ("hopper/swap_ab", "tv-c"),
    ],
)
def test_cells_name_the_threads_and_values_of_their_elements(name: str, what: str) -> None:
    found = planned(name)
    expected = owners(found, what[-1])  # type: ignore[arg-type]
    detail, overview = draw(found, what).grids
    assert sorted(places(detail)) == [(r, c) for r in range(detail.rows) for c in range(detail.columns)]
    for cell in detail.cells:
        thread, value = cell.label
        first, comma, second = value.partition("," if "," in value else "..")
        for step, at in enumerate(
            (cell.row + i, cell.column + j) for i in range(cell.rows) for j in range(cell.columns)
        ):
            owner, local = expected.held[at][0]
            assert thread == f"T{owner}"
            assert int(first[1:]) + step == local % expected.per_block
        assert not comma or int(second[1:]) == int(first[1:]) + cell.rows * cell.columns - 1
        assert cell.group == int(thread[1:]) % 8
    high, wide = (e // n for e, n in zip(expected.extents, (overview.rows, overview.columns), strict=True))
    for cell in overview.cells:
        warps = {
            tuple(sorted({t // 32 for t, _ in expected.held[cell.row * high + i, cell.column * wide + j]}))
            for i in range(high)
            for j in range(wide)
        }
        assert len(warps) == 1
        assert cell.label[0].partition("+")[0] == f"W{min(warps)[0]}"


# ---- the MMA operation


def spread(grid: Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """Place to thread and value, from the words in the cells."""
    found = {}
    for cell in grid.cells:
        thread, values = int(cell.label[0][1:]), cell.label[1]
        first = int(values.partition("," if "," in values else "..")[0][1:])
        inside = [(cell.row + i, cell.column + j) for i in range(cell.rows) for j in range(cell.columns)]
        found |= {at: (thread, first + step) for step, at in enumerate(inside)}
    return found


def test_m16n8k16_is_as_the_ptx_isa_has_it() -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"."""
    grids = draw(planned("ampere_bf16"), "mma").grids
    assert [len(grid.cells) for grid in grids] == [64, 128, 64], "pairs share a cell"
    b, a, c = map(spread, grids)
    assert (len(a), len(b), len(c)) == (256, 128, 128)
    for lane in range(32):
        group, within = lane >> 2, lane % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            assert a[row, within * 2 + (i & 1) + (8 if i >= 4 else 0)] == (lane, i)
        for i in range(4):
            assert b[within * 2 + (i & 1) + (8 if i >= 2 else 0), group] == (lane, i)
            assert c[group if i < 2 else group + 8, within * 2 + (i & 1)] == (lane, i)


def test_m16n8k32_is_as_the_ptx_isa_has_it() -> None:
    b, a, _ = map(spread, draw(planned("sm80_s8"), "mma").grids)
    for lane in range(32):
        group, within = lane >> 2, lane % 4
        for i in range(16):
            row = group if i < 4 or 8 <= i < 12 else group + 8
            assert a[row, within * 4 + (i & 3) + (16 if i >= 8 else 0)] == (lane, i)
        for i in range(8):
            assert b[within * 4 + (i & 3) + (16 if i >= 4 else 0), group] == (lane, i)


def test_wgmma_accumulators_are_as_the_plan_has_them() -> None:
    found = hopper("hopper/cooperative")
    shown, held = spread(draw(found, "mma").grids[-1]), owners(found, "c").held
    assert {at: held[at][0] for at in shown} == shown
    assert len(shown) == 64 * 16


# ---- copies


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("name", KERNELS)
def test_each_vector_is_copied_once_and_to_its_place(name: str, which: str) -> None:
    found = kernel(name)
    operand = found.a if which == "a" else found.b
    by_place, written = rounds(found, operand), copied_to(found, which)
    tile = kernel_tile(found, operand.which)
    assert len(by_place) * operand.copy.vector == tile.rows * tile.columns
    assert len(set(by_place.values())) == len(by_place)
    assert operand.copy.view is not None
    addresses = targets(found, operand, operand.copy.view)
    assert all(addresses[step][thread] == written[at] for at, (thread, step) in by_place.items())
    along_k = found.config.operand(operand.which).major == "k"
    detail, shared, overview = draw(found, f"g2s-{which}").grids
    assert len(overview.cells) == len(by_place)
    for cell in detail.cells:
        vector = cell.column * operand.copy.vector
        at = (cell.row, vector) if along_k else (vector, cell.row)
        assert cell.label == tuple(f"{c}{n}" for c, n in zip("Tr", by_place[at], strict=True))
        assert f"to byte {written[at]}" in cell.tip
    by_byte = {written[at]: owner for at, owner in by_place.items()}
    width = operand.copy.vector * tile.size
    for cell in shared.cells:
        owner = by_byte[cell.row * 128 + cell.column * width]
        assert cell.label == (f"T{owner[0]}", f"r{owner[1]}")


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("name", ["ampere_bf16", "sm80_bf16_nt", "sm80_s8", "sm75_f16"])
def test_ldmatrix_rows_arrive_as_the_ptx_isa_has_it(name: str, which: str) -> None:
    """Lane l gives row l % 8 of matrix l / 8; thread t gets 4 bytes of a row, or transposed of a column."""
    found = kernel(name)
    operand = found.a if which == "a" else found.b
    assert operand.read is not None
    assert "LDSM" in operand.read.op
    tile, got = kernel_tile(found, operand.which), arrivals(found, operand, 0)
    element = {tile.table[mn][k]: (mn, k) for mn in range(tile.extents[0]) for k in range(tile.extents[1])}
    per_register, transposed = 4 // tile.size, "_T" in operand.read.op
    lanes = lane_addresses(found, operand, 0)
    assert len(lanes) == 8 * operand.read.vector // per_register
    for lane, address in enumerate(lanes):
        matrix, row = divmod(lane, 8)
        for at in range(16 // tile.size):
            if transposed:
                thread, value = at * 4 + row // 2, row % 2
            else:
                thread, value = row * 4 + at // per_register, at % per_register
            (arrival,) = got[element[address + at * tile.size]]
            assert (arrival.lane, arrival.value) == (thread, matrix * per_register + value)
    sources, banks, landing = draw(found, f"s2r-{which}").grids
    for grid in (sources, banks):
        assert sorted(int(c.label[0][1:]) for c in grid.cells if c.label) == list(range(len(lanes)))
    assert len(places(landing)) == len(got) == 32 * operand.read.vector


def test_plain_reads_share_addresses_and_elements() -> None:
    found = kernel("sm80_f32")
    addresses = lane_addresses(found, found.a, 0)
    sources = draw(found, "s2r-a").grids[0]
    assert sum(1 + int(c.label[0].partition("+")[2] or 0) for c in sources.cells if c.label) == 32
    assert sum(1 for c in sources.cells if c.label) == len(set(addresses)) == 16


def test_boxes_of_bulk_copies_fill_the_stage() -> None:
    for name in (*HOPPER, "hopper/multicast"):
        found = hopper(name)
        for what, operand in (("g2s-a", found.a), ("g2s-b", found.b)):
            if found.config.swap_ab:
                operand = found.b if what == "g2s-a" else found.a
            (grid,) = draw(found, what).grids
            size = operand.box_outer * operand.row_bytes
            starts = sorted(int(c.label[2].split()[-1]) for c in grid.cells)
            assert starts == list(range(0, operand.stage_bytes, size))


# ---- all of them


def test_every_legal_kernel_can_be_drawn() -> None:
    for seed in range(12):
        found = plan(legal_config(Random(seed)))
        for what in pictures_of(found):
            picture = draw(found, what)
            assert isinstance(picture, Picture)
            assert picture.what == what
            for grid in picture.grids:
                inside = places(grid)
                assert len(set(inside)) == len(inside) > 0
                assert all(0 <= r < grid.rows and 0 <= c < grid.columns for r, c in inside)
                assert all(
                    len(names) in (0, n)
                    for names, n in ((grid.row_names, grid.rows), (grid.column_names, grid.columns))
                )


def test_pictures_by_mainloop() -> None:
    assert pictures_of(planned("ampere_bf16")) == pictures_of(planned("sm80_f32")) == PICTURES
    assert pictures_of(planned("simple")) == ("tv-a", "tv-b", "tv-c", "mma", "pipeline")
    assert "tv-a" not in pictures_of(planned("hopper/pingpong"))


@pytest.mark.parametrize(
    ("name", "what", "words"),
    [
        (
            "simple",
            "smem-a",
            r"of mainloop direct must be one of tv-a, .*pipeline \(got smem-a\): .*global memory",
        ),
        (
            "hopper/pingpong",
            "tv-a",
            r"of mainloop tma_wgmma must be one of smem-a, .* \(got tv-a\): wgmma reads",
        ),
        ("hopper/pingpong", "s2r-b", r"\(got s2r-b\)"),
        ("ampere_bf16", "smem", r"a picture must be one of smem-a, .*pipeline \(got smem\)$"),
        (
            "collective/e4m3",
            "mma",
            r"must be one of simt, direct, multistage, tma_wgmma to be drawn \(got collective\)",
        ),
    ],
)
def test_what_there_is_no_picture_of(name: str, what: str, words: str) -> None:
    with pytest.raises(cutegen.ConfigError, match=words):
        draw(planned(name), what)


def test_a_config_will_do_and_an_illegal_one_is_refused() -> None:
    config = cutegen.load(EXAMPLES / "ampere_bf16.yaml")
    assert cutegen.draw(config, "mma") == draw(planned("ampere_bf16"), "mma")
    with pytest.raises(cutegen.ConfigError, match="cannot work"):
        cutegen.draw(config.replace(stages=99), "mma")
    with pytest.raises(cutegen.ConfigError, match=r"must be a GemmConfig \(got str\)"):
        cutegen.draw("gemm.yaml", "mma")  # type: ignore[arg-type]
