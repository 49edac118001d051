"""``pipeline`` of ``tma_wgmma``: one warpgroup loads, others multiply, barriers pass slots between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutegen.pictures.colours import of_groups
from cutegen.pictures.model import Bar, Key, Lane, Picture, Timeline
from cutegen.pictures.pipeline import ring_legend
from cutegen.pictures.words import count, subtitle
from cutegen.plan import WgmmaPlan

__all__ = ["wgmma_pipeline"]

_UNIT = 30.0
_ISSUE = 0.7  # units of time: starting the copies of a k-tile
_FLIGHT = 2.0  # until they have arrived
_APART = 1.0  # at least, between the arrivals of two
_MULTIPLY = 1.4
_STORE = 3.2  # the epilogue
_SHORT = 0.25  # waits below this are not drawn
_K_TILES = 4  # of an output tile


@dataclass
class _Run:
    """A simple model of time: who waits for what is the kernel's, how long things take is made up."""

    plan: WgmmaPlan
    tiles: int
    k_tiles: int
    bars: list[Bar] = field(default_factory=list)
    full: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    released: dict[int, float] = field(default_factory=dict)
    producer: float = 0.0

    @property
    def stages(self) -> int:
        return self.plan.config.stages or 1

    def lane_of(self, group: int) -> int:
        return 1 + self.stages + group

    def go(self) -> None:
        """All output tiles: of pingpong each by the next consumer, else each by all of them."""
        groups = self.plan.groups
        free = [0.0] * groups.count
        turn = 0.0  # when the other's mainloop has ended
        for tile in range(self.tiles):
            who = [tile % groups.count] if groups.pingpong else list(range(groups.count))
            ready = max(free[g] for g in who)
            begin = max(ready, turn) if groups.pingpong else ready
            if begin - ready > _SHORT and groups.pingpong:
                self.wait(who[0], ready, begin, "its turn")
            end = self.mainloop(tile, who, begin)
            turn = end
            for g in who:
                free[g] = end + _STORE
                label = f"store tile {tile}"
                self.bars.append(
                    Bar(
                        lane=self.lane_of(g),
                        start=end,
                        end=end + _STORE,
                        label=label,
                        kind="other",
                        tip=f"epilogue: {label}",
                    )
                )

    def mainloop(self, tile: int, who: list[int], begin: float) -> float:
        """The k-tiles of an output tile; returns when the last is multiplied."""
        now = begin
        for k in range(self.k_tiles):
            number = tile * self.k_tiles + k
            self.load(number, tile, k)
            start = max(now, self.full[number])
            for g in who:
                if start - now > _SHORT:
                    self.wait(g, now, start, f"full[{number % self.stages}]")
                self.multiply(g, number, tile, k, start)
            if k:
                self.release(number - 1, max(now, start))
            self.starts.append(start)
            now = start + _MULTIPLY
        self.release(tile * self.k_tiles + self.k_tiles - 1, now)
        return now

    def load(self, number: int, tile: int, k: int) -> None:
        """The producer waits until the slot is empty, and fills it."""
        slot = number % self.stages
        empty = self.released.get(number - self.stages, 0.0)
        if empty - self.producer > _SHORT:
            self.bars.append(
                Bar(
                    lane=0,
                    start=self.producer,
                    end=empty,
                    label="wait",
                    kind="wait",
                    tip=f"producer waits for empty[{slot}]",
                )
            )
        at = max(self.producer, empty)
        self.producer = at + _ISSUE
        arrives = max(at + _FLIGHT, (self.full[-1] if self.full else 0.0) + _APART)
        self.full.append(arrives)
        name = f"{tile}.{k}"
        self.bars.append(
            Bar(
                lane=0,
                start=at,
                end=at + _ISSUE,
                label=name,
                group=slot,
                k_tile=number,
                tip=f"start bulk copies of tile {tile}, k-tile {k}, to slot {slot}",
            )
        )
        self.bars.append(
            Bar(
                lane=1 + slot,
                start=at,
                end=arrives,
                label=name,
                group=slot,
                kind="fill",
                k_tile=number,
                tip=f"slot {slot}: tile {tile}, k-tile {k} on its way",
            )
        )

    def release(self, number: int, at: float) -> None:
        """Consumers arrive at the slot's empty barrier: until then it was in use."""
        slot, start = number % self.stages, self.starts[number]
        name = f"{number // self.k_tiles}.{number % self.k_tiles}"
        if start - self.full[number] > _SHORT:
            self.bars.append(
                Bar(
                    lane=1 + slot,
                    start=self.full[number],
                    end=start,
                    label=name,
                    group=slot,
                    kind="full",
                    k_tile=number,
                    tip=f"slot {slot} is full",
                )
            )
        else:
            start = self.full[number]
        self.bars.append(
            Bar(
                lane=1 + slot,
                start=start,
                end=at,
                label=name,
                group=slot,
                k_tile=number,
                tip=f"slot {slot} is read by wgmma",
            )
        )
        self.released[number] = at

    def multiply(self, group: int, number: int, tile: int, k: int, start: float) -> None:
        self.bars.append(
            Bar(
                lane=self.lane_of(group),
                start=start,
                end=start + _MULTIPLY,
                label=f"{tile}.{k}",
                group=number % self.stages,
                k_tile=number,
                tip=f"wgmma of tile {tile}, k-tile {k}",
            )
        )

    def wait(self, group: int, start: float, end: float, what: str) -> None:
        self.bars.append(
            Bar(
                lane=self.lane_of(group),
                start=start,
                end=end,
                label="wait",
                kind="wait",
                tip=f"waits for {what}",
            )
        )


def wgmma_pipeline(plan: WgmmaPlan, label: str = "") -> Picture:
    """Producer, ring and consumers over the first output tiles of a CTA."""
    groups, stages = plan.groups, plan.config.stages or 1
    persistent = plan.config.scheduler.kind == "persistent"
    tiles = (4 if groups.pingpong else 3) if persistent else 1
    run = _Run(plan, tiles, _K_TILES if persistent else stages + 3)
    run.go()
    lanes = (
        Lane(name="producer (TMA)"),
        *(Lane(name=f"slot {slot}", kind="ring") for slot in range(stages)),
        *(Lane(name=f"consumer {group} (wgmma)") for group in range(groups.count)),
    )
    colours = of_groups(stages)
    timeline = Timeline(
        title=(
            f"{count(tiles, 'output tile')} of {count(run.k_tiles, 'k-tile')} through "
            f"{count(stages, 'slot')}, {_schedule(plan)}"
        ),
        lanes=lanes,
        bars=tuple(run.bars),
        unit=_UNIT,
        colours=colours,
    )
    return Picture(
        what="pipeline",
        title="The pipeline of producer and consumers",
        subtitle=subtitle(plan, label),
        panels=((timeline,),),
        legend=(
            *ring_legend(colours, "read by wgmma"),
            Key(colour=colours[0], label="full, not yet read", kind="full"),
            Key(colour="", label="waiting", kind="wait"),
        ),
        notes=_notes(plan),
    )


def _schedule(plan: WgmmaPlan) -> str:
    if plan.groups.pingpong:
        return "pingpong"
    return "cooperative" if plan.groups.count > 1 else "one consumer"


def _notes(plan: WgmmaPlan) -> tuple[str, ...]:
    notes = [
        "Bars name output tile.k-tile. A slot is filled once the producer has passed empty[slot]; it "
        "becomes full when the bytes that full[slot] expects have arrived, and is given back to "
        "empty[slot] when the wgmma after it has started.",
    ]
    if plan.groups.pingpong:
        notes.append(
            "Named barriers pass the turn: one consumer's mainloop runs while the other scales and stores "
            "its tile."
        )
    elif plan.groups.count > 1:
        notes.append(
            "All consumers multiply each k-tile, each its own part of the tile; the producer runs ahead "
            "during their stores."
        )
    if plan.cluster != (1, 1):
        m, n = plan.cluster
        notes.append(
            f"In the cluster of {m} x {n} CTAs a slot is empty when the consumers of all CTAs that share it "
            "are done."
        )
    if plan.split_k > 1:
        notes.append(
            f"{plan.split_k} CTAs share the k-tiles of an output tile; the first sums before it stores."
        )
    if plan.shares > 1:
        notes.append(
            f"{plan.shares} CTAs share the k-tiles of an output tile; the last waits for the sums of the "
            "others before it stores."
        )
    if plan.stream_k:
        notes.append(
            "Of some output tiles a CTA has a part of the k-tiles: it sends its sums, or waits for those of "
            "others before it stores."
        )
    return (*notes, "Who waits for what is the kernel's; lengths are made up.")
