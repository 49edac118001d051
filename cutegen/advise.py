"""Better values for a config that works: each with what it costs now and then, and none that is worse.

A proposal changes what was said of one part (a layout, a copy, the stages, the epilogue). It stands when at
least one figure of the kernel gets better and none gets worse; shared memory may grow while as many CTAs fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cutegen.config import GemmConfig, SmemLayout
from cutegen.dtypes import dtype
from cutegen.lint.memory import swizzles
from cutegen.lint.resources import registers_needed
from cutegen.lint.review import Review
from cutegen.occupancy import occupancy

__all__ = ["Figures", "Proposal", "advise"]

_OPERANDS = ("a", "b")
_PADS = (4, 8, 16, 32)  # bytes beside each row
_IN_FLIGHT = 3  # stages that leave two k-tiles on their way; what more of them do is to be measured


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a kernel costs, as far as its plan shows; less is better but of ``stages`` and ``ctas_per_sm``.

    Attributes:
        wavefronts: Of shared memory, of one CTA and k-tile.
        sectors: Of global memory, likewise.
        output: Wavefronts and sectors together of the way of the output tile.
        copies: Instructions of one thread that load A and B from global memory, of a k-tile.
        reads: Instructions of one thread that read fragments from shared memory, of a k-block.
        stages: Slots of the ring of k-tiles.
        ctas_per_sm: CTAs for which an SM has room, with the fewest registers that will do.
        smem_bytes: Shared memory of one CTA.
    """

    wavefronts: int
    sectors: int
    output: int
    copies: int
    reads: int
    stages: int
    ctas_per_sm: int
    smem_bytes: int

    def better_than(self, other: Figures) -> bool:
        """Whether something is better here and nothing is worse."""
        mine, others = self._costs(), other._costs()
        return mine != others and all(a <= b for a, b in zip(mine, others, strict=True))

    def _costs(self) -> tuple[int, ...]:
        costs = (self.wavefronts, self.sectors, self.output, self.copies, self.reads)
        return (*costs, -self.stages, -self.ctas_per_sm)

    def to_dict(self) -> dict[str, Any]:
        """The figures as a JSON-ready dictionary."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Another value for one part of a config.

    Attributes:
        change: New values by dotted path; None leaves a field out.
        config: The config with the change.
        before: Figures of the config as it is, with the proposals before this one.
        after: Figures with the change as well.
    """

    change: dict[str, Any]
    config: GemmConfig
    before: Figures
    after: Figures

    def to_dict(self) -> dict[str, Any]:
        """The proposal as a JSON-ready dictionary."""
        return {"change": self.change, "before": self.before.to_dict(), "after": self.after.to_dict()}


def advise(cfg: GemmConfig) -> list[Proposal]:
    """Proposals for what a config says, each on top of those before it; an empty list where nothing helps.

    Raises:
        ConfigError: The config breaks a rule, or is of a mainloop whose copies leave no choice.
    """
    review, found = Review(cfg), []
    for part in (*(f"smem.{which}" for which in _OPERANDS), "g2s", "s2r", "epilogue", "stages"):
        now = figures(review)
        tried = [(change, after) for change in _changes(review, part) if (after := _changed(review, change))]
        better = [(change, after) for change, after in tried if figures(after).better_than(now)]
        if not better:
            continue
        change, review_after = min(better, key=lambda pair: figures(pair[1])._costs())
        found.append(
            Proposal(
                change=_written(change, review.cfg),
                config=review_after.given,
                before=now,
                after=figures(review_after),
            )
        )
        review = review_after
    return found


def figures(review: Review) -> Figures:
    """What the plan shows of a kernel's cost."""
    plan, smem = review.plan, review.plan.smem_bytes
    reads = [operand.read for operand in (plan.a, plan.b)]
    turns = [a for a in review.accesses if a.per == "k-tile"]
    room = occupancy(review.arch, threads=plan.threads, registers=registers_needed(review), smem=smem)
    return Figures(
        wavefronts=sum(a.cost for a in turns if a.space == "shared"),
        sectors=sum(a.cost for a in turns if a.space == "global"),
        output=sum(a.cost for a in review.accesses if a.per == "tile"),
        copies=plan.a.copy.steps + plan.b.copy.steps,
        reads=sum(read.copies for read in reads if read is not None),
        stages=review.cfg.stages or 1,
        ctas_per_sm=min(room.ctas, review.cfg.min_blocks or room.ctas),
        smem_bytes=smem,
    )


def _changed(review: Review, change: dict[str, Any]) -> Review | None:
    after: Review | None = review
    for path, value in change.items():
        if after is not None:
            after = after.without(path) if value is None else after.but(path, value)
    return after


def _changes(review: Review, part: str) -> Iterator[dict[str, Any]]:
    """Other values for a part of which the config says something, the smallest changes first."""
    if part.startswith("smem."):
        if review.gives(part) and review.cfg.mainloop != "direct":
            yield from _layouts(review, part[-1])
    elif part in ("g2s", "s2r"):
        for which in _OPERANDS:
            if review.gives(f"{part}.{which}"):
                yield {f"{part}.{which}": None}
    elif part == "epilogue":
        if review.gives("epilogue.store") and review.cfg.mainloop != "direct":
            yield {"epilogue.store": "smem"}
            yield {"epilogue.store": "direct"}
    elif review.cfg.mainloop != "direct" and review.gives("stages"):
        free, now = review.without("stages"), review.cfg.stages or 1
        if free is not None and now < _IN_FLIGHT:
            yield from ({"stages": stages} for stages in range(now + 1, (free.cfg.stages or 1) + 1))


def _layouts(review: Review, which: str) -> Iterator[dict[str, Any]]:
    """An operand's layout with another swizzle, with padding, and chosen anew, if it has conflicts."""
    own = [a for a in review.accesses if a.space == "shared" and a.name[-1].lower() == which]
    if all(access.degree <= 1 for access in own):
        return
    path, layout = f"smem.{which}", getattr(review.cfg.smem, which)
    size = dtype(review.cfg.operand("a" if which == "a" else "b").dtype).bytes
    for swizzle in dict.fromkeys(swizzles(size)):
        yield {path: layout.model_copy(update={"swizzle": swizzle})}
    stride = tuple(layout.stride)
    pitch = max(stride)
    for pad in _PADS:
        if pad >= size:
            wider = tuple(s + pad // size if s == pitch else s for s in stride)
            yield {path: layout.model_copy(update={"swizzle": "none", "stride": wider})}
    yield {path: None}


def _written(change: dict[str, Any], before: GemmConfig) -> dict[str, Any]:
    """The change field by field, as a config says it."""
    written: dict[str, Any] = {}
    for path, value in change.items():
        if not isinstance(value, SmemLayout):
            written[path] = value
            continue
        old = getattr(before.smem, path[-1]).model_dump()
        new = value.model_dump()
        written |= {f"{path}.{name}": new[name] for name in new if new[name] != old[name]}
    return written
