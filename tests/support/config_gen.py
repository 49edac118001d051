"""Random configs of anything that pydantic accepts. :mod:`cutegen.fuzz.generate` makes sensible ones."""

from __future__ import annotations

from random import Random
from typing import Any, get_args

from cutegen.arch import ARCHS
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName

__all__ = ["wild_config"]

_INTS = (
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    160,
    256,
    257,
    1024,
    4096,
    2**16,
    2**20,
)
_HUGE = (2**20 + 1, 10**9, 2**63, 10**30, -(10**20))


def _int(rng: Random) -> int:
    if rng.random() < 0.8:
        return rng.choice([1, 2, 4, 8, 16, 32, 64, 128])
    return rng.choice(_INTS) if rng.random() < 0.8 else rng.choice(_HUGE)


def _layout(rng: Random) -> dict[str, Any]:
    rank = 2 if rng.random() < 0.8 else rng.choice([0, 1, 3])
    layout: dict[str, Any] = {"shape": [_int(rng) for _ in range(rank)]}
    if rng.random() < 0.6:
        layout["stride"] = [_int(rng) for _ in range(rank if rng.random() < 0.95 else rank + 1)]
    return layout


def wild_config(rng: Random) -> GemmConfig:
    """Anything that pydantic accepts, with zero, negative and huge numbers and unknown names among it."""

    def maybe(value: Any, chance: float = 0.5) -> Any:
        return value if rng.random() < chance else None

    types: tuple[DTypeName, ...] = get_args(DTypeName)
    main = rng.choice(types)

    def align() -> Any:
        return maybe(rng.choice([1, 2, 4, 8, 16]), 0.3)

    def copy() -> dict[str, Any]:
        return {
            "atom": maybe(rng.choice([*COPY_G2S, "unknown"])),
            "bits": maybe(rng.choice([8, 16, 32, 64, 128, _int(rng)])),
            "threads": maybe(_layout(rng)),
            "values": maybe(_layout(rng)),
        }

    def smem() -> dict[str, Any]:
        usual = [rng.choice([0, 1, 2, 3, -1]), rng.choice([2, 3, 4]), rng.choice([3, 4, -3])]
        return {
            "shape": [_int(rng), _int(rng)],
            "stride": [_int(rng), 1] if rng.random() < 0.6 else [_int(rng), _int(rng)],
            "swizzle": rng.choice(["none", usual, [_int(rng), _int(rng), _int(rng)]]),
        }

    data: dict[str, Any] = {
        "arch": rng.choice(list(ARCHS)),
        "mainloop": maybe(rng.choice(["simt", "direct", "multistage", "multistage"])),
        "accumulator": maybe(rng.choice(types), 0.2),
        "tile": maybe([_int(rng), _int(rng), _int(rng)], 0.7),
        "stages": maybe(_int(rng), 0.4),
        "min_blocks": maybe(abs(_int(rng)) + 1, 0.2),
        "fragment_buffers": maybe(rng.choice([1, 2]), 0.3),
        "tiled_mma": {
            "atom": maybe(rng.choice([*MMA_ATOMS, "unknown"]), 0.4),
            "layout": maybe([rng.choice([1, 2, 4, _int(rng)]) for _ in range(3)]),
            "permutation": maybe([rng.choice([_int(rng), _layout(rng)]) for _ in range(3)], 0.4),
        },
        "smem": {"a": maybe(smem()), "b": maybe(smem())},
        "g2s": {"a": copy(), "b": copy()},
        "s2r": {
            "a": maybe(rng.choice([*COPY_S2R, "unknown"])),
            "b": maybe(rng.choice([*COPY_S2R, "unknown"])),
        },
        "epilogue": {"store": maybe(rng.choice(["direct", "smem"]))},
        "scheduler": {"group": maybe(abs(_int(rng)) + 1)},
    }
    for name in ("a", "b"):
        data[name] = {
            "dtype": main if rng.random() < 0.9 else rng.choice(types),
            "major": maybe(rng.choice("kmn")),
            "align": align(),
        }
    for name in ("c", "d"):
        data[name] = {"dtype": maybe(rng.choice(types)), "major": maybe(rng.choice("mn")), "align": align()}
    return GemmConfig.model_validate(data)
