"""The base config of the handed cases, and configs that differ from it in a few fields."""

from __future__ import annotations

import copy
import json
from typing import Any

from cutegen.config import GemmConfig

__all__ = ["AUTO", "BASE", "M_MAJOR", "base", "config"]

AUTO = object()
"""As a value: leave the field out."""

_SMEM = {"shape": [8, 32], "stride": [32, 1], "swizzle": [2, 3, 3]}
_G2S = {
    "atom": "SM80_CP_ASYNC_CACHEGLOBAL",
    "bits": 128,
    "threads": {"shape": [32, 4], "stride": [4, 1]},
    "values": {"shape": [1, 8]},
}

#: sm_80, 128x128x32, f16 x f16 -> f32, both K-major, 2x2 warps, every field spelled out.
BASE: dict[str, Any] = {
    "arch": "sm_80",
    "mainloop": "multistage",
    "tile": [128, 128, 32],
    "stages": 3,
    "a": {"dtype": "f16", "major": "k"},
    "b": {"dtype": "f16", "major": "k"},
    "accumulator": "f32",
    "tiled_mma": {
        "atom": "SM80_16x8x16_F32F16F16F32_TN",
        "layout": [2, 2, 1],
        "permutation": [32, 32, 16],
    },
    "smem": {"a": _SMEM, "b": _SMEM},
    "g2s": {"a": _G2S, "b": _G2S},
    "s2r": {"a": "SM75_U32x4_LDSM_N", "b": "SM75_U32x4_LDSM_N"},
}

#: What makes the base config's A M-major, all the way.
M_MAJOR: dict[str, Any] = {
    "a.major": "m",
    "smem.a": {"shape": [64, 8], "stride": [1, 64], "swizzle": [3, 3, 3]},
    "g2s.a.threads": {"shape": [16, 8]},
    "g2s.a.values": {"shape": [8, 1]},
    "s2r.a": "SM75_U16x8_LDSM_T",
}


def _patched(data: dict[str, Any], patches: dict[str, Any]) -> GemmConfig:
    data = json.loads(json.dumps(data))  # without shared parts
    for path, value in patches.items():
        *parents, last = path.split(".")
        target = data
        for key in parents:
            target = target.setdefault(key, {})
        if value is AUTO:
            target.pop(last, None)
        else:
            target[last] = copy.deepcopy(value)
    return GemmConfig.model_validate(data)


def base(patches: dict[str, Any] | None = None, **fields: Any) -> GemmConfig:
    """The base config with some fields replaced, named by dotted paths."""
    return _patched(BASE, (patches or {}) | fields)


def config(patches: dict[str, Any] | None = None, **fields: Any) -> GemmConfig:
    """A config of f16 operands on sm_80 with only these fields given."""
    minimal = {"arch": "sm_80", "a": {"dtype": "f16"}, "b": {"dtype": "f16"}}
    return _patched(minimal, (patches or {}) | fields)
