"""``cutegen explain --shape M,N,K``: what a kernel makes of one problem."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from cutegen.workload import Workload

__all__ = ["Shape", "workload_rows"]


_MOST = 2**31 - 1  # extents are 32-bit integers


class Shape(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.2
    """M, N and K, as in ``4096,4096,4096`` or ``4096x4096x4096``."""

    name = "M,N,K"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int, int]:
        """Three integers of at least 1."""
        if isinstance(value, tuple):
            return value
        words = str(value).lower().replace("x", ",").split(",")
        if len(words) != 3 or not all(re.fullmatch(r" *0*[1-9][0-9]{0,9} *", word) for word in words):
            self.fail(f"must be three integers of at least 1, as 4096,4096,4096 (got {value!r})", param, ctx)
        if any(int(word) > _MOST for word in words):
            self.fail(f"no kernel takes an extent above {_MOST} (got {value!r})", param, ctx)
        m, n, k = map(int, words)
        return m, n, k


def workload_rows(found: Workload) -> list[list[str]]:
    """Tiles, waves, padding and bounds in words."""
    m, n, k = found.shape
    at_a_time = found.card.sms * found.ctas_per_sm
    padding = f"{100 * (1 - found.useful):.1f} % of the products lie outside the matrices"
    rows = [
        [f"{m} x {n} x {k}", f"{found.tiles} CTA tiles of {found.k_tiles} k-tiles; {padding}"],
        [
            "waves",
            f"{found.waves:.2f} on {_article(found.card.name)} with {found.card.sms} SMs and "
            f"{found.ctas_per_sm} CTA{'s' * (found.ctas_per_sm > 1)} on each, {at_a_time} at a time: "
            f"{100 * found.wave_share:.0f} % filled",
        ],
    ]
    rows += [
        [
            bound.level,
            f"{bound.intensity:.1f} FLOP for each byte; {bound.balance:.0f} keep the tensor cores busy: "
            f"at most {100 * bound.share:.0f} % of the peak",
        ]
        for bound in found.bounds
    ]
    rows.append(["at most", f"{100 * found.ceiling:.0f} % of the peak, limited by {found.bound_by}"])
    return rows


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "AHL" else f"a {name}"
