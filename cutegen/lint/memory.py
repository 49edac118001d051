"""Copies that cost more than they must: bank conflicts, narrow copies, scattered accesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from cutegen.config import SmemLayout
from cutegen.dtypes import dtype
from cutegen.lint.registry import Remark, advice
from cutegen.lint.review import Review, changed
from cutegen.lint.traffic import Access, shared_accesses
from cutegen.operands import PlanFault, derive_g2s, derive_s2r

__all__ = ["swizzles"]

_BANKS = (
    "measured on an H200 (l1tex__data_pipe_lsu_wavefronts_mem_shared), the model is cutegen/layout/banks.py; "
    "without its swizzle a multistage kernel took 1.9 times as long"
)
_SECTORS = "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory: sectors of 32 bytes"
_MOVES = {
    "G2S": "copying into shared memory",
    "S2R": "reading fragments",
    "R2S": "staging the output",
    "S2G": "reading the staged output",
}
Which = Literal["a", "b"]
_OPERANDS: tuple[Which, Which] = ("a", "b")
_MOST_B = 3  # a swizzle of 8 rows of 16 bytes reaches all banks


def swizzles(size: int) -> Iterator[tuple[int, int, int]]:
    """Swizzles that keep 16 bytes whole, the least address arithmetic first."""
    whole = max(1, 16 // size).bit_length() - 1
    for b in range(1, _MOST_B + 1):
        for m in (whole, whole + 1):
            for s in (3, b, b + 1, b + 2):
                if s >= b:
                    yield (b, m, s)


def _in_shared(review: Review, which: Which) -> int:
    """Wavefronts of an operand's way through shared memory."""
    return review.cost("shared", f"G2S {which.upper()}", f"S2R {which.upper()}")


def _better_swizzle(review: Review, which: Which) -> tuple[str, Review] | None:
    """A swizzle for the same layout under which the operand takes fewest wavefronts, if that helps."""
    layout, now = getattr(review.cfg.smem, which), _in_shared(review, which)
    found = []
    for swizzle in dict.fromkeys(swizzles(dtype(review.cfg.operand(which).dtype).bytes)):
        cost = _in_shared_with(review, which, layout.model_copy(update={"swizzle": swizzle}))
        if cost is not None and cost < now:
            found.append((cost, swizzle))
    for _, swizzle in sorted(found, key=lambda f: f[0]):  # of equal cost, the least arithmetic first
        other = review.but(f"smem.{which}", layout.model_copy(update={"swizzle": swizzle}))
        if other is not None and _in_shared(other, which) < now:
            return f"use smem.{which}.swizzle: {list(swizzle)}", other
    return None


def _in_shared_with(review: Review, which: Which, layout: SmemLayout) -> int | None:
    """The same with another layout of the operand and the same copies; None when they do not go together."""
    cfg = changed(review.cfg, f"smem.{which}", layout)
    try:
        copy, read = derive_g2s(cfg, which), derive_s2r(cfg, which)
    except PlanFault:
        return None
    operand = replace(getattr(review.plan, which), copy=copy, read=read)
    plan = replace(
        review.plan,
        config=cfg,
        a=operand if which == "a" else review.plan.a,
        b=operand if which == "b" else review.plan.b,
    )
    return sum(access.cost for access in shared_accesses(plan, operand))


def _free_layout(review: Review, which: Which) -> tuple[str, Review] | None:
    """How to leave the operand's layout out, with the copies into and out of it where they must go too."""
    fields = (f"smem.{which}", f"s2r.{which}", f"g2s.{which}")
    for count in (1, 2, 3):
        free = review.without(*fields[:count])
        if free is not None:
            return " with ".join(f"leave {field} out" for field in fields[:count]), free
    return None


def _of(review: Review, which: Which) -> list[Access]:
    names = (f"G2S {which.upper()}", f"S2R {which.upper()}")
    return [a for a in review.accesses if a.space == "shared" and a.name in names]


@advice(
    "bank-conflicts",
    reason="Shared memory has 32 banks of 4 bytes. Lanes that want different words of one bank wait for each "
    "other, and the tensor cores wait for them. Reported where another layout has fewer conflicts.",
    source=_BANKS,
)
def bank_conflicts(review: Review) -> Iterator[Remark]:
    """An operand's layout in shared memory has conflicts that another one has not."""
    for which in _OPERANDS:
        worst = max(_of(review, which), key=lambda a: a.degree, default=None)
        if worst is None or worst.degree <= 1 or not review.gives(f"smem.{which}"):
            continue
        ways = []
        swizzled = _better_swizzle(review, which)
        if swizzled is not None:
            ways.append(swizzled)
        free = _free_layout(review, which)
        if free is not None and _in_shared(free[1], which) < min(
            _in_shared(r, which) for r in (review, *(way[1] for way in ways))
        ):
            ways.insert(0, free)
        if not ways:
            continue
        fix, better = ways[0]
        after = better.find("shared", worst.name)
        left = f", which takes {after.cost}" if after is not None else ""
        swizzle = getattr(review.cfg.smem, which).swizzle
        yield Remark(
            field=f"smem.{which}.swizzle" if swizzled in ways[:1] else f"smem.{which}",
            message=f"{_MOVES[worst.name[:3]]} takes {worst.cost} wavefronts a k-tile for {worst.ideal}, "
            f"{_times(worst.degree)} as many as without bank conflicts",
            got="no swizzle" if swizzle == "none" else f"swizzle {list(swizzle)}",
            fix=fix + left,
        )


def _times(degree: float) -> str:
    return f"{degree:.2f}".rstrip("0").rstrip(".") + " times"


@advice(
    "narrow-copies",
    reason="A copy moves up to 16 bytes of one thread in one instruction. Narrower ones take more "
    "instructions for the same bytes, and below 16 bytes cp.async goes through the L1 cache.",
    source="PTX ISA, cp.async: cp-size is 4, 8 or 16, and .cg takes 16 only",
)
def narrow_copies(review: Review) -> Iterator[Remark]:
    """The alignment and the tile allow wider copies than the config asks for."""
    for which in _OPERANDS:
        copy = getattr(review.plan, which).copy
        if copy.view is None or not review.gives(f"g2s.{which}"):
            continue
        free = review.without(f"g2s.{which}")
        wide = getattr(free.plan, which).copy if free is not None else copy
        if wide.vector <= copy.vector:
            continue
        bits = dtype(review.cfg.operand(which).dtype).bits
        yield Remark(
            field=f"g2s.{which}.bits" if review.gives(f"g2s.{which}.bits") else f"g2s.{which}",
            message=f"{copy.steps} copies a thread and k-tile, of which {wide.steps} would do",
            got=f"{copy.vector * bits} bits with {which}.align: {review.cfg.operand(which).align}",
            fix=f"leave g2s.{which} out, which copies {wide.vector * bits} bits at a time",
        )


@advice(
    "scattered-loads",
    reason="Global memory is read in sectors of 32 bytes, and a warp pays for every sector that it touches, "
    "however little of it it wants. Reported where another thread layout touches fewer.",
    source=_SECTORS,
)
def scattered_loads(review: Review) -> Iterator[Remark]:
    """The copy's threads run along the wrong mode."""
    for which in _OPERANDS:
        name = f"G2S {which.upper()}"
        access = review.find("global", name)
        if access is None or access.degree <= 1 or not review.gives(f"g2s.{which}"):
            continue
        free = review.without(f"g2s.{which}")
        after = free.find("global", name) if free is not None else None
        if after is None or after.cost >= access.cost:
            continue
        threads = getattr(review.cfg.g2s, which).threads
        yield Remark(
            field=f"g2s.{which}.threads" if review.gives(f"g2s.{which}.threads") else f"g2s.{which}",
            message=f"reads {access.cost} sectors of global memory a k-tile for {access.ideal}",
            got=f"threads {list(threads.shape)}:{list(threads.stride or ())}" if threads else "these copies",
            fix=f"leave g2s.{which} out, which reads {after.cost}",
        )


@advice(
    "scattered-stores",
    reason="Stored from registers, the lanes of a warp write short pieces of many rows, and each piece "
    "costs a sector of 32 bytes. Through shared memory, they write whole rows. Not reported for "
    "mainloop direct, which is there to do without shared memory.",
    source=_SECTORS,
)
def scattered_stores(review: Review) -> Iterator[Remark]:
    """The epilogue stores from registers, and the output would fit through shared memory."""
    access = review.find("global", "R2G D")
    if access is None or access.degree <= 1 or not review.gives("epilogue.store"):
        return
    if review.cfg.mainloop == "direct":
        return
    staged = review.but("epilogue.store", "smem")
    if staged is None:
        return
    through, writes = staged.cost("shared", "R2S D", "S2G D"), staged.cost("global", "S2G D")
    if writes + through >= access.cost:  # its way through shared memory would cost what it saves
        return
    yield Remark(
        field="epilogue.store",
        message=f"writes {access.cost} sectors of global memory a tile for {access.ideal}",
        got="direct",
        fix=f"use epilogue.store: smem, which writes {writes}",
    )
