"""The same for the rules of ``tma_wgmma``."""

from __future__ import annotations

from typing import Any

from cutegen.config import GemmConfig
from tests.support.case import Case
from tests.support.cases import config

__all__ = ["WGMMA_CASES", "hopper"]


def hopper(patches: dict[str, Any] | None = None, **top: Any) -> GemmConfig:
    """A bf16 config of ``tma_wgmma``, patched."""
    types = {"a.dtype": "bf16", "b.dtype": "bf16"}
    return config(types | (patches or {}), **({"arch": "sm_90a", "mainloop": "tma_wgmma"} | top))


_S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}
_TF32: dict[str, Any] = {"a.dtype": "tf32", "b.dtype": "tf32"}
_E4M3: dict[str, Any] = {"a.dtype": "e4m3", "b.dtype": "e4m3", "d.dtype": "bf16"}
_SEMAPHORE: dict[str, Any] = {"scheduler.split_k": 2, "scheduler.reduction": "semaphore"}
_OVERLAP: dict[str, Any] = {"epilogue.overlap": True}
_N_MAJOR: dict[str, Any] = {"b.major": "n"}
_ROWS_SHARED: dict[str, Any] = {"tiled_mma.layout": [2, 1, 1]}

WGMMA_CASES = [
    Case("wgmma-arch", hopper(arch="sm_80"), hopper(), "arch", ("sm_90a",)),
    *(
        Case("overlap", hopper(bad | _OVERLAP, **top), hopper(_OVERLAP), "epilogue.overlap", (word,))
        for bad, top, word in (
            ({}, {"schedule": "pingpong"}, "schedule: cooperative"),
            ({"scheduler.kind": "static"}, {}, "scheduler.kind: persistent"),
            ({"scheduler.kind": "stream_k"}, {}, "epilogue.overlap: false"),
            ({"scheduler.split_k": 2}, {"tile": [64, 64, 64]}, "epilogue.overlap: false"),
            ({"epilogue.store": "direct"}, {}, "epilogue.store: tma"),
            ({"d.align": 2, "c.align": 2}, {}, "d.align: 16"),
            ({"d.dtype": "f32"}, {}, "bf16, major: n"),
            ({"d.major": "m"}, {}, "bf16, major: n"),
        )
    ),
    Case("overlap", hopper(_E4M3 | _OVERLAP, promote=128), hopper(_E4M3 | _OVERLAP), "epilogue.overlap"),
    Case("wgmma-types", hopper({"b.dtype": "f16"}), hopper(), "b.dtype", ("b.dtype: bf16",)),
    Case("wgmma-types", hopper(accumulator="f16"), hopper(accumulator="f32"), "accumulator"),
    Case(
        "wgmma-major",
        hopper(_S8 | _N_MAJOR, tile=[128, 128, 128]),
        hopper(_S8, tile=[128, 128, 128]),
        "b.major",
        ("K-major only",),
    ),
    Case("wgmma-major", hopper(_S8 | {"a.major": "m"}), hopper({"a.major": "m"}), "a.major"),
    Case(
        "wgmma-major",
        hopper(_S8 | _N_MAJOR, tile=[64, 64, 64], swap_ab=True),
        hopper(_S8, tile=[64, 64, 64], swap_ab=True),
        "b.major",
        ("wgmma reads B of 8 bits K-major only", "use b.major: k"),
    ),
    Case(
        "wgmma-major",
        hopper(_TF32 | _N_MAJOR | {"a.major": "m"}),
        hopper(_TF32 | {"a.major": "m"}),
        "b.major",
        ("unless A is K-major", "use b.major: k"),
    ),
    Case(
        "wgmma-major",
        hopper(_TF32 | _N_MAJOR, swap_ab=False),
        hopper(_TF32 | _N_MAJOR),
        "b.major",
        ("unless it passes through registers", "or swap_ab: true"),
    ),
    Case(
        "wgmma-major",
        hopper(_TF32 | {"a.major": "m"}, tile=[64, 128, 32], swap_ab=True),
        hopper(_TF32 | {"a.major": "m"}, tile=[64, 128, 32]),
        "a.major",
        ("or swap_ab: false",),
    ),
    Case(
        "wgmma-layout",
        hopper({"tiled_mma.layout": [2, 1, 1]}, tile=[128, 128, 64], schedule="pingpong"),
        hopper({"tiled_mma.layout": [1, 1, 1]}, tile=[128, 128, 64], schedule="pingpong"),
        "tiled_mma.layout",
    ),
    Case(
        "wgmma-layout",
        hopper({"tiled_mma.layout": [4, 1, 1]}, tile=[256, 128, 64]),
        hopper({"tiled_mma.layout": [3, 1, 1]}, tile=[192, 128, 64]),
        "tiled_mma.layout",
    ),
    Case("wgmma-tile", hopper(tile=[96, 136, 64]), hopper(tile=[64, 136, 64]), "tile", ("multiple of 64",)),
    Case(
        "wgmma-tile",
        hopper(tile=[96, 128, 64], swap_ab=False),
        hopper(tile=[96, 128, 64]),
        "tile",
        ("swap_ab: true",),
    ),
    Case(
        "wgmma-tile",
        hopper(tile=[64, 96, 64], swap_ab=True),
        hopper(tile=[96, 64, 64], swap_ab=True),
        "tile",
        ("BLK_N must be a multiple of 64", "swap_ab: false"),
    ),
    Case("wgmma-tile", hopper(_S8, tile=[40, 64, 64]), hopper(_S8, tile=[48, 64, 64]), "tile", ("BLK_M",)),
    Case("wgmma-tile", hopper(tile=[128, 100, 64]), hopper(tile=[128, 104, 64]), "tile", ("104",)),
    Case("wgmma-tile", hopper(_S8, tile=[128, 56, 128]), hopper(_S8, tile=[128, 48, 128]), "tile"),
    Case("wgmma-tile", hopper(tile=[128, 128, 24]), hopper(tile=[128, 128, 16]), "tile", ("multiple of 16",)),
    Case(
        "wgmma-atom",
        hopper(_ROWS_SHARED | {"tiled_mma.atom": "SM90_64x128x16_F32BF16BF16_SS"}, tile=[128, 256, 64]),
        hopper(_ROWS_SHARED | {"tiled_mma.atom": "SM90_64x256x16_F32BF16BF16_SS"}, tile=[128, 256, 64]),
        "tiled_mma.atom",
        ("SM90_64x256x16_F32BF16BF16_SS",),
    ),
    Case(
        "wgmma-atom",
        hopper(
            _TF32 | {"a.major": "m", "tiled_mma.atom": "SM90_64x128x8_F32TF32TF32_SS_TN"}, tile=[64, 128, 32]
        ),
        hopper(
            _TF32 | {"a.major": "m", "tiled_mma.atom": "SM90_64x128x8_F32TF32TF32_RS_TN"}, tile=[64, 128, 32]
        ),
        "tiled_mma.atom",
        ("with A in registers", "SM90_64x128x8_F32TF32TF32_RS_TN"),
    ),
    Case(
        "wgmma-atom",
        hopper(_TF32 | {"tiled_mma.atom": "SM90_64x128x8_F32TF32TF32_RS_TN"}, tile=[64, 128, 32]),
        hopper(_TF32 | {"tiled_mma.atom": "SM90_64x128x8_F32TF32TF32_SS_TN"}, tile=[64, 128, 32]),
        "tiled_mma.atom",
    ),
    Case(
        "wgmma-panel",
        hopper(_N_MAJOR, tile=[128, 104, 64]),
        hopper(_N_MAJOR, tile=[128, 112, 64]),
        "tile",
        ("multiple of 16",),
    ),
    Case(
        "wgmma-panel",
        hopper({"a.major": "m"}, tile=[24, 64, 64]),
        hopper({"a.major": "m"}, tile=[32, 64, 64]),
        "tile",
        ("BLK_M 24 with a.major: m", "multiple of 16"),
    ),
    Case("tma-align", hopper({"a.align": 8}), hopper({"a.align": 16}), "a.align", ("multistage",)),
    Case(
        "tma-store",
        hopper({"epilogue.store": "tma", "d.major": "m", "d.dtype": "f32"}),
        hopper({"epilogue.store": "tma", "d.major": "m", "d.dtype": "f16"}),
        "epilogue.store",
    ),
    Case(
        "tma-store", hopper({"epilogue.store": "smem"}), hopper({"epilogue.store": "tma"}), "epilogue.store"
    ),
    Case(
        "tma-store", hopper({"epilogue.store": "tma", "d.align": 8}), hopper({"d.align": 8}), "epilogue.store"
    ),
    Case("cluster-size", hopper(cluster=[4, 4, 1]), hopper(cluster=[4, 2, 1]), "cluster", ("8 CTAs",)),
    Case("cluster-size", hopper(cluster=[2, 1, 2]), hopper(cluster=[2, 1, 1]), "cluster"),
    Case(
        "split-k",
        hopper({"scheduler.split_k": 5}, tile=[64, 64, 64], cluster=[2, 1, 1]),
        hopper({"scheduler.split_k": 4}, tile=[64, 64, 64], cluster=[2, 1, 1]),
        "scheduler.split_k",
        ("scheduler.split_k: 4",),
    ),
    Case(
        "split-k",
        hopper({"scheduler.split_k": 9}, tile=[64, 64, 64]),
        hopper({"scheduler.split_k": 9, "scheduler.reduction": "semaphore"}, tile=[64, 64, 64]),
        "scheduler.split_k",
        ("scheduler.reduction: semaphore",),
    ),
    Case(
        "semaphore",
        hopper({"scheduler.kind": "static"} | _SEMAPHORE, tile=[64, 64, 64]),
        hopper({"scheduler.kind": "persistent"} | _SEMAPHORE, tile=[64, 64, 64]),
        "scheduler.kind",
        ("on the GPU at once", "scheduler.kind: persistent"),
    ),
    Case(
        "semaphore",
        hopper({"scheduler.kind": "stream_k", "scheduler.split_k": 2}),
        hopper({"scheduler.kind": "stream_k"}),
        "scheduler.split_k",
        ("2 with kind: stream_k",),
    ),
    Case(
        "semaphore",
        hopper({"scheduler.kind": "stream_k", "scheduler.reduction": "cluster"}),
        hopper({"scheduler.kind": "stream_k"}),
        "scheduler.reduction",
    ),
    Case(
        "wgmma-registers",
        hopper(_TF32 | {"a.major": "m"}, tile=[128, 160, 32], schedule="pingpong"),
        hopper(_TF32 | {"a.major": "m"}, tile=[128, 152, 32], schedule="pingpong"),
        "tile",
        ("192 registers of accumulators and A per thread", "184 of a consumer's 232"),
    ),
    Case(
        "wgmma-promote",
        hopper(_TF32 | {"a.major": "m"}, tile=[64, 64, 32], promote=32),
        hopper(_TF32, tile=[64, 64, 32], promote=32),
        "promote",
        ("32 with a.major: m", "leave promote out"),
    ),
    Case(
        "wgmma-registers",
        hopper(tile=[128, 216, 64], schedule="pingpong"),
        hopper(tile=[128, 208, 64], schedule="pingpong"),
        "tile",
        ("216 registers of accumulators per thread", "at most 208", "schedule: cooperative"),
    ),
    Case(
        "wgmma-registers",
        hopper({"scheduler.kind": "stream_k"}, tile=[128, 200, 64], schedule="pingpong"),
        hopper({"scheduler.kind": "stream_k"}, tile=[128, 192, 64], schedule="pingpong"),
        "tile",
        ("192 of a consumer's 240",),
    ),
    Case(
        "wgmma-smem",
        hopper({"scheduler.split_k": 4}, tile=[128, 128, 64]),
        hopper({"scheduler.split_k": 3}, tile=[128, 128, 64]),
        "scheduler.split_k",
        ("scheduler.split_k: 3",),
    ),
    Case(
        "cluster-slices",
        hopper(cluster=[2, 1, 1], tile=[128, 136, 64]),
        hopper(cluster=[2, 1, 1], tile=[128, 144, 64]),
        "cluster",
        ("BLK_N",),
    ),
    Case("wgmma-stages", hopper(stages=1), hopper(stages=2), "stages"),
    Case(
        "wgmma-smem",
        hopper(tile=[128, 256, 64], stages=5),
        hopper(tile=[128, 256, 64], stages=4),
        "stages",
        ("stages: 4",),
    ),
    Case(
        "wgmma-registers",
        hopper({"tiled_mma.layout": [2, 1, 1]}, tile=[256, 256, 64]),
        hopper({"tiled_mma.layout": [2, 1, 1]}, tile=[256, 208, 64]),
        "tile",
    ),
    Case(
        "wgmma-registers",
        hopper({"tiled_mma.layout": [3, 1, 1]}, tile=[192, 208, 64]),
        hopper({"tiled_mma.layout": [3, 1, 1]}, tile=[192, 200, 64]),
        "tile",
        ("104 registers", "at most 102 of the 128", "tile: [192, 200, 64]"),
    ),
    Case(
        "wgmma-registers",
        hopper(_E4M3, tile=[128, 256, 128], promote=128),
        hopper(_E4M3, tile=[128, 192, 128], promote=128),
        "tile",
        ("256 registers of accumulators and sums",),
    ),
    Case(
        "wgmma-promote",
        hopper(_E4M3, tile=[128, 128, 64], promote=128),
        hopper(_E4M3, tile=[128, 128, 64], promote=64),
        "promote",
        ("promote: 64", "tile: [128, 128, 128]"),
    ),
    Case("wgmma-promote", hopper(_E4M3, promote=1000), hopper(_E4M3, promote=96), "promote", ("BLK_K, 128",)),
    Case(
        "wgmma-promote",
        hopper(_E4M3, accumulator="f16", promote=128),
        hopper(_E4M3, accumulator="f32", promote=128),
        "promote",
        ("f32",),
    ),
    Case("tma-wgmma-only", config(promote=32), config(), "promote", ("tma_wgmma",)),
    Case("wgmma-unused-fields", hopper({"s2r.a": "SM75_U32x4_LDSM_N"}), hopper(), "s2r.a"),
    Case("wgmma-unused-fields", hopper(fragment_buffers=2), hopper(), "fragment_buffers"),
    Case(
        "tma-store",
        hopper({"epilogue.store": "tma", "d.dtype": "f32"}, tile=[16, 64, 64]),
        hopper({"d.dtype": "f32"}, tile=[16, 64, 64]),
        "epilogue.store",
        ("an N-major D of swap_ab",),
    ),
    Case("tma-wgmma-only", config(swap_ab=True), config(swap_ab=False), "swap_ab", ("tma_wgmma",)),
    Case("tma-wgmma-only", config({"b.cache": "evict_first"}), config({"b.cache": "normal"}), "b.cache"),
    Case("tma-wgmma-only", config({"a.constant": True}), config({"a.constant": False}), "a.constant"),
    Case("tma-wgmma-only", config(pdl=True), config(pdl=False), "pdl"),
    Case("tma-wgmma-only", config({"scheduler.split_k": 2}), config(), "scheduler.split_k"),
    Case("tma-wgmma-only", config({"scheduler.reduction": "semaphore"}), config(), "scheduler.reduction"),
    Case("tma-wgmma-only", config(schedule="pingpong"), config(), "schedule", ("tma_wgmma",)),
    Case("tma-wgmma-only", config(cluster=[2, 1, 1]), config(cluster=[1, 1, 1]), "cluster"),
]
