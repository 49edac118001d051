"""Configs of ``tma_wgmma`` that between them take every path through its templates."""

from __future__ import annotations

from typing import Any

from cutegen.config import GemmConfig
from tests.support.rule_cases_wgmma import hopper

__all__ = ["IN_GLOBAL_MEMORY", "VARIANTS"]


def _split(count: int, patches: dict[str, Any] | None = None, **top: Any) -> GemmConfig:
    return hopper({"scheduler.split_k": count} | (patches or {}), **top)


def _semaphore(count: int, patches: dict[str, Any] | None = None, **top: Any) -> GemmConfig:
    return _split(count, {"scheduler.reduction": "semaphore"} | (patches or {}), **top)


def _stream(patches: dict[str, Any] | None = None, **top: Any) -> GemmConfig:
    return hopper({"scheduler.kind": "stream_k"} | (patches or {}), **top)


def _types(a: str, b: str | None = None, **more: Any) -> dict[str, Any]:
    return {"a.dtype": a, "b.dtype": b or a} | more


F16_OUT = {"d.dtype": "f16"}
OUT_BF16 = {"d.dtype": "bf16"}
SCALES = {"epilogue": {"scale_a": "row", "scale_b": "column"}}
OVERLAP = {"epilogue.overlap": True}
M_MAJOR = _types("tf32", **{"a.major": "m"})
N_MAJOR = _types("tf32", **{"b.major": "n"})
ALL_VECTORS = {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}
VARIANTS: dict[str, GemmConfig] = {
    "pingpong_odd_columns": hopper(tile=[128, 176, 64]),
    "pingpong_64_rows": hopper(tile=[64, 128, 64], schedule="pingpong"),
    "pingpong_cluster": hopper(tile=[128, 128, 64], cluster=[2, 1, 1], schedule="pingpong"),
    "cluster_of_four": hopper(tile=[128, 128, 64], cluster=[2, 2, 1]),
    "cluster_along_n": hopper({"a.major": "m", "b.major": "n"}, tile=[128, 128, 64], cluster=[1, 2, 1]),
    "cluster_of_four_along_m": hopper(tile=[64, 64, 64], cluster=[4, 1, 1]),
    "three_consumers": hopper({"a.major": "m"}, tile=[192, 96, 128]),
    "along_n": hopper({"tiled_mma.layout": [1, 2, 1]}, tile=[64, 256, 64]),
    "three_consumers_wide": hopper({"tiled_mma.layout": [3, 1, 1]}, tile=[192, 200, 64]),
    "more_than_a_box": hopper(tile=[384, 64, 64]),
    "narrow_panels": hopper({"b.major": "n"}, tile=[64, 48, 32]),
    "two_panels_of_k": hopper(tile=[128, 64, 128]),
    "narrowest": hopper(tile=[64, 8, 64]),
    "two_atoms": hopper({"scheduler.group": 2}, tile=[256, 200, 64]),
    "two_atoms_to_f32": hopper({"d.dtype": "f32"}, tile=[256, 168, 64]),
    "two_stages": hopper(tile=[128, 128, 64], stages=2),
    "m_major": hopper({"d.major": "m"}, tile=[128, 128, 64]),
    "m_major_odd_columns": hopper({"d.major": "m"}, tile=[192, 72, 64]),
    "m_major_along_n": hopper({"d.major": "m", "tiled_mma.layout": [1, 2, 1]}, tile=[128, 96, 64]),
    "m_major_direct": hopper({"d.major": "m", "d.dtype": "f32"}, tile=[128, 128, 64]),
    "m_major_direct_atoms": hopper({"d.major": "m", "d.dtype": "f32"}, tile=[256, 200, 64]),
    "unaligned_output": hopper({"d.align": 2, "c.align": 2}, tile=[128, 128, 64]),
    "f16_in_f16": hopper(_types("f16"), accumulator="f16", tile=[192, 96, 64]),
    "f16_to_f32": hopper(_types("f16", **{"d.dtype": "f32"}), tile=[128, 200, 64]),
    "five_chunks": hopper(_types("tf32"), tile=[128, 136, 32], schedule="pingpong"),
    "tf32_to_tf32": hopper(_types("tf32", **{"d.dtype": "tf32"}), tile=[64, 64, 32]),
    "tf32": hopper(_types("tf32"), tile=[128, 256, 32]),
    "registers": hopper(M_MAJOR, tile=[128, 256, 32]),
    "registers_pingpong": hopper(M_MAJOR, tile=[128, 96, 32], schedule="pingpong", stages=3),
    "registers_three_consumers": hopper(M_MAJOR, tile=[192, 72, 32], stages=2),
    "registers_along_n": hopper(M_MAJOR | {"tiled_mma.layout": [1, 2, 1]}, tile=[64, 128, 64]),
    "registers_atoms": hopper(M_MAJOR | {"d.major": "m"}, tile=[192, 40, 32], cluster=[1, 2, 1]),
    "registers_cluster": hopper(M_MAJOR, tile=[64, 64, 64], cluster=[2, 2, 1]),
    "registers_one_set": hopper(M_MAJOR, tile=[64, 64, 8]),
    "registers_two_sets": hopper(M_MAJOR, tile=[64, 48, 16], schedule="pingpong"),
    "registers_three_sets": hopper(M_MAJOR, tile=[64, 64, 24], stages=5),
    "registers_scaled": hopper(M_MAJOR | OUT_BF16 | ALL_VECTORS, tile=[128, 64, 32], schedule="pingpong"),
    "registers_overlap": hopper(M_MAJOR | OUT_BF16 | OVERLAP, tile=[128, 128, 32]),
    "swapped_registers": hopper(N_MAJOR, tile=[48, 128, 32]),
    "swapped_registers_pingpong": hopper(N_MAJOR | OUT_BF16, tile=[64, 64, 64], schedule="pingpong"),
    "swapped_registers_m_major": hopper(N_MAJOR | {"d.major": "m"}, tile=[128, 64, 32], swap_ab=True),
    "split_registers": _split(2, M_MAJOR, tile=[64, 64, 32], cluster=[2, 1, 1]),
    "swapped_registers_pdl": hopper(N_MAJOR | {"b.constant": True}, tile=[16, 64, 64], pdl=True),
    "stream_k_registers": _stream(M_MAJOR, tile=[64, 64, 32], schedule="pingpong"),
    "stream_k_swapped_registers": _stream(N_MAJOR, tile=[16, 64, 32]),
    "semaphore_registers": _semaphore(3, M_MAJOR, tile=[128, 64, 32], cluster=[1, 2, 1]),
    "e5m2_e4m3": hopper(_types("e5m2", "e4m3") | F16_OUT, accumulator="f16", tile=[256, 128, 256]),
    "s8_u8": hopper(_types("s8", "u8"), tile=[128, 80, 64]),
    "s8_to_s8": hopper(_types("s8", **{"d.dtype": "s8"}), tile=[192, 192, 128]),
    "overlap": hopper(OVERLAP, tile=[128, 128, 64]),
    "overlap_odd_columns": hopper(OVERLAP, tile=[192, 176, 64]),
    "overlap_hints": hopper(
        OVERLAP | {"a.cache": "evict_last", "b.cache": "evict_first"}, tile=[128, 256, 64]
    ),
    "overlap_narrow": hopper(OVERLAP, tile=[64, 24, 64]),
    "overlap_cluster": hopper(OVERLAP, tile=[128, 256, 64], cluster=[2, 1, 1]),
    "overlap_two_atoms": hopper(OVERLAP | {"tiled_mma.layout": [1, 1, 1]}, tile=[128, 72, 64]),
    "overlap_f16_in_f16": hopper(_types("f16", **OVERLAP), accumulator="f16", tile=[192, 96, 64]),
    "overlap_swapped": hopper({"d.major": "m"} | OVERLAP, tile=[64, 128, 64], swap_ab=True),
    "overlap_scaled": hopper(
        _types("e4m3", **OUT_BF16, epilogue={"overlap": True, **ALL_VECTORS["epilogue"]}),
        tile=[128, 256, 128],
    ),
    "row_scales": hopper({"epilogue": {"scale_a": "row", "bias": "column"}}, tile=[128, 176, 64]),
    "s8_scaled": hopper(_types("s8", **OUT_BF16, **ALL_VECTORS), tile=[128, 192, 128]),
    "scaled_m_major": hopper({"d.major": "m", **ALL_VECTORS}, tile=[192, 72, 64]),
    "scaled_direct": hopper(
        _types("e4m3", **OUT_BF16, **ALL_VECTORS, **{"d.align": 2}), tile=[128, 256, 128]
    ),
    "scaled_along_n": hopper(
        {"tiled_mma.layout": [1, 2, 1], **SCALES}, tile=[64, 256, 64], cluster=[1, 2, 1]
    ),
    "scaled_f16_in_f16": hopper(_types("f16", **SCALES), accumulator="f16", tile=[192, 96, 64]),
    "scaled_to_s32": hopper(_types("s8", **ALL_VECTORS), tile=[64, 96, 128]),
    "scaled_to_e4m3": hopper(_types("e4m3", **{"d.dtype": "e4m3"}, **ALL_VECTORS), tile=[64, 64, 64]),
    "tensor_scales": hopper(
        _types("e4m3", **{"epilogue": {"scale_a": "tensor", "scale_b": "tensor"}}), tile=[64, 128, 128]
    ),
    "promoted": hopper(_types("e4m3", **OUT_BF16, **SCALES), tile=[128, 128, 128], promote=128),
    "promoted_one_set": hopper(_types("e5m2", "e4m3", **OUT_BF16), tile=[128, 192, 64], promote=64),
    "promoted_pingpong": hopper(
        _types("e4m3", **OUT_BF16), tile=[64, 128, 128], promote=128, schedule="pingpong", cluster=[2, 1, 1]
    ),
    "swapped_8_rows": hopper(tile=[8, 64, 256], swap_ab=True),
    "swapped_16_rows": hopper(tile=[16, 64, 128]),
    "swapped_two_consumers": hopper(tile=[64, 128, 64], swap_ab=True),
    "swapped_pingpong": hopper(tile=[24, 64, 64], schedule="pingpong"),
    "swapped_cluster": hopper({"a.major": "m", "b.major": "n"}, tile=[32, 64, 64], cluster=[1, 2, 1]),
    "swapped_m_major": hopper({"d.major": "m"}, tile=[64, 64, 64], swap_ab=True),
    "swapped_direct": hopper({"d.dtype": "f32", "c.dtype": "bf16", "c.major": "m"}, tile=[16, 128, 64]),
    "swapped_unaligned_output": hopper({"d.align": 2, "c.align": 2}, tile=[32, 64, 64]),
    "swapped_s8": hopper(_types("s8"), tile=[24, 64, 128]),
    "swapped_e5m2_e4m3": hopper(_types("e5m2", "e4m3") | F16_OUT, accumulator="f16", tile=[16, 64, 256]),
    "swapped_raster": hopper({"scheduler.raster": "n", "scheduler.group": 2}, tile=[8, 64, 64]),
    "swapped_scaled": hopper(_types("e4m3", **OUT_BF16, **ALL_VECTORS), tile=[16, 64, 128]),
    "swapped_scaled_m_major": hopper({"d.major": "m", **ALL_VECTORS}, tile=[64, 128, 64], swap_ab=True),
    "swapped_scaled_direct": hopper(_types("s8", **ALL_VECTORS), tile=[24, 64, 128]),
    "swapped_bias": hopper({"epilogue": {"bias": "column"}}, tile=[8, 128, 64]),
    "swapped_row_scales": hopper({"epilogue": {"scale_a": "row", "scale_b": "tensor"}}, tile=[32, 64, 64]),
    "split_swapped_scaled": _split(
        2, _types("e4m3", **OUT_BF16, **ALL_VECTORS, **{"b.constant": True}), tile=[16, 64, 256], pdl=True
    ),
    "split_in_two": _split(2, tile=[64, 64, 64]),
    "split_in_eight": _split(8, {"d.dtype": "f32"}, tile=[64, 16, 64]),
    "split_in_three_static": _split(3, {"scheduler.kind": "static"}, tile=[16, 64, 128]),
    "split_pingpong": _split(2, tile=[64, 64, 64], schedule="pingpong"),
    "split_cluster": _split(2, tile=[64, 64, 64], cluster=[2, 2, 1]),
    "split_swapped_cluster": _split(3, tile=[32, 128, 64], cluster=[1, 2, 1], swap_ab=True),
    "split_two_consumers": _split(2, {"d.major": "m"}, tile=[128, 72, 64]),
    "split_f16_in_f16": _split(2, _types("f16"), accumulator="f16", tile=[64, 24, 64]),
    "split_s8": _split(4, _types("s8"), tile=[16, 64, 128]),
    "pdl_b_ahead": hopper({"b.constant": True, "b.cache": "evict_first"}, tile=[16, 64, 256], pdl=True),
    "pdl_a_ahead": hopper({"a.constant": True, "a.cache": "evict_last"}, tile=[64, 128, 64], pdl=True),
    "pdl_both_ahead": hopper({"a.constant": True, "b.constant": True}, tile=[64, 128, 64], pdl=True),
    "pdl_split_cluster": _split(2, {"b.constant": True}, tile=[16, 64, 64], cluster=[1, 2, 1], pdl=True),
    "pdl_in_order": hopper(tile=[128, 128, 64], pdl=True),
    "split_scaled": _split(2, _types("e4m3", **OUT_BF16, **ALL_VECTORS), tile=[64, 64, 128], pdl=True),
    "split_promoted": _split(2, _types("e4m3", **OUT_BF16, **SCALES), tile=[64, 128, 128], promote=128),
    "stream_k": _stream(tile=[64, 64, 64]),
    "stream_k_two_consumers": _stream({"scheduler.raster": "n", "scheduler.group": 2}, tile=[128, 72, 64]),
    "stream_k_along_n": _stream({"tiled_mma.layout": [1, 2, 1], "d.major": "m"}, tile=[64, 96, 64]),
    "stream_k_pingpong": _stream(tile=[64, 64, 64], schedule="pingpong"),
    "stream_k_pingpong_wide": _stream(tile=[128, 192, 64], schedule="pingpong"),
    "stream_k_cluster": _stream(tile=[64, 64, 64], cluster=[2, 1, 1]),
    "stream_k_swapped": _stream(tile=[16, 64, 64]),
    "stream_k_pdl": _stream({"b.constant": True}, tile=[16, 64, 64], cluster=[1, 2, 1], pdl=True),
    "stream_k_promoted": _stream(_types("e4m3", **OUT_BF16, **SCALES), tile=[128, 128, 64], promote=64),
    "stream_k_f16_in_f16": _stream(_types("f16"), accumulator="f16", tile=[64, 24, 64]),
    "stream_k_s8": _stream(_types("s8"), tile=[64, 64, 32]),
    "stream_k_direct": _stream({"d.align": 2, "c.align": 2}, tile=[128, 128, 64]),
    "semaphore_in_two": _semaphore(2, tile=[64, 64, 64]),
    "semaphore_in_twelve": _semaphore(12, tile=[64, 16, 64]),
    "semaphore_pingpong": _semaphore(3, tile=[64, 64, 64], schedule="pingpong"),
    "semaphore_swapped_pdl": _semaphore(4, {"b.constant": True}, tile=[16, 64, 64], pdl=True),
    "semaphore_cluster": _semaphore(3, tile=[64, 64, 64], cluster=[2, 2, 1]),
    "semaphore_s8": _semaphore(4, _types("s8"), tile=[16, 64, 128]),
    "semaphore_f16_in_f16": _semaphore(2, _types("f16"), accumulator="f16", tile=[64, 24, 64]),
    "semaphore_scaled": _semaphore(2, _types("e4m3", **OUT_BF16, **ALL_VECTORS), tile=[64, 64, 128]),
    "swapped_promoted": hopper(_types("e4m3", **OUT_BF16), tile=[16, 64, 128], swap_ab=True, promote=128),
    "static": hopper({"scheduler.kind": "static", "scheduler.raster": "n", "scheduler.group": 2}),
}  # fmt: skip

#: Those whose CTAs sum in global memory.
IN_GLOBAL_MEMORY = tuple(name for name in VARIANTS if name.startswith(("stream_k", "semaphore")))
