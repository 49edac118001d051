"""Configs of ``collective`` with the stages and the bytes of shared memory that CUTLASS 4.2 gives them."""

from __future__ import annotations

from typing import Any

from cutegen.config import GemmConfig
from tests.support.rule_cases_collective import collective

__all__ = ["MEMORY"]

_F16 = {"a.dtype": "f16", "b.dtype": "f16"}
_E4M3 = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
_S8 = {"a.dtype": "s8", "b.dtype": "s8"}
_TF32 = {"a.dtype": "tf32", "b.dtype": "tf32"}
_ROWS = {"epilogue.scale_a": "row"}
_COLUMNS = {"epilogue.scale_b": "column", "epilogue.bias": "column"}
_DIRECT: dict[str, Any] = {"epilogue.store": "direct"}


def _pingpong(patches: dict[str, Any], tile: list[int], **top: Any) -> GemmConfig:
    return collective(patches, tile=tile, schedule="pingpong", **top)


def _single(patches: dict[str, Any], tile: list[int], **top: Any) -> GemmConfig:
    return collective(patches, tile=tile, schedule="warp_specialized", **top)


#: Read from PTX of the builders' types: tests/compile/test_collective_nvcc.py does so.
MEMORY: dict[str, tuple[GemmConfig, int, int]] = {
    "cooperative": (collective(), 4, 230400),
    "pingpong": (_pingpong({}, [64, 128, 64]), 8, 214016),
    "single": (_single({}, [128, 128, 64]), 6, 197120),
    "f32_out": (collective({"d.dtype": "f32"}, schedule="cooperative", tile=[128, 64, 64]), 7, 223232),
    "m_major": (_pingpong(_F16 | {"d.major": "m"}, [64, 96, 64]), 10, 219136),
    "e4m3": (_pingpong(_E4M3, [64, 128, 128]), 8, 214016),
    "e4m3_to_e4m3": (_pingpong(_E4M3 | {"d.dtype": "e4m3"}, [64, 64, 128]), 13, 222208),
    "s8": (_pingpong(_S8, [128, 128, 128]), 6, 231424),
    "tf32": (_pingpong(_TF32, [128, 128, 32]), 6, 231424),
    "direct": (_pingpong(_DIRECT, [128, 128, 64]), 7, 229760),
    "single_direct": (_single(_DIRECT, [64, 128, 64]), 9, 221440),
    "three_stages": (_pingpong(_DIRECT, [64, 128, 64], stages=3), 3, 73984),
    "stream_k": (collective({"scheduler.kind": "stream_k"}, tile=[128, 128, 64]), 6, 230400),
    "other_c": (_pingpong({"c.dtype": "f32"}, [128, 128, 64], cluster=[2, 1, 1]), 5, 206848),
    "mn_major": (_pingpong(_F16 | {"a.major": "m", "b.major": "n"}, [128, 96, 48]), 9, 210944),
    "c_of_other_major": (_pingpong({"c.major": "m"}, [128, 64, 64]), 8, 215040),
    "narrow": (_pingpong(_E4M3 | {"b.dtype": "e5m2", "d.dtype": "f16"}, [64, 16, 64]), 44, 230656),
    "rows": (_pingpong(_E4M3 | _ROWS, [64, 128, 128]), 8, 214016),
    "columns": (_pingpong(_E4M3 | _ROWS | _COLUMNS, [64, 128, 128]), 8, 214528),
    "columns_alone": (
        collective(_S8 | _COLUMNS | {"epilogue.scale_a": "tensor"}, tile=[128, 240, 128]),
        4,
        223744,
    ),
    "single_columns": (_single(_F16 | _COLUMNS | {"d.major": "m"}, [64, 24, 128]), 9, 203776),
    "odd_columns": (_pingpong(_E4M3 | _COLUMNS | {"d.dtype": "e4m3"}, [64, 48, 128]), 15, 220928),
}
