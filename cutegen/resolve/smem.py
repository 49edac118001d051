"""Shared-memory layouts that are worth a try, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, log2
from typing import Literal

from cutegen.atoms import COPY_S2R, MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig, SmemLayout
from cutegen.dtypes import dtype
from cutegen.resolve.conflicts import best_swizzle

__all__ = ["CHUNK", "operand_tile", "smem_choices", "smem_major", "thread_count"]

Which = Literal["a", "b"]
Mode = Literal["k", "mn"]
CHUNK = 16  # bytes of one ldmatrix row and of the widest copy
_LINE = 128  # bytes of one pass over all 32 banks


def operand_tile(cfg: GemmConfig, which: Which) -> tuple[int, int]:
    """(MN, K) extents of one operand's CTA tile; (0, 0) while there is no tile."""
    if cfg.tile is None:
        return (0, 0)
    return (cfg.tile[0 if which == "a" else 1], cfg.tile[2])


def thread_count(cfg: GemmConfig) -> int | None:
    """Threads of one CTA, from the TiledMMA."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tiled_mma.layout is None:
        return None
    m, n, k = cfg.tiled_mma.layout
    return atom.threads * m * n * k


def smem_major(layout: SmemLayout) -> Mode | None:
    """The mode along which a shared-memory layout is contiguous."""
    if layout.stride[1] == 1 and layout.shape[1] > 1:
        return "k"
    return "mn" if layout.stride[0] == 1 else None


def smem_choices(cfg: GemmConfig, which: Which) -> Iterator[SmemLayout]:
    """Layout atoms that are worth a try: conflict-free for the operand's major, then whole padded tiles.

    A whole tile is never cut, however odd the numbers of threads and warps are.
    """
    given = getattr(cfg.smem, which)
    if given is not None:
        yield given
        return
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or min(operand_tile(cfg, which)) < 1:
        return
    majors = _majors(cfg, which)
    yield _default_smem(cfg, which, atom, majors[0])
    for major in majors:
        yield _padded(cfg, which, major)


def _majors(cfg: GemmConfig, which: Which) -> tuple[Mode, Mode]:
    """Contiguous modes: the one that a given ldmatrix reads, or that of global memory, first."""
    first: Mode = "k" if cfg.operand(which).major == "k" else "mn"
    read = COPY_S2R.get(getattr(cfg.s2r, which) or "")
    if read is not None and read.kind == "ldmatrix":
        first = "mn" if read.transposed else "k"
    return (first, "mn" if first == "k" else "k")


def _padded(cfg: GemmConfig, which: Which, major: Mode) -> SmemLayout:
    """The tile in one piece, its rows 16 bytes apart from one another."""
    mn, k = operand_tile(cfg, which)
    vector = max(1, CHUNK // dtype(cfg.operand(which).dtype).bytes)
    row = -(-(k if major == "k" else mn) // vector) * vector + vector
    return SmemLayout(shape=(mn, k), stride=(row, 1) if major == "k" else (1, row))


def _power_of_two_divisor(extent: int, limit: int) -> int:
    size = 1
    while size * 2 <= limit and extent % (size * 2) == 0:
        size *= 2
    return size


def _unbroken(cfg: GemmConfig, which: Which, extent: int) -> int:
    """What a run along M or N must divide: with three warps side by side, their piece and not the tile."""
    atom, layout = MMA_ATOMS.get(cfg.tiled_mma.atom or ""), cfg.tiled_mma.layout
    if atom is None or layout is None:
        return extent
    mode = 0 if which == "a" else 1
    span = atom.shape[mode] * layout[mode]
    return extent if span & (span - 1) == 0 else gcd(extent, span)


def _default_smem(cfg: GemmConfig, which: Which, atom: MmaAtom, major: Mode) -> SmemLayout:
    """A conflict-free layout atom: the smallest swizzle that is enough."""
    operand = cfg.operand(which)
    size = dtype(operand.dtype).bytes
    mn, k = operand_tile(cfg, which)
    if atom.is_simt:
        # K rows of MN elements: threads read neighbours along MN. The padding keeps the transposing
        # stores of a K-major operand off each other's banks.
        pad = 0 if operand.major != "k" else max(1, CHUNK // size)
        return SmemLayout(shape=(mn, k), stride=(1, mn + pad))
    k_major = major == "k"
    run = _power_of_two_divisor(k if k_major else _unbroken(cfg, which, mn), _LINE // size)
    rows = gcd(8, mn if k_major else k)
    bits = max(0, int(log2(max(1, run * size // CHUNK))))
    shape = (rows, run) if k_major else (run, rows)
    stride = (run, 1) if k_major else (1, run)
    plain = SmemLayout(shape=shape, stride=stride)
    uses_ldmatrix = size < 8 and (k_major or size == 2)
    if not uses_ldmatrix:
        return best_swizzle(cfg, which, plain)
    if bits == 0:
        return plain
    return plain.model_copy(update={"swizzle": (bits, int(log2(CHUNK // size)), 3)})
