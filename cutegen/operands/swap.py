"""Operands in each other's place: D^T = B * A^T, so that a small M lies along wgmma's N."""

from __future__ import annotations

from typing import Any

from cutegen.config import Epilogue, GemmConfig, Operand, Output

__all__ = ["product", "transposed"]

_MODES = {"m": "n", "n": "m"}
_KINDS = {"row": "column", "column": "row"}


def _operand(operand: Operand) -> Operand:
    return operand.model_copy(update={"major": _MODES.get(operand.major or "", operand.major)})


def _output(out: Output) -> Output:
    return out.model_copy(update={"major": _MODES.get(out.major or "", out.major)})


def _epilogue(epilogue: Epilogue) -> Epilogue:
    """Scales change places as their operands do; the bias of columns becomes one of rows."""
    scale_a, scale_b, bias = (
        _KINDS.get(kind or "", kind) for kind in (epilogue.scale_b, epilogue.scale_a, epilogue.bias)
    )
    return epilogue.model_copy(update={"scale_a": scale_a, "scale_b": scale_b, "bias": bias})


def transposed(cfg: GemmConfig) -> GemmConfig:
    """The config of D^T = B * A^T as a product of its own: A and B, M and N in each other's place.

    Twice gives the config again. What stands for operations, ``tiled_mma.atom``, stays.
    """
    update: dict[str, Any] = {
        "a": _operand(cfg.b),
        "b": _operand(cfg.a),
        "c": _output(cfg.c),
        "d": _output(cfg.d),
        "epilogue": _epilogue(cfg.epilogue),
        "scheduler": cfg.scheduler.model_copy(update={"raster": _MODES[cfg.scheduler.raster]}),
    }
    for name in ("tile", "cluster"):
        extents = getattr(cfg, name)
        if extents is not None:
            update[name] = (extents[1], extents[0], extents[2])
    layout = cfg.tiled_mma.layout
    if layout is not None:
        swapped = (layout[1], layout[0], layout[2])
        update["tiled_mma"] = cfg.tiled_mma.model_copy(update={"layout": swapped})
    return cfg.model_copy(update=update)


def product(cfg: GemmConfig) -> GemmConfig:
    """The product that the warpgroups compute: the transposed one with ``swap_ab``, else the config's own."""
    return transposed(cfg).model_copy(update={"swap_ab": None}) if cfg.swap_ab else cfg
