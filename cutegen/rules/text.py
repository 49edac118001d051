"""Numbers and names as rules write them in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["either", "multiples", "swizzle_text", "yaml_list"]


def yaml_list(values: Iterable[object]) -> str:
    """``[128, 128, 32]``, as a config says it."""
    return f"[{', '.join(str(v) for v in values)}]"


def either(choices: Iterable[object]) -> str:
    """``a, b or c``; each choice once."""
    texts = list(dict.fromkeys(str(c) for c in choices))
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} or {texts[-1]}"


def multiples(value: int, unit: int) -> list[int]:
    """The multiples of ``unit`` next to ``value``, below and above."""
    below = value // unit * unit
    return [m for m in (below, below + unit) if m > 0 and m != value]


def swizzle_text(swizzle: Sequence[int]) -> str:
    """``Swizzle<2,3,3>``."""
    return f"Swizzle<{','.join(str(x) for x in swizzle)}>"
