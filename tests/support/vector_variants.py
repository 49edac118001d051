"""Configs with scales and bias for the mainloops other than ``tma_wgmma``."""

from __future__ import annotations

from cutegen.config import GemmConfig
from tests.support.cases import config

__all__ = ["VECTOR_VARIANTS"]

_S8 = {"a.dtype": "s8", "b.dtype": "s8"}
_ALL = {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}
_SCALES = {"epilogue": {"scale_a": "row", "scale_b": "column"}}

VECTOR_VARIANTS: dict[str, GemmConfig] = {
    "smem": config(_S8 | {"d.dtype": "f16"} | _ALL, tile=(64, 96, 64)),
    "m_major": config({"d.major": "m", "a.major": "m"} | _ALL, tile=(64, 64, 32)),
    "unaligned": config({"d.align": 2, "c.align": 2} | _ALL, tile=(64, 48, 32)),
    "f16_in_f16": config(_SCALES, tile=(64, 64, 32), accumulator="f16"),
    "s8_to_s8": config(_S8 | {"d.dtype": "s8"} | _ALL, tile=(64, 64, 64)),
    "s8_to_s32": config(_S8 | _ALL, tile=(64, 64, 64)),
    "one_stage": config({"epilogue": {"scale_a": "tensor", "bias": "column"}}, tile=(64, 64, 32), stages=1),
    "permuted": config(
        _ALL | {"tiled_mma.permutation": [{"shape": [16, 2], "stride": [2, 1]}, 32, 16]},
        tile=(64, 64, 32),
    ),
    "direct": config(
        {"epilogue": {"scale_b": "column", "bias": "column"}}, tile=(64, 64, 32), mainloop="direct"
    ),
    "simt": config({"a.dtype": "f32", "b.dtype": "f32"} | _ALL, tile=(64, 32, 16), mainloop="simt"),
    "f64": config({"a.dtype": "f64", "b.dtype": "f64"} | _ALL, tile=(32, 32, 16)),
    "tensors": config({"epilogue": {"scale_a": "tensor", "scale_b": "tensor"}}, tile=(64, 64, 32)),
    "bias": config({"epilogue": {"bias": "column"}}, tile=(64, 64, 32)),
}  # fmt: skip
