"""What pictures say: of which kernel they are, and what accesses cost."""

from __future__ import annotations

from cutegen.lint.traffic import Access
from cutegen.plan import CollectivePlan, KernelPlan, Plan, WgmmaPlan

__all__ = ["PicturePlan", "cost_of", "count", "subtitle"]

#: Plans of which there are pictures.
PicturePlan = KernelPlan | WgmmaPlan


def count(number: int, noun: str) -> str:
    """A number with its noun, for example ``3 stages`` or ``2 copies``."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("py") else f"{number} {noun}s"


def subtitle(plan: Plan, label: str = "") -> str:
    """The kernel in a line: the file that it is from, mainloop, types, tile, stages."""
    cfg = plan.config
    tile = "x".join(map(str, cfg.tile or ()))
    parts = [
        f"{cfg.arch} {cfg.mainloop}",
        f"{cfg.a.dtype} ({cfg.a.major}-major) x {cfg.b.dtype} ({cfg.b.major}-major), accumulated in "
        f"{cfg.accumulator}",
        f"tile {tile}",
    ]
    if cfg.mainloop != "direct" and not isinstance(plan, CollectivePlan):
        parts.append(count(cfg.stages or 1, "stage"))
    return "; ".join([*([label] if label else []), *parts])


def cost_of(access: Access) -> str:
    """What an access costs in shared memory, in a sentence without its end."""
    name = f"{access.name} ({access.op}, {access.bytes} B a lane)"
    if access.op == "ldmatrix":
        name = f"{access.name} (ldmatrix)"
    if access.cost == access.ideal:
        return f"{name}: {access.cost} wavefronts a k-tile, no bank conflicts"
    ways = f"{access.degree:.2f}".rstrip("0").rstrip(".")
    return f"{name}: {access.cost} wavefronts a k-tile for {access.ideal}, {ways}-way conflicts"
