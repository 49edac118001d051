"""Shared memory and registers of a resolved config."""

from __future__ import annotations

from typing import Literal

from cutegen.atoms import MMA_ATOMS
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout, complement
from cutegen.layout.swizzle import NO_SWIZZLE, Swizzle

__all__ = [
    "accumulator_registers",
    "epilogue_pitch",
    "fragment_registers",
    "operand_stage_bytes",
    "permutation_layout",
    "smem_bytes",
    "stage_bytes",
    "swizzle_of",
]

_BASE = 128  # bytes to which each operand's buffer is aligned: one pass over all banks


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
    """Bytes of one stage of one operand: its layout, rounded to whole swizzle periods and 128 bytes."""
    layout = getattr(cfg.smem, which)
    if layout is None or cfg.tile is None:
        return 0
    tile = (cfg.tile[0 if which == "a" else 1], cfg.tile[2])
    if any(s < 1 for s in (*layout.shape, *tile)):
        return 0
    reps = [max(1, tile[i] // layout.shape[i]) for i in (0, 1)]
    atom = Layout(layout.shape, layout.stride)
    rest = complement(atom, atom.cosize * reps[0] * reps[1]).table()
    cosize = atom.cosize + rest[min(len(rest), reps[0] * reps[1]) - 1]
    size = dtype(cfg.operand(which).dtype).bytes
    period = swizzle_of(layout.swizzle).period
    return _round_up(_round_up(cosize, period) * size, _BASE)


def stage_bytes(cfg: GemmConfig) -> int:
    """Bytes of one stage of A and B together."""
    return operand_stage_bytes(cfg, "a") + operand_stage_bytes(cfg, "b")


def epilogue_pitch(cfg: GemmConfig) -> int:
    """Elements between neighbouring rows of D in the epilogue's staging buffer.

    The padding of 16 bytes, 32 for types of 4 bytes and more, keeps fragment stores conflict-free.
    """
    if cfg.tile is None:
        return 0
    size = dtype(cfg.d.dtype or "f32").bytes
    row = cfg.tile[1] if cfg.d.major == "n" else cfg.tile[0]
    return row + (16 if size <= 2 else 32) // size


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


def fragment_registers(cfg: GemmConfig) -> int:
    """32-bit registers of accumulators and of two k-blocks of A and B fragments."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tile is None or cfg.tiled_mma.layout is None or cfg.tiled_mma.permutation is None:
        return 0
    m, n, _ = cfg.tiled_mma.layout
    k_block = permutation_layout(cfg.tiled_mma.permutation[2]).size
    repeats = (cfg.tile[0] // max(1, atom.shape[0] * m), cfg.tile[1] // max(1, atom.shape[1] * n))
    words = 0
    for count, values, name in (
        (repeats[0], atom.a_values, atom.a),
        (repeats[1], atom.b_values, atom.b),
    ):
        words += -(-count * values * max(1, k_block // atom.shape[2]) * dtype(name).bits // 32)
    buffers = 2 if cfg.mainloop == "multistage" else 1
    return accumulator_registers(cfg) + buffers * words
