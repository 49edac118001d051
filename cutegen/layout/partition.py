"""How CuTe's TiledMMA and TiledCopy split a tile among threads, evaluated in Python.

A partition is a pair of coordinate lists: where each thread starts, and how far each of its steps
moves from there. CuTe's layouts are sums of the two, and so is everything here; a partition that is
no such sum cannot be written as a CuTe layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cutegen.layout.algebra import Layout, additive, complement, product

__all__ = [
    "Coords",
    "PartitionError",
    "TileOffsets",
    "atom_is_ordered",
    "consists_of_runs",
    "copy_partition",
    "fills_gaps",
    "gap_places",
    "mma_partition",
    "tile_offsets",
]


class PartitionError(ValueError):
    """A partition that CuTe could not express either; the message says what does not fit."""


@dataclass(frozen=True)
class Coords:
    """Coordinates (mn, k), or (m, n), of every thread's start and of every step.

    Attributes:
        thread: One coordinate per thread.
        step: One coordinate per step; the first is (0, 0).
    """

    thread: tuple[tuple[int, int], ...]
    step: tuple[tuple[int, int], ...]

    def threads(self, mode: int) -> list[int]:
        """One mode of every thread's start."""
        return [c[mode] for c in self.thread]

    def steps(self, mode: int) -> list[int]:
        """One mode of every step."""
        return [c[mode] for c in self.step]


@dataclass(frozen=True)
class TileOffsets:
    """A shared-memory tile before its swizzle: offset(mn, k) = mn[mn] + k[k], in elements."""

    mn: tuple[int, ...]
    k: tuple[int, ...]
    cosize: int

    def split(self, coords: Coords) -> tuple[list[int], list[int]]:
        """Thread and step offsets of a partition.

        Raises:
            PartitionError: The offsets are not the sum of a thread part and a step part.
        """
        for mode, table in ((0, self.mn), (1, self.k)):
            if not additive(table, coords.threads(mode), coords.steps(mode)):
                raise PartitionError(
                    f"the layout atom cuts mode {'MN' if mode == 0 else 'K'} of the partition"
                )
        return (
            [self.mn[mn] + self.k[k] for mn, k in coords.thread],
            [self.mn[mn] + self.k[k] for mn, k in coords.step],
        )


def atom_is_ordered(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether each mode steps over all of the mode with the next smaller stride.

    CuTe's ``complement``, and so ``tile_to_shape``, is defined for such layouts only; they are injective.
    """
    current = 1
    for step, extent in sorted((d, s) for s, d in zip(shape, stride, strict=True) if s > 1):
        if step < current:
            return False
        current = step * extent
    return True


def gap_places(shape: Sequence[int], stride: Sequence[int]) -> list[int]:
    """For each gap of an ordered layout atom, how many copies of what lies before it fit into it."""
    gaps, current = [], 1
    for step, extent in sorted((d, s) for s, d in zip(shape, stride, strict=True) if s > 1):
        if step // current > 1:
            gaps.append(step // current)
        current = step * extent
    return gaps


def fills_gaps(shape: Sequence[int], stride: Sequence[int], tile: Sequence[int]) -> bool:
    """Whether ``tile_to_shape`` of an ordered layout atom is defined and injective.

    The atoms of a tile go into the first gap until it is full. They must fill it evenly, or all fit into it:
    CuTe lets the last ones overlap others, or stops in an unnamed static_assert.
    """
    gaps, exact = gap_places(shape, stride), True
    for extent, own in zip(tile, shape, strict=True):
        count = extent // own
        while count > 1 and gaps:
            if exact and count % gaps[0] == 0:
                count //= gaps.pop(0)
            elif count <= gaps[0]:
                exact = exact and gaps[0] % count == 0
                gaps[0] //= count
                count = 1
            else:
                return False
    return True


def tile_offsets(shape: tuple[int, int], stride: tuple[int, int], tile: tuple[int, int]) -> TileOffsets:
    """``tile_to_shape`` of a two-mode layout atom, MN tiles first, then K tiles."""
    atom = Layout(shape, stride)
    reps = (tile[0] // shape[0], tile[1] // shape[1])
    rest = complement(atom, atom.cosize * reps[0] * reps[1])
    rest_mn, rest_k = [rest(i) for i in range(reps[0])], [rest(i * reps[0]) for i in range(reps[1])]
    mn = tuple((i % shape[0]) * stride[0] + rest_mn[i // shape[0]] for i in range(tile[0]))
    k = tuple((i % shape[1]) * stride[1] + rest_k[i // shape[1]] for i in range(tile[1]))
    return TileOffsets(mn=mn, k=k, cosize=mn[-1] + k[-1] + 1)


def _permuted(extent: int, permutation: Layout) -> list[int]:
    table, size = permutation.table(), permutation.size
    return [table[p % size] + size * (p // size) for p in range(extent)]


def _starts_and_values(
    tv: Layout, threads: int, extents: tuple[int, int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    table = tv.table()
    as_coord = [(index % extents[0], index // extents[0]) for index in table]
    return as_coord[:threads], as_coord[::threads]


@lru_cache(maxsize=64)  # a config is tried with many copies of one TiledMMA
def mma_partition(
    tv: Layout,
    atom_threads: int,
    atom: tuple[int, int],
    warps: tuple[int, int],
    warp_of: tuple[tuple[int, int], ...],
    permutation: tuple[Layout, Layout],
    tile: tuple[int, int],
    *,
    by_tile: bool,
) -> Coords:
    """Partition a tile of A (M,K), B (N,K) or C (M,N) among the threads of a TiledMMA.

    Args:
        tv: The atom's (thread, value) layout of this operand.
        atom_threads: Threads of one atom.
        atom: Extents of the atom along the two modes.
        warps: Atoms side by side along the two modes.
        warp_of: For each group of ``atom_threads`` threads, its position along the two modes.
        permutation: The TiledMMA's permutation of each mode.
        tile: Extents of the tile.
        by_tile: Order of the steps. True: (value, rest in the permuted tile, tiles of mode 0, tiles
            of mode 1), as a TiledCopy made from the TiledMMA goes. False: (value, rest of mode 0,
            rest of mode 1), as fragments are indexed.
    """
    starts, values = _starts_and_values(tv, atom_threads, atom)
    order = [_permuted(tile[i], permutation[i]) for i in (0, 1)]
    span = [atom[i] * warps[i] for i in (0, 1)]
    inner = [permutation[i].size // span[i] for i in (0, 1)]
    outer = [tile[i] // permutation[i].size for i in (0, 1)]
    start = [(a[0] + atom[0] * w[0], a[1] + atom[1] * w[1]) for w in warp_of for a in starts]
    rest = [
        [span[i] * x + permutation[i].size * y for y in range(outer[i]) for x in range(inner[i])]
        for i in (0, 1)
    ]
    if by_tile:
        steps = [
            (
                v[0] + span[0] * x0 + permutation[0].size * y0,
                v[1] + span[1] * x1 + permutation[1].size * y1,
            )
            for y1 in range(outer[1])
            for y0 in range(outer[0])
            for x1 in range(inner[1])
            for x0 in range(inner[0])
            for v in values
        ]
    else:
        steps = [(v[0] + r0, v[1] + r1) for r1 in rest[1] for r0 in rest[0] for v in values]
    for i in (0, 1):
        if not additive(order[i], (s[i] for s in start), (s[i] for s in steps)):
            raise PartitionError(f"the permutation {permutation[i]} cuts the atom's values")
    return Coords(
        thread=tuple((order[0][s[0]], order[1][s[1]]) for s in start),
        step=tuple((order[0][s[0]], order[1][s[1]]) for s in steps),
    )


def _two_extents(layout: Layout) -> tuple[int, int]:
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape, 1)
    return product(shape[0]), product(shape[1:])


def copy_partition(threads: Layout, values: Layout, vector: int, tile: tuple[int, int]) -> Coords:
    """Partition a tile among the threads of ``make_tiled_copy(atom, threads, values)``.

    Steps are single copies of ``vector`` values, in the order (rest of the values, MN, K).

    Args:
        threads: (MN, K) coordinate to thread index, a bijection.
        values: (MN, K) coordinate to value index, a bijection.
        vector: Values that one copy moves.
        tile: Extents of the tile.

    Raises:
        PartitionError: ``threads`` or ``values`` is not a bijection.
    """
    thr, val = threads.inverse_table(), values.inverse_table()
    if thr is None or val is None:
        raise PartitionError("thread and value layouts must be bijections onto [0, size)")
    (tm, tk), (vm, vk) = (_two_extents(layout) for layout in (threads, values))
    reps = (tile[0] // (tm * vm), tile[1] // (tk * vk))
    start = tuple(((i % tm) * vm, (i // tm) * vk) for i in thr)
    firsts = [(i % vm, i // vm) for i in val[::vector]]
    steps = tuple(
        (f[0] + r0 * tm * vm, f[1] + r1 * tk * vk)
        for r1 in range(reps[1])
        for r0 in range(reps[0])
        for f in firsts
    )
    return Coords(thread=start, step=steps)


def consists_of_runs(offsets: tuple[int, ...], run: int) -> bool:
    """Whether offsets are whole runs of ``run`` neighbours; not, if the last one ends early."""
    if len(offsets) % run:
        return False
    return all(offsets[i + j] == offsets[i] + j for i in range(0, len(offsets), run) for j in range(1, run))
