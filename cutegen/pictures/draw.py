"""Which pictures there are, and which of them a kernel has."""

from __future__ import annotations

from typing import Literal, get_args

from cutegen.config import GemmConfig
from cutegen.errors import ConfigError
from cutegen.operands.model import Which
from cutegen.pictures.bulk import bulk_picture
from cutegen.pictures.copies import g2s_picture
from cutegen.pictures.mma import mma_picture
from cutegen.pictures.model import Picture
from cutegen.pictures.pipeline import kernel_pipeline
from cutegen.pictures.pipeline_wgmma import wgmma_pipeline
from cutegen.pictures.reads import register_picture, s2r_picture
from cutegen.pictures.smem import smem_picture
from cutegen.pictures.tv import tv_picture
from cutegen.pictures.words import PicturePlan
from cutegen.plan import CollectivePlan, KernelPlan, Plan, WgmmaPlan, plan

__all__ = ["PICTURES", "What", "draw", "pictures_of"]

What = Literal[
    "smem-a", "smem-b", "tv-a", "tv-b", "tv-c", "g2s-a", "g2s-b", "s2r-a", "s2r-b", "mma", "pipeline"
]

#: All pictures, in the order in which ``all`` draws them.
PICTURES: tuple[What, ...] = get_args(What)

_WGMMA: tuple[What, ...] = ("smem-a", "smem-b", "tv-c", "g2s-a", "g2s-b", "mma", "pipeline")
_DIRECT: tuple[What, ...] = ("tv-a", "tv-b", "tv-c", "mma", "pipeline")
_REASONS = {
    "tma_wgmma": "wgmma reads what there is none of from shared memory itself, so that no thread holds it",
    "direct": "fragments come straight from global memory, and shared memory holds nothing of A and B",
}


def pictures_of(config: GemmConfig | Plan) -> tuple[What, ...]:
    """The pictures that a kernel has.

    Raises:
        ConfigError: The config cannot work, or there are none: mainloop ``collective``.
    """
    found = _drawable(config)
    if isinstance(found, WgmmaPlan):
        own = (
            ()
            if found.a.registers is None
            else tuple(f"{kind}-{found.a.map.matrix}" for kind in ("tv", "s2r"))
        )
        return tuple(what for what in PICTURES if what in (*_WGMMA, *own))
    return _DIRECT if found.config.mainloop == "direct" else PICTURES


def draw(config: GemmConfig | Plan, what: str, *, label: str = "") -> Picture:
    """A picture of a kernel; :func:`~cutegen.pictures.to_svg` and its like write it down.

    Args:
        config: A config, or its plan.
        what: One of :data:`PICTURES`.
        label: Words that stand before those on the kernel, such as its file's name.

    Raises:
        ConfigError: The config cannot work, or there is no such picture of it.
    """
    found = _drawable(config)
    there = pictures_of(found)
    if what in there:
        return _draw(found, what, label)
    listed = f"must be one of {', '.join(there)} (got {what})"
    mainloop = found.config.mainloop or ""
    if what in PICTURES:
        raise ConfigError(f"a picture of mainloop {mainloop} {listed}: {_REASONS[mainloop]}")
    raise ConfigError(f"a picture {listed}")


def _drawable(config: GemmConfig | Plan) -> PicturePlan:
    found = config if isinstance(config, (KernelPlan, WgmmaPlan, CollectivePlan)) else plan(config)
    if isinstance(found, CollectivePlan):
        raise ConfigError(
            "mainloop must be one of simt, direct, multistage, tma_wgmma to be drawn (got collective): "
            "CUTLASS's builders choose its layouts when the kernel is compiled; 'cutegen explain' says "
            "what is known of it"
        )
    return found


def _draw(found: PicturePlan, what: str, label: str) -> Picture:
    kind, _, tensor = what.partition("-")
    which: Which = "a" if tensor == "a" else "b"
    if kind == "tv":
        return tv_picture(found, "c" if tensor == "c" else which, label)
    if kind == "smem":
        return smem_picture(found, which, label)
    if kind == "mma":
        return mma_picture(found, label)
    if isinstance(found, WgmmaPlan):
        if kind == "s2r":
            return register_picture(found, which, label)
        return wgmma_pipeline(found, label) if kind == "pipeline" else bulk_picture(found, which, label)
    if kind == "pipeline":
        return kernel_pipeline(found, label)
    return g2s_picture(found, which, label) if kind == "g2s" else s2r_picture(found, which, label)
