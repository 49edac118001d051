"""How wide a vector may be: address, stride and length all decide (handed cases C02, C04, C11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.errors import ArgumentError
from cutegen.operand_check import Matrix, alignment, overlap, wanted_operands
from tests.support.fake_kernel import config


@pytest.mark.parametrize(
    ("shape", "stride", "offset", "need"),
    [
        ((128, 64), (64, 1), 0, 16),
        ((128, 64), (68, 1), 0, 8),
        ((128, 64), (64, 1), 4, 8),
        ((128, 64), (1, 128), 0, 16),
        ((1, 64), (65, 1), 0, 16),  # nothing steps along a mode of extent 1
        ((64, 64), (65, 1), 0, 2),
        ((128, 64), (66, 1), 0, 4),
        ((128, 60), (64, 1), 0, 8),  # rows end 8 bytes early
        ((128, 63), (64, 1), 0, 2),
        ((128, 64), (64, 1), 1, 2),
        ((128, 64), (64, 1), 8, 16),
        ((63, 64), (1, 64), 0, 2),
        ((128, 64), (0, 1), 0, 16),  # an expanded row
        ((4, 128, 64), (8192, 64, 1), 0, 16),
        ((4, 128, 64), (8193, 64, 1), 0, 2),
        ((0, 64), (65, 1), 1, 16),
        ((64, 0), (1, 1), 1, 16),
        ((64, 64), (128, 2), 0, 2),  # no contiguous mode: single elements
        ((64,), (1,), 0, 16),
        ((1, 1), (1, 1), 0, 2),
    ],
)
def test_table_f16(shape, stride, offset, need):
    assert alignment(shape, stride, itemsize=2, address=2 * offset) == need


@pytest.mark.parametrize(("k", "need"), [(4096, 16), (4092, 8), (4090, 4), (4091, 2)])
def test_c02_row_pitch_bounds_the_vector(k, need):
    assert alignment((128, k), (k, 1), itemsize=2) == need


def test_major_decides_along_which_mode_a_vector_runs():
    column = ((64, 1), (1, 1))
    assert alignment(*column, itemsize=2, major=0) == 16
    assert alignment(*column, itemsize=2, major=1) == 2


@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.integers(0, 64),
    st.integers(0, 64),
    st.sampled_from([1, 2, 4, 8]),
)
def test_every_vector_of_that_width_is_aligned_and_none_wider_is(rows, columns, pad, offset, size):
    ld = columns + pad
    got = alignment((rows, columns), (ld, 1), itemsize=size, address=offset * size, major=1)
    starts = {(offset + i * ld) * size for i in range(rows)}
    ends = {s + columns * size for s in starts}

    def fits(width: int) -> bool:
        return all(edge % width == 0 for edge in starts | ends)

    assert fits(got)
    assert got == 16 or not fits(2 * got)


def _matrix(shape, stride, field="a", **options):
    return Matrix.read(wanted_operands(config(**options))[field], shape, stride)


def test_refusal_prints_the_bytes_and_the_way_out():
    with pytest.raises(ArgumentError) as caught:
        _matrix((128, 4092), (4092, 1)).require_alignment(0x7F00_0000_0000)
    text = str(caught.value)
    assert text.startswith("a: address, pitch and run length must be multiples of 16 bytes, as a.align")
    assert "got 8" in text
    assert "the pitch along M is 8184 B" in text
    assert "a run along K is 8184 B" in text
    assert "kernel.variant_for" in text


def test_c04_pitch_of_130_bytes_is_named():
    with pytest.raises(ArgumentError, match=r"the pitch along M is 130 B"):
        _matrix((64, 64), (65, 1)).require_alignment(0)


def test_k01_an_odd_base_is_named():
    with pytest.raises(ArgumentError, match=r"got 2: the address is a multiple of 2 B"):
        _matrix((4096, 4096), (4104, 1)).require_alignment(0x7F00_0000_0002)


@pytest.mark.parametrize("align", [2, 4, 8])
def test_a_narrow_kernel_takes_what_it_says(align):
    matrix = _matrix((64, 64 + align // 2), (64 + align // 2, 1), align=align)
    matrix.require_alignment(align)
    with pytest.raises(ArgumentError):
        matrix.require_alignment(align // 2)


class TestOverlap:
    def buffers(self, first, second, ld=64):
        """Row-major slices [rows, columns] of one f32 buffer with the given pitch."""
        made = []
        for rows, columns in (first, second):
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            made += [
                _matrix(shape, (ld, 1), "d", dtype="f32"),
                4 * (rows.start * ld + columns.start) + 4096,
            ]
        return made

    @pytest.mark.parametrize(
        ("first", "second", "hit"),
        [
            ((slice(0, 8), slice(0, 32)), (slice(0, 8), slice(32, 64)), False),
            ((slice(0, 8), slice(0, 33)), (slice(0, 8), slice(32, 64)), True),
            ((slice(0, 8), slice(0, 64)), (slice(8, 16), slice(0, 64)), False),
            ((slice(0, 9), slice(0, 64)), (slice(8, 16), slice(0, 64)), True),
            ((slice(4, 5), slice(0, 32)), (slice(0, 8), slice(32, 64)), False),  # one row among columns
            ((slice(4, 5), slice(31, 64)), (slice(0, 8), slice(0, 32)), True),
            ((slice(0, 8), slice(16, 32)), (slice(0, 8), slice(0, 64)), True),
        ],
    )
    def test_slices_of_one_buffer(self, first, second, hit):
        x, x_at, y, y_at = self.buffers(first, second)
        assert overlap(x, x_at, y, y_at) is hit
        assert overlap(y, y_at, x, x_at) is hit

    @given(st.data())
    def test_never_misses_a_shared_byte(self, data):
        slices = []
        for _ in range(2):
            r0, c0 = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 14))
            slices.append(
                (slice(r0, r0 + data.draw(st.integers(1, 4))), slice(c0, data.draw(st.integers(c0 + 1, 16))))
            )
        x, x_at, y, y_at = self.buffers(*slices, ld=16)
        cells = [{(r, c) for r in range(*s[0].indices(99)) for c in range(*s[1].indices(99))} for s in slices]
        assert overlap(x, x_at, y, y_at) == bool(cells[0] & cells[1])

    def test_a_matrix_in_the_gap_of_another(self):
        x = _matrix((8, 32), (1 << 20, 1), "a", dtype="f32")
        y = _matrix((8, 16), (48, 1), "d", dtype="f32")
        for at, hit in ((128, False), (124, True), (3 << 20, False), ((4 << 20) - 16, True)):
            assert overlap(x, 4096, y, 4096 + at) is hit
            assert overlap(y, 4096 + at, x, 4096) is hit

    def test_other_pitches_in_one_range_count_as_overlapping(self):
        x = _matrix((8, 32), (64, 1), "d", dtype="f32")
        y = _matrix((8, 16), (48, 1), "d", dtype="f32")
        assert overlap(x, 4096, y, 4096 + 128)

    def test_an_empty_matrix_overlaps_nothing(self):
        x = _matrix((8, 32), (32, 1), "d", dtype="f32")
        assert not overlap(x, 4096, _matrix((0, 32), (32, 1), "d", dtype="f32"), 4100)
