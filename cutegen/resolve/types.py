"""Element types, majors, alignments and the mainloop."""

from __future__ import annotations

from typing import Any

from cutegen.arch import arch
from cutegen.atoms import MMA_ATOMS
from cutegen.config import GemmConfig, MainloopName, Output
from cutegen.dtypes import DTypeName, dtype
from cutegen.resolve.wgmma import prefers_wgmma
from cutegen.wgmma_atoms import WGMMA_ATOMS

__all__ = ["NATURAL_ACCUMULATOR", "NATURAL_OUTPUT", "resolve_types"]

#: The accumulator that a tensor core has for operands of a type.
NATURAL_ACCUMULATOR: dict[DTypeName, DTypeName] = {
    "f16": "f32",
    "bf16": "f32",
    "tf32": "f32",
    "f32": "f32",
    "f64": "f64",
    "s8": "s32",
    "u8": "s32",
    "s32": "s32",
    "e4m3": "f32",
    "e5m2": "f32",
}

#: The output type that users of operands of a type expect.
NATURAL_OUTPUT: dict[DTypeName, DTypeName] = {
    "f16": "f16",
    "bf16": "bf16",
    "tf32": "f32",
    "f32": "f32",
    "f64": "f64",
    "s8": "s32",
    "u8": "s32",
    "s32": "s32",
    "e4m3": "bf16",
    "e5m2": "bf16",
}


def resolve_types(cfg: GemmConfig) -> GemmConfig:
    """Fill mainloop, majors, alignments, accumulator, and the types of C and D."""
    update: dict[str, Any] = {}
    for name in ("a", "b"):
        operand = getattr(cfg, name)
        update[name] = operand.model_copy(
            update={"major": operand.major or "k", "align": operand.align or 16}
        )
    name = cfg.tiled_mma.atom or ""
    given = MMA_ATOMS.get(name) or WGMMA_ATOMS.get(name)
    accumulator = cfg.accumulator or (given.acc if given else NATURAL_ACCUMULATOR[cfg.a.dtype])
    update["accumulator"] = accumulator
    d = _output(cfg.d, NATURAL_OUTPUT[cfg.a.dtype], "n")
    update["d"] = d
    c = _output(cfg.c, d.dtype or "f32", d.major or "n")
    same = (c.dtype, c.major) == (d.dtype, d.major)
    rows_alike = same or cfg.mainloop == "collective"  # which loads C in bulk, too
    align = cfg.c.align or (d.align if rows_alike else dtype(c.dtype or "f32").bytes)
    update["c"] = c.model_copy(update={"align": align})
    filled = cfg.model_copy(update=update)
    return filled.model_copy(update={"mainloop": cfg.mainloop or _mainloop(filled, accumulator)})


def _mainloop(cfg: GemmConfig, accumulator: DTypeName) -> MainloopName:
    """Warpgroup MMA where it works; CUDA cores only where there is no tensor-core operation for the types."""
    if (
        cfg.schedule == "warp_specialized"
        or cfg.scheduler.kind == "stream_k"
        or cfg.fast_accumulation is False
    ):
        return "collective"  # which alone has it
    if prefers_wgmma(cfg):
        return "tma_wgmma"
    given = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if given is not None:
        return "simt" if given.is_simt else "multistage"
    kinds = {
        atom.is_simt
        for atom in MMA_ATOMS.values()
        if (atom.a, atom.b, atom.acc) == (cfg.a.dtype, cfg.b.dtype, accumulator)
        and atom.min_cc <= arch(cfg.arch).cc
    }
    return "simt" if kinds == {True} else "multistage"


def _output(out: Output, natural: DTypeName, major: str) -> Output:
    return out.model_copy(
        update={
            "dtype": out.dtype or natural,
            "major": out.major or major,
            "align": out.align or 16,
        }
    )
