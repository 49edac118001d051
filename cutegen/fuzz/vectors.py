"""Random scales and biases."""

from __future__ import annotations

from random import Random

__all__ = ["vector_fields"]


def vector_fields(rng: Random) -> dict[str, str]:
    """Fields of an epilogue; none of them three times in four."""
    if rng.random() < 0.75:
        return {}
    chosen = {
        "scale_a": rng.choice(["none", "tensor", "row"]),
        "scale_b": rng.choice(["none", "tensor", "column"]),
        "bias": rng.choice(["none", "column"]),
    }
    return {name: kind for name, kind in chosen.items() if kind != "none"}
