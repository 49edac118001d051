"""Shared memory and registers of a resolved config."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from cutegen.atoms import MMA_ATOMS
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout, complement
from cutegen.layout.partition import atom_is_ordered, tile_offsets
from cutegen.layout.swizzle import NO_SWIZZLE, Swizzle

__all__ = [
    "MAX_SMEM_ALIGNMENT",
    "accumulator_registers",
    "epilogue_pitch",
    "fragment_registers",
    "k_block_count",
    "mma_repeats",
    "operand_stage_bytes",
    "permutation_layout",
    "smem_alignment",
    "smem_bytes",
    "stage_bytes",
    "swizzle_of",
]

_BANKS = 128  # bytes of one pass over all banks
_MOST_ELEMENTS = 1 << 18  # of a tile: more than any shared memory holds
MAX_SMEM_ALIGNMENT = 1024  # bytes to which the base of dynamic shared memory can be aligned


def permutation_layout(entry: int | LayoutSpec) -> Layout:
    """A TiledMMA permutation entry as a layout; a missing stride means compact."""
    if isinstance(entry, int):
        return Layout.make(entry)
    return Layout.make(entry.shape, entry.stride)


def swizzle_of(spec: tuple[int, int, int] | Literal["none"]) -> Swizzle:
    """The swizzle that a config's field means."""
    return NO_SWIZZLE if spec == "none" else Swizzle(*spec)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def operand_stage_bytes(cfg: GemmConfig, which: Literal["a", "b"]) -> int:
    """Bytes of one stage of one operand: what its swizzled layout reaches, rounded to alignment."""
    layout = getattr(cfg.smem, which)
    if layout is None or cfg.tile is None:
        return 0
    tile = (cfg.tile[0 if which == "a" else 1], cfg.tile[2])
    if any(s < 1 for s in (*layout.shape, *tile)):
        return 0
    swizzle = swizzle_of(layout.swizzle)
    if cfg.stages == 1:
        reached = _reached(layout.shape, layout.stride, tile, swizzle)
    else:  # whole blocks within which the swizzle moves, so that no stage reaches into the next
        reached = _round_up(_cosize(layout.shape, layout.stride, tile), swizzle.reach)
    return _round_up(reached * dtype(cfg.operand(which).dtype).bytes, smem_alignment(cfg))


def _cosize(shape: tuple[int, int], stride: tuple[int, int], tile: tuple[int, int]) -> int:
    """One more than the largest offset of a tile before its swizzle."""
    reps = max(1, tile[0] // shape[0]) * max(1, tile[1] // shape[1])
    atom = Layout(shape, stride)
    cosize = atom.cosize
    if reps > 1 and atom_is_ordered(shape, stride):
        cosize += complement(atom, atom.cosize * reps)(reps - 1)
    return cosize


@lru_cache(maxsize=256)
def _reached(shape: tuple[int, int], stride: tuple[int, int], tile: tuple[int, int], swizzle: Swizzle) -> int:
    """One more than the largest offset of a swizzled tile."""
    cosize = _cosize(shape, stride, tile)
    whole = _round_up(cosize, swizzle.reach)
    divides = not any(t % s for t, s in zip(tile, shape, strict=True)) and atom_is_ordered(shape, stride)
    if whole == cosize or not divides or tile[0] * tile[1] > _MOST_ELEMENTS:
        return whole
    offsets = tile_offsets(shape, stride, tile)
    return 1 + max(swizzle(mn + k) for k in offsets.k for mn in offsets.mn)


def smem_alignment(cfg: GemmConfig) -> int:
    """Bytes to which each operand's buffer is aligned, so that a swizzle may be applied to addresses."""
    reaches = [_BANKS]
    for which in ("a", "b"):
        layout = getattr(cfg.smem, which)
        if layout is not None:
            reach = swizzle_of(layout.swizzle).reach * dtype(getattr(cfg, which).dtype).bytes
            reaches.append(min(reach, MAX_SMEM_ALIGNMENT))
    return max(reaches)


def stage_bytes(cfg: GemmConfig) -> int:
    """Bytes of one stage of A and B together."""
    return operand_stage_bytes(cfg, "a") + operand_stage_bytes(cfg, "b")


def epilogue_pitch(cfg: GemmConfig) -> int:
    """Elements between neighbouring rows of D in the epilogue's staging buffer.

    A fragment store writes pairs of neighbouring columns, four to a row of eight rows. The padding puts those
    of one row beside those of the next: the width of four pairs along N, and 16 bytes along M.
    """
    if cfg.tile is None:
        return 0
    size = dtype(cfg.d.dtype or "f32").bytes
    row = cfg.tile[1] if cfg.d.major == "n" else cfg.tile[0]
    return row + (max(16, 8 * size) if cfg.d.major == "n" else 16) // size


def smem_bytes(cfg: GemmConfig) -> int:
    """Dynamic shared memory of one CTA: the ring buffer and the epilogue's staging share it."""
    if cfg.tile is None:
        return 0
    ring = 0 if cfg.mainloop == "direct" else (cfg.stages or 1) * stage_bytes(cfg)
    if cfg.epilogue.store != "smem":
        return ring
    rows = cfg.tile[0] if cfg.d.major == "n" else cfg.tile[1]
    staging = rows * epilogue_pitch(cfg) * dtype(cfg.d.dtype or "f32").bytes
    return max(ring, _round_up(staging, 16))


def accumulator_registers(cfg: GemmConfig) -> int:
    """32-bit registers of one thread's accumulators."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tile is None or cfg.tiled_mma.layout is None:
        return 0
    m, n, _ = cfg.tiled_mma.layout
    values = cfg.tile[0] * cfg.tile[1] // max(1, atom.threads * m * n)
    return -(-values * dtype(atom.acc).bits // 32)


def fragment_registers(cfg: GemmConfig, buffers: int) -> int:
    """32-bit registers: accumulators, ``buffers`` k-blocks of fragments, vectors on their way to smem."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tile is None or cfg.tiled_mma.layout is None or cfg.tiled_mma.permutation is None:
        return 0
    k_block = permutation_layout(cfg.tiled_mma.permutation[2]).size
    words = 0
    for count, values, name in zip(
        mma_repeats(cfg), (atom.a_values, atom.b_values), (atom.a, atom.b), strict=True
    ):
        words += -(-count * values * max(1, k_block // atom.shape[2]) * dtype(name).bits // 32)
    return accumulator_registers(cfg) + buffers * words + _staged_registers(cfg)


def mma_repeats(cfg: GemmConfig) -> tuple[int, int]:
    """MMA atoms of one thread along M and N."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tile is None or cfg.tiled_mma.layout is None:
        return (0, 0)
    m, n, _ = cfg.tiled_mma.layout
    return (cfg.tile[0] // max(1, atom.shape[0] * m), cfg.tile[1] // max(1, atom.shape[1] * n))


def k_block_count(cfg: GemmConfig) -> int:
    """k-blocks in one k-tile."""
    if cfg.tile is None or cfg.tiled_mma.permutation is None:
        return 0
    return cfg.tile[2] // max(1, permutation_layout(cfg.tiled_mma.permutation[2]).size)


def _staged_registers(cfg: GemmConfig) -> int:
    """Registers that a k-tile takes on its way to shared memory when its copy is not cp.async."""
    words = 0
    for which in ("a", "b"):
        copy = getattr(cfg.g2s, which)
        if copy.atom != "UniversalCopy" or not copy.bits or copy.threads is None or cfg.tile is None:
            continue
        bits = dtype(getattr(cfg, which).dtype).bits * cfg.tile[0 if which == "a" else 1] * cfg.tile[2]
        copies = bits // max(1, copy.bits * Layout.make(copy.threads.shape).size)
        words += copies * max(1, copy.bits // 32)
    return words
