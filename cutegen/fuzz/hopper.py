"""Random configs of the mainloops tma_wgmma and collective."""

from __future__ import annotations

from random import Random
from typing import Any

from cutegen.dtypes import dtype
from cutegen.fuzz.vectors import vector_fields

__all__ = ["odd_fields", "wgmma_data"]

_INPUTS = ("f16", "bf16", "f16", "bf16", "tf32", "e4m3", "e5m2", "s8")
_OUTPUTS = {"s8": ("s32", "f32", "s8")}
_ANY = ("f32", "f16", "bf16")


def wgmma_data(rng: Random, mainloop: str = "tma_wgmma") -> dict[str, Any]:
    """A config with few fields given, as plain data."""
    element = rng.choice(_INPUTS)
    wide = dtype(element).bits >= 16  # type: ignore[arg-type]  # of 32 bits, one may be MN-major
    data: dict[str, Any] = {
        "arch": "sm_90a",
        "mainloop": mainloop,
        "a": {"dtype": element, "major": rng.choice("km") if wide else "k"},
        "b": {"dtype": element, "major": rng.choice("kn") if wide else "k"},
        "d": {"dtype": rng.choice(_OUTPUTS.get(element, _ANY)), "major": rng.choice("nnm")},
    }
    if rng.random() < 0.3:
        data["c"] = {"dtype": rng.choice(_OUTPUTS.get(element, _ANY)), "major": rng.choice("nm")}
    for operand in (data["a"], data["b"]):
        if rng.random() < 0.2:
            operand |= {"constant": True, "cache": rng.choice(["evict_first", "evict_last", "normal"])}
    if rng.random() < 0.8:
        data["tile"] = _tile(rng, element)
    for name, value in odd_fields(rng, element).items():
        if rng.random() < 0.3:
            data[name] = value
    return data


def odd_fields(rng: Random, element: str) -> dict[str, Any]:
    """Values for the fields that such a config has, which may or may not be legal together."""
    return {
        "tile": _tile(rng, element),
        "stages": rng.randint(1, 8),
        "schedule": rng.choice(["pingpong", "cooperative"]),
        "swap_ab": rng.choice([True, True, False]),
        "pdl": rng.choice([True, False]),
        "cluster": rng.choice([[1, 1, 1], [2, 1, 1], [1, 2, 1], [2, 2, 1], [4, 1, 1]]),
        "epilogue": {
            "store": rng.choice(["tma", "tma", "direct"]),
            **({"overlap": True} if rng.random() < 0.4 else {}),
            **vector_fields(rng),
        },
        "promote": _unit(element) * rng.choice([1, 2, 4, 4]),
        "scheduler": {
            "kind": rng.choice(["static", "persistent", "stream_k"]),
            "raster": rng.choice("mn"),
            "group": rng.choice([1, 2, 3, 8]),
            "split_k": rng.choice([1, 1, 2, 3]),
            "reduction": rng.choice(["cluster", "semaphore"]),
        },
    }


def _unit(element: str) -> int:
    """Elements of K that one operation takes."""
    return 32 // dtype(element).bytes  # type: ignore[arg-type]


def _tile(rng: Random, element: str) -> list[int]:
    rows = 64 * rng.choice([1, 1, 2, 2, 2, 3, 4])
    columns = 8 * rng.choice([1, 2, 3, 4, 6, 8, 8, 12, 16, 16, 20, 24, 26, 29, 32])
    k = _unit(element) * rng.choice([1, 2, 3, 4, 4, 4, 8])
    return [rows, columns, k] if rng.random() < 0.75 else [columns, rows, k]
