"""A config for tensors that are less aligned than a kernel's config says."""

from __future__ import annotations

from typing import Any

from cutegen.config import CopyG2S, Epilogue, GemmConfig, Scheduler
from cutegen.signature import Signature
from cutegen.vectors import VECTOR_NAMES

__all__ = ["narrowed"]


def narrowed(config: GemmConfig, signature: Signature, a: Any, b: Any, c: Any, out: Any) -> GemmConfig:
    """The config with alignments lowered to what the tensors of a call allow; the same config if none is.

    The copies of a lowered operand are left to be resolved anew; bulk copies, which need 16 bytes, give
    way to the multistage mainloop or, for D, to stores from registers.
    """
    update: dict[str, Any] = {}
    for matrix, tensor in ((signature.a, a), (signature.b, b), (signature.c, c), (signature.d, out)):
        if matrix is None:
            continue
        align = matrix.alignment(0 if tensor is None else tensor.data_ptr())
        if align < matrix.wanted.align:
            field = matrix.wanted.field
            update[field] = getattr(config, field).model_copy(update={"align": align})
    if not update:
        return config
    if config.mainloop in ("tma_wgmma", "collective"):
        return _without_bulk_copies(config, update)
    copies = {field: CopyG2S() for field in update if field in ("a", "b")}
    return config.model_copy(update={**update, "g2s": config.g2s.model_copy(update=copies)})


def _without_bulk_copies(config: GemmConfig, update: dict[str, Any]) -> GemmConfig:
    """A config of a mainloop of bulk copies, with lowered alignments."""
    if "a" not in update and "b" not in update:
        bulk = ("c", "d") if config.mainloop == "collective" else ("d",)  # what the epilogue moves in bulk
        if not update.keys().isdisjoint(bulk):
            update["epilogue"] = config.epilogue.model_copy(update={"store": None, "overlap": None})
        return config.model_copy(update=update)
    kept = ("a", "b", "c", "d", "accumulator", "limits")
    fields = {name: update.get(name, getattr(config, name)) for name in kept}
    for name in ("a", "b"):
        fields[name] = fields[name].model_copy(update={"cache": None, "constant": None})
    raster = Scheduler(raster=config.scheduler.raster, group=config.scheduler.group)
    vectors = {name: getattr(config.epilogue, name) for name in VECTOR_NAMES}
    return GemmConfig(
        arch=config.arch, mainloop="multistage", scheduler=raster, epilogue=Epilogue(**vectors), **fields
    )
