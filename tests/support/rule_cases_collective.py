"""The same for the rules of ``collective``; each was also given to nvcc, see docs/collective.md."""

from __future__ import annotations

from typing import Any

from cutegen.config import GemmConfig
from tests.support.case import Case
from tests.support.cases import config

__all__ = ["COLLECTIVE_CASES", "collective"]


def collective(patches: dict[str, Any] | None = None, **top: Any) -> GemmConfig:
    """A bf16 config of ``collective``, patched."""
    types = {"a.dtype": "bf16", "b.dtype": "bf16"}
    return config(types | (patches or {}), **({"arch": "sm_90a", "mainloop": "collective"} | top))


_S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}
_E4M3: dict[str, Any] = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
_SMALL: dict[str, Any] = {"tile": [64, 128, 64]}
_LARGE: dict[str, Any] = {"tile": [128, 256, 64]}

COLLECTIVE_CASES = [
    Case("collective-arch", collective(arch="sm_80"), collective(), "arch", ("sm_90a",)),
    Case("collective-types", collective({"b.dtype": "f16"}), collective(), "b.dtype", ("b.dtype: bf16",)),
    Case("collective-types", collective(accumulator="f16"), collective(accumulator="f32"), "accumulator"),
    Case("collective-types", collective({"a.dtype": "f32", "b.dtype": "f32"}), collective(), "a.dtype"),
    Case("collective-types", collective(arch="sm_120a"), collective(_E4M3, arch="sm_120a"), "a.dtype"),
    Case("collective-major", collective(_S8 | {"a.major": "m"}), collective({"a.major": "m"}), "a.major"),
    Case("collective-major", collective(_E4M3 | {"b.major": "n"}), collective({"b.major": "n"}), "b.major"),
    Case("collective-align", collective({"a.align": 8}), collective({"a.align": 16}), "a.align"),
    Case(
        "collective-schedule",
        collective(arch="sm_100a", schedule="pingpong"),
        collective(arch="sm_100a"),
        "schedule",
    ),
    Case(
        "collective-scheduler",
        collective({"scheduler.kind": "stream_k"}, schedule="pingpong", tile=[128, 128, 64]),
        collective({"scheduler.kind": "stream_k"}, schedule="cooperative", **_LARGE),
        "scheduler.kind",
        ("schedule: cooperative",),
    ),
    Case(
        "collective-scheduler",
        collective({"scheduler.kind": "persistent"}, schedule="warp_specialized", **_SMALL),
        collective({"scheduler.kind": "static"}, schedule="warp_specialized", **_SMALL),
        "scheduler.kind",
    ),
    Case(
        "collective-raster",
        collective({"scheduler.group": 3}),
        collective({"scheduler.group": 4}),
        "scheduler.group",
        ("1, 2, 4 or 8",),
    ),
    Case(
        "collective-raster",
        collective({"scheduler.raster": "n"}, schedule="warp_specialized", **_SMALL),
        collective({"scheduler.raster": "n"}, schedule="pingpong", **_SMALL),
        "scheduler.raster",
    ),
    Case(
        "collective-fast-accumulation",
        collective(fast_accumulation=False),
        collective(_E4M3, fast_accumulation=False),
        "fast_accumulation",
    ),
    Case(
        "collective-tile",
        collective(schedule="cooperative", **_SMALL),
        collective(schedule="pingpong", **_SMALL),
        "tile",
        ("multiple of 128",),
    ),
    Case("collective-tile", collective(tile=[96, 128, 64]), collective(tile=[64, 128, 64]), "tile"),
    Case("collective-tile", collective(tile=[64, 100, 64]), collective(tile=[64, 96, 64]), "tile"),
    Case("collective-tile", collective(tile=[64, 264, 64]), collective(tile=[128, 256, 64]), "tile"),
    Case("collective-tile", collective(tile=[64, 128, 24]), collective(tile=[64, 128, 32]), "tile"),
    Case(
        "collective-tile",
        collective(arch="sm_100a", tile=[256, 128, 64]),
        collective(arch="sm_100a", tile=[256, 128, 64], cluster=[2, 1, 1]),
        "tile",
    ),
    Case(
        "collective-swizzle", collective(tile=[64, 40, 64]), collective(tile=[64, 48, 64]), "tile", ("1024",)
    ),
    Case(
        "collective-store",
        collective({"d.align": 4, "c.align": 16, "epilogue.store": "tma"}),
        collective({"d.align": 4, "c.align": 16, "epilogue.store": "direct"}),
        "d.align",
    ),
    Case(
        "collective-store",
        collective({"epilogue.store": "smem"}),
        collective({"epilogue.store": "tma"}),
        "epilogue.store",
    ),
    Case(
        "collective-store",
        collective(_S8 | {"d.dtype": "s8"}, tile=[64, 8, 128]),
        collective(_S8 | {"d.dtype": "s8"}, tile=[64, 16, 128]),
        "tile",
    ),
    Case(
        "collective-store",
        collective(_S8 | {"d.dtype": "f64", "c.dtype": "s32"}),
        collective(_S8 | {"d.dtype": "f32", "c.dtype": "s32"}),
        "d.dtype",
    ),
    Case("collective-cluster", collective(cluster=[4, 4, 1]), collective(cluster=[4, 2, 1]), "cluster"),
    Case(
        "collective-slices",
        collective(tile=[128, 48, 64], cluster=[5, 1, 1]),
        collective(tile=[128, 48, 64], cluster=[8, 1, 1]),
        "cluster",
    ),
    Case("collective-smem", collective(stages=1), collective(stages=2), "stages"),
    Case(
        "collective-smem",
        collective(stages=5, **_LARGE),
        collective(stages=4, **_LARGE),
        "stages",
        ("stages: 4",),
    ),
    Case("collective-smem", collective(tile=[128, 256, 256]), collective(tile=[128, 256, 128]), "tile"),
    Case(
        "collective-registers",
        collective(schedule="pingpong", **_LARGE),
        collective(schedule="cooperative", **_LARGE),
        "tile",
        ("schedule: cooperative",),
    ),
    Case(
        "collective-registers",
        collective(_E4M3, tile=[128, 256, 128], fast_accumulation=False),
        collective(_E4M3, tile=[128, 256, 128], fast_accumulation=True),
        "tile",
    ),
    Case(
        "collective-vectors",
        collective(_E4M3 | {"epilogue": {"store": "direct", "bias": "column"}}),
        collective(_E4M3 | {"epilogue": {"store": "tma", "bias": "column"}}),
        "epilogue.bias",
        ("epilogue.store: tma",),
    ),
    Case(
        "collective-vectors",
        collective({"d.align": 4, "epilogue.scale_a": "row"}, tile=[64, 128, 64]),
        collective({"d.align": 16, "epilogue.scale_a": "row"}, tile=[64, 128, 64]),
        "epilogue.scale_a",
        ("leave epilogue.scale_a out",),
    ),
    Case(
        "collective-unused-fields",
        collective({"tiled_mma.layout": [2, 1, 1]}),
        collective(),
        "tiled_mma.layout",
    ),
    Case(
        "tma-wgmma-choices",
        collective(mainloop="tma_wgmma", schedule="warp_specialized", **_SMALL),
        collective(mainloop="collective", schedule="warp_specialized", **_SMALL),
        "schedule",
        ("mainloop: collective",),
    ),
    Case(
        "tma-wgmma-choices",
        collective(_E4M3, mainloop="tma_wgmma", fast_accumulation=False),
        collective(_E4M3, mainloop="tma_wgmma", fast_accumulation=True),
        "fast_accumulation",
    ),
    Case(
        "tma-wgmma-only",
        collective({"scheduler.kind": "stream_k"}, mainloop="multistage"),
        collective({"scheduler.kind": "stream_k"}),
        "scheduler.kind",
        ("mainloop tma_wgmma or collective",),
    ),
]
