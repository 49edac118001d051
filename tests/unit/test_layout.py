"""Layout code by what it must do, over random layouts and exhaustively over small ones."""

from __future__ import annotations

from itertools import product as cartesian
from math import prod

import pycute
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.layout import (
    NO_SWIZZLE,
    Layout,
    Swizzle,
    additive,
    bit_union,
    complement,
    fit,
    product,
    split_view,
)
from cutegen.layout.partition import (
    PartitionError,
    TileOffsets,
    atom_is_ordered,
    copy_partition,
    mma_partition,
    tile_offsets,
)

EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 6, 8])


@st.composite
def flat_layouts(draw: st.DrawFn) -> Layout:
    shape = tuple(draw(st.lists(EXTENTS, min_size=1, max_size=4)))
    stride = tuple(draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32])) for _ in shape)
    return Layout(shape, stride)


@st.composite
def bijections(draw: st.DrawFn, modes: int = 2) -> Layout:
    shape = tuple(draw(EXTENTS) for _ in range(modes))
    order = draw(st.permutations(range(modes)))
    stride, current = [0] * modes, 1
    for mode in order:
        stride[mode] = current
        current *= shape[mode]
    return Layout(shape, tuple(stride))


SWIZZLES = st.builds(
    lambda b, m, extra, sign: Swizzle(b, m, sign * (b + extra)),
    st.integers(0, 3),
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from([1, -1]),
)


class TestLayout:
    def test_a_missing_stride_is_compact(self) -> None:
        assert Layout.make((4, (2, 3))) == Layout((4, (2, 3)), (1, (4, 8)))

    @given(flat_layouts())
    def test_table_is_pycutes(self, layout: Layout) -> None:
        other = pycute.Layout(layout.shape, layout.stride)
        assert layout.table() == [other(i) for i in range(layout.size)]

    @given(flat_layouts())
    def test_call_agrees_with_table(self, layout: Layout) -> None:
        assert [layout(i) for i in range(layout.size)] == layout.table()

    @given(flat_layouts())
    def test_cosize_is_one_more_than_the_largest_offset(self, layout: Layout) -> None:
        assert layout.cosize == max(layout.table()) + 1

    @given(bijections(3))
    def test_inverse_of_a_bijection(self, layout: Layout) -> None:
        inverse, table = layout.inverse_table(), layout.table()
        assert inverse is not None
        assert [table[i] for i in inverse] == list(range(layout.size))

    @given(flat_layouts())
    def test_compact_means_bijective(self, layout: Layout) -> None:
        assert layout.is_compact == (sorted(layout.table()) == list(range(layout.size)))
        assert layout.is_compact == (layout.inverse_table() is not None)

    def test_cxx_uses_named_integers_where_cute_has_them(self) -> None:
        assert Layout((8, 40), (40, 1)).cxx() == "Layout<Shape<_8,Int<40>>,Stride<Int<40>,_1>>"
        assert Layout(32, 1).cxx() == "Layout<_32,_1>"

    def test_product(self) -> None:
        assert product((2, (3, 4))) == 24


class TestFit:
    @given(flat_layouts())
    def test_gives_the_table_back(self, layout: Layout) -> None:
        fitted = fit(layout.table())
        assert fitted is not None
        assert fitted.table() == layout.table()

    @given(flat_layouts())
    def test_is_no_longer_than_what_it_came_from(self, layout: Layout) -> None:
        fitted = fit(layout.table())
        assert fitted is not None
        modes = 1 if isinstance(fitted.shape, int) else len(fitted.shape)
        assert modes <= max(1, sum(s > 1 for s in layout.shape))  # type: ignore[operator,union-attr]

    @pytest.mark.parametrize("table", [[], [1, 2], [0, 1, 3], [0, 1, 2, 4], [0, 1, 4, 5, 8, 10]])
    def test_refuses_what_no_layout_gives(self, table: list[int]) -> None:
        assert fit(table) is None

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
    def test_never_invents(self, table: list[int]) -> None:
        fitted = fit(table)
        assert fitted is None or fitted.table() == table


class TestComplement:
    @given(bijections(2), st.integers(1, 4), st.integers(1, 5))
    def test_is_disjoint_and_covers(self, layout: Layout, gap: int, repeats: int) -> None:
        spread = Layout(layout.shape, tuple(s * gap for s in layout.stride))  # type: ignore[union-attr,operator]
        rest = complement(spread, spread.size * gap * repeats)
        sums = [a + b for a in spread.table() for b in rest.table()]
        assert sorted(sums) == list(range(spread.size * gap * repeats))

    def test_padding_is_left_out(self) -> None:
        rest = complement(Layout((8, 32), (40, 1)), 8 * 40 * 4)
        assert [rest(i) for i in range(4)] == [0, 320, 640, 960]

    def test_gaps_as_long_as_the_atom_are_filled(self) -> None:
        rest = complement(Layout((8, 32), (64, 1)), 8 * 64 * 2)
        assert [rest(i) for i in range(4)] == [0, 32, 512, 544]


class TestSwizzle:
    @given(SWIZZLES)
    def test_is_bijective_and_its_own_inverse(self, swizzle: Swizzle) -> None:
        offsets = range(min(swizzle.period * 2, 4096))
        images = [swizzle(o) for o in offsets]
        if swizzle.period <= 2048:
            assert sorted(images) == list(offsets)
        assert [swizzle(i) for i in images] == list(offsets)

    @given(SWIZZLES, st.integers(0, 2**14), st.integers(0, 7))
    def test_repeats_with_its_period(self, swizzle: Swizzle, offset: int, times: int) -> None:
        assert swizzle(offset + times * swizzle.period) == swizzle(offset) + times * swizzle.period

    @given(SWIZZLES, st.integers(0, 2**14))
    def test_changes_nothing_beyond_its_reach(self, swizzle: Swizzle, offset: int) -> None:
        assert (swizzle(offset) ^ offset) < swizzle.reach
        assert (swizzle(offset) ^ offset) % (1 << swizzle.m) == 0

    @given(SWIZZLES, st.integers(0, 2**14), st.integers(0, 2**14))
    def test_is_linear_over_xor(self, swizzle: Swizzle, x: int, y: int) -> None:
        assert swizzle(x ^ y) == swizzle(x) ^ swizzle(y)

    def test_none(self) -> None:
        assert [NO_SWIZZLE(i) for i in range(64)] == list(range(64))
        assert NO_SWIZZLE.period == NO_SWIZZLE.reach == 1
        assert str(NO_SWIZZLE) == "none"

    @pytest.mark.parametrize(
        ("row", "chunks"),
        [(0, [0, 1, 2, 3]), (1, [0, 1, 2, 3]), (2, [1, 0, 3, 2]), (4, [2, 3, 0, 1]), (6, [3, 2, 1, 0])],
    )
    def test_of_ampere_kernels(self, row: int, chunks: list[int]) -> None:
        """(8,32) f16 with <2,3,3>: 16-byte pieces of row r are permuted by r / 2."""
        swizzle = Swizzle(2, 3, 3)
        assert [swizzle(32 * row + 8 * c) // 8 % 4 for c in range(4)] == chunks


class TestSplitView:
    @given(
        SWIZZLES,
        st.lists(st.integers(0, 2**10 - 1), min_size=1, max_size=20),
        st.lists(st.integers(0, 2**10 - 1), min_size=1, max_size=20),
    )
    def test_identity(self, swizzle: Swizzle, thread: list[int], step: list[int]) -> None:
        view = split_view(swizzle, thread, step)
        if not view.linear:
            return
        for t, s in cartesian(thread, step):
            z = swizzle(s)
            assert (swizzle(t) ^ (z & view.mask)) + (z & ~view.mask) == swizzle(t + s)

    @given(SWIZZLES, st.integers(0, 2**10 - 1), st.lists(st.integers(0, 2**10 - 1), min_size=1, max_size=20))
    def test_identity_over_disjoint_bits(self, swizzle: Swizzle, low: int, values: list[int]) -> None:
        thread, step = [v & low for v in values], [v & ~low for v in values]
        view = split_view(swizzle, thread, step)
        assert view.linear
        for t, s in cartesian(thread, step):
            z = swizzle(s)
            assert (swizzle(t) ^ (z & view.mask)) + (z & ~view.mask) == swizzle(t + s)

    def test_shared_bits_are_not_linear(self) -> None:
        assert not split_view(Swizzle(2, 3, 3), [0, 1, 2, 3], [0, 2]).linear


class TestTileOffsets:
    @given(
        st.tuples(EXTENTS, EXTENTS),
        st.integers(0, 1),
        st.integers(0, 9),
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
    )
    def test_is_pycutes_product(
        self, shape: tuple[int, int], run: int, pad: int, reps: tuple[int, int]
    ) -> None:
        stride = [1, 1]
        stride[1 - run] = shape[run] + pad % max(1, shape[run])  # no gap that an atom fits in
        tile = (shape[0] * reps[0], shape[1] * reps[1])
        offsets = tile_offsets(shape, (stride[0], stride[1]), tile)
        block = pycute.Layout(shape, tuple(stride))
        whole = pycute.logical_product(block, pycute.Layout(reps))
        for mn, k in cartesian(range(tile[0]), range(tile[1])):
            inside = (mn % shape[0], k % shape[1])
            outside = (mn // shape[0], k // shape[1])
            assert offsets.mn[mn] + offsets.k[k] == whole((inside, outside))
        table = [m + k for m in offsets.mn for k in offsets.k]
        assert len(set(table)) == len(table)
        assert offsets.cosize == max(table) + 1

    def test_split_says_what_is_cut(self) -> None:
        coords = copy_partition(Layout((2, 1), (1, 1)), Layout((1, 1), (1, 1)), 1, (6, 1))
        TileOffsets(mn=(0, 1, 2, 3, 4, 5), k=(0,), cosize=6).split(coords)
        with pytest.raises(PartitionError, match="cuts mode MN"):
            TileOffsets(mn=(0, 1, 2, 10, 11, 12), k=(0,), cosize=13).split(coords)

    @given(st.tuples(EXTENTS, EXTENTS), st.tuples(st.integers(0, 12), st.integers(0, 12)))
    def test_ordered_atoms_are_injective(self, shape: tuple[int, int], stride: tuple[int, int]) -> None:
        table = Layout(shape, stride).table()
        if atom_is_ordered(shape, stride):
            assert len(set(table)) == len(table)


class TestCopyPartition:
    @given(bijections(2), bijections(2), st.tuples(st.integers(1, 3), st.integers(1, 3)))
    def test_every_element_once(self, threads: Layout, values: Layout, reps: tuple[int, int]) -> None:
        assert isinstance(threads.shape, tuple)
        assert isinstance(values.shape, tuple)
        tile = tuple(t * v * r for t, v, r in zip(threads.shape, values.shape, reps, strict=True))
        coords = copy_partition(threads, values, 1, (tile[0], tile[1]))
        places = [(t[0] + s[0], t[1] + s[1]) for t in coords.thread for s in coords.step]
        assert sorted(places) == sorted(cartesian(range(tile[0]), range(tile[1])))
        assert len(coords.thread) == threads.size

    def test_threads_are_numbered_by_their_layout(self) -> None:
        coords = copy_partition(Layout((32, 4), (4, 1)), Layout((1, 8), (8, 1)), 8, (128, 32))
        assert coords.thread[:5] == ((0, 0), (0, 8), (0, 16), (0, 24), (1, 0))
        assert coords.step == ((0, 0), (32, 0), (64, 0), (96, 0))

    @pytest.mark.parametrize("bad", [Layout((2, 2), (1, 1)), Layout((2, 2), (1, 4))], ids=str)
    def test_refuses_what_is_no_bijection(self, bad: Layout) -> None:
        with pytest.raises(PartitionError, match="bijections"):
            copy_partition(bad, Layout((1, 1), (1, 1)), 1, (8, 8))


class TestMmaPartition:
    TV = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))  # accumulators of a 16x8 atom

    @given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]), st.booleans())
    def test_every_element_once(self, m: int, n: int, reps: int, by_tile: bool) -> None:
        tile = (16 * m * reps, 8 * n * 2)
        coords = mma_partition(
            self.TV,
            32,
            (16, 8),
            (m, n),
            tuple((x, y) for y in range(n) for x in range(m)),
            (Layout.make(16 * m), Layout.make(8 * n * 2)),
            tile,
            by_tile=by_tile,
        )
        places = [(t[0] + s[0], t[1] + s[1]) for t in coords.thread for s in coords.step]
        assert sorted(places) == sorted(cartesian(range(tile[0]), range(tile[1])))
        assert len(places) == prod(tile)

    def test_a_permutation_moves_whole_atoms(self) -> None:
        permutation = Layout((8, 2, 2), (1, 16, 8))  # the two warps' atoms side by side in pairs
        coords = mma_partition(
            self.TV,
            32,
            (16, 8),
            (1, 2),
            ((0, 0), (0, 1)),
            (Layout.make(16), permutation),
            (16, 32),
            by_tile=False,
        )
        places = [(t[0] + s[0], t[1] + s[1]) for t in coords.thread for s in coords.step]
        assert sorted(places) == sorted(cartesian(range(16), range(32)))
        assert coords.thread[32] == (0, 16)

    def test_a_permutation_that_tears_the_atom_is_refused(self) -> None:
        with pytest.raises(PartitionError, match="cuts the atom's values"):
            mma_partition(
                self.TV,
                32,
                (16, 8),
                (1, 1),
                ((0, 0),),
                (Layout((3, 16), (16, 1)), Layout.make(8)),
                (48, 8),
                by_tile=False,
            )


@given(st.lists(st.integers(0, 255)))
def test_bit_union(values: list[int]) -> None:
    union = bit_union(values)
    assert all(v & ~union == 0 for v in values)
    assert all(any(v >> bit & 1 for v in values) for bit in range(8) if union >> bit & 1)


@given(flat_layouts())
def test_additive_over_disjoint_modes(layout: Layout) -> None:
    table, shape = layout.table(), layout.shape
    assert isinstance(shape, tuple)
    first = range(shape[0])  # type: ignore[arg-type]
    rest = range(0, layout.size, shape[0])  # type: ignore[arg-type]
    assert additive(table, first, rest)
