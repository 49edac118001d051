"""``pipeline``: what goes on at the same time in the ring of shared memory, k-tile after k-tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutegen.pictures.colours import of_groups
from cutegen.pictures.model import Bar, Key, Lane, Mark, Phase, Picture, Timeline
from cutegen.pictures.words import count, subtitle
from cutegen.plan import KernelPlan

__all__ = ["kernel_pipeline", "ring_legend"]

_K_TILE = 132.0  # pixels of a k-tile, at least
_BLOCK = 34.0  # of a k-block, at least
_STORE = 0.4  # of a k-block's time: storing what passed through registers
_FETCH = 0.45  # of a k-block's time where fragments have one buffer: first the copy, then the MMA


def kernel_pipeline(plan: KernelPlan, label: str = "") -> Picture:
    """The mainloop of a kernel whose threads load and multiply in turns, in the order of its instructions."""
    if plan.config.mainloop == "direct":
        return _direct(plan, label)
    stages = plan.config.stages or 1
    run = _Run(plan, stages, k_tiles=stages + 2)
    if stages == 1:
        run.single()
    else:
        run.ring()
    return _picture(plan, label, run.timeline(), run.notes())


def ring_legend(colours: tuple[str, ...], read: str) -> tuple[Key, ...]:
    """What colours and kinds of bars mean."""
    slots = tuple(Key(colour=colour, label=f"slot {slot}") for slot, colour in enumerate(colours))
    return (
        *slots,
        Key(colour=colours[0], label="bytes under way", kind="fill"),
        Key(colour=colours[0], label=read, kind="use"),
    )


def _picture(plan: KernelPlan, label: str, timeline: Timeline, notes: tuple[str, ...]) -> Picture:
    return Picture(
        what="pipeline",
        title="The pipeline of the mainloop",
        subtitle=subtitle(plan, label),
        panels=((timeline,),),
        legend=ring_legend(timeline.colours, "in use") if plan.a.copy.view is not None else (),
        notes=(*notes, "In the order of the instructions; lengths are not to scale."),
    )


@dataclass
class _Run:
    """One run of the kernel's mainloop, written down as bars."""

    plan: KernelPlan
    stages: int
    k_tiles: int
    bars: list[Bar] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    issued: dict[int, float] = field(default_factory=dict)
    now: float = 0.0

    @property
    def blocks(self) -> int:
        return self.plan.a.fragments.k_blocks

    @property
    def asynchronous(self) -> bool:
        return self.plan.a.copy.asynchronous and self.plan.b.copy.asynchronous

    @property
    def held(self) -> int:
        """Lanes of what waits in registers: one, or none if all copies are cp.async."""
        return 0 if self.asynchronous else 1

    @property
    def s2r(self) -> int:
        return self.held + self.stages + 1

    @property
    def mma(self) -> int:
        return self.s2r + 1

    def lane_of(self, slot: int) -> int:
        return 1 + self.held + slot

    def slot(self, k_tile: int) -> int:
        return k_tile % self.stages

    def load(self, k_tile: int, end: float) -> None:
        """Copies of a k-tile are started from now until ``end``."""
        if k_tile >= self.k_tiles:
            return
        slot = self.slot(k_tile)
        words = f"k-tile {k_tile} to slot {slot}"
        self.bars.append(
            Bar(
                lane=0,
                start=self.now,
                end=end,
                label=str(k_tile),
                group=slot,
                k_tile=k_tile,
                tip=f"start copies of {words}",
            )
        )
        self.issued[k_tile] = self.now

    def store(self, k_tile: int, at: float) -> None:
        """What passed through registers is written to its slot; nothing for cp.async."""
        if self.asynchronous or k_tile not in self.issued:
            return
        slot, begin = self.slot(k_tile), at - _STORE
        self.bars.append(
            Bar(
                lane=1,
                start=self.issued[k_tile],
                end=begin,
                label=str(k_tile),
                group=slot,
                kind="full",
                k_tile=k_tile,
                tip=f"k-tile {k_tile} in registers",
            )
        )
        self.issued[k_tile] = begin

    def wait(self, k_tile: int) -> None:
        """A k-tile has arrived for all threads; before that its slot is being filled."""
        label = (
            f"wait<{max(0, self.stages - 2)}>"
            if self.plan.a.copy.asynchronous or self.plan.b.copy.asynchronous
            else "sync"
        )
        self.marks.append(Mark(at=self.now, label=label, first=0, last=self.mma))
        if k_tile < self.k_tiles:
            slot = self.slot(k_tile)
            self.bars.append(
                Bar(
                    lane=self.lane_of(slot),
                    start=self.issued[k_tile],
                    end=self.now,
                    label=str(k_tile),
                    group=slot,
                    kind="fill",
                    k_tile=k_tile,
                    tip=f"k-tile {k_tile} on its way to slot {slot}",
                )
            )

    def use(self, k_tile: int, start: float, end: float) -> None:
        slot = self.slot(k_tile)
        self.bars.append(
            Bar(
                lane=self.lane_of(slot),
                start=start,
                end=end,
                label=str(k_tile),
                group=slot,
                k_tile=k_tile,
                tip=f"k-tile {k_tile} is read",
            )
        )

    def work(self, lane: int, k_tile: int, block: int, start: float, end: float) -> None:
        words = "fragments of" if lane == self.s2r else "multiply"
        self.bars.append(
            Bar(
                lane=lane,
                start=start,
                end=end,
                label=f"{k_tile}.{block}",
                group=self.slot(k_tile),
                k_tile=k_tile,
                tip=f"{words} k-tile {k_tile}, k-block {block}",
            )
        )

    # ---- the mainloops

    def single(self) -> None:
        """One slot: load, wait, multiply, and again."""
        self.k_tiles = 3
        for k_tile in range(self.k_tiles):
            begin = self.now
            self.load(k_tile, self.now + 0.5)
            self.now += 1.5
            self.store(k_tile, self.now)
            self.wait(k_tile)
            self.use(k_tile, self.now, self.now + self.blocks)
            self.blocks_in_turn(k_tile)
            self.marks.append(Mark(at=self.now, label="sync", first=0, last=self.mma))
            self.now += 0.25
            self.phases.append(Phase(start=begin, end=self.now, label=f"k-tile {k_tile}"))

    def blocks_in_turn(self, k_tile: int) -> None:
        for block in range(self.blocks):
            self.work(self.s2r, k_tile, block, self.now, self.now + _FETCH)
            self.work(self.mma, k_tile, block, self.now + _FETCH, self.now + 1)
            self.now += 1

    def ring(self) -> None:
        """Several slots: the first STAGES - 1 k-tiles, then a load in each turn while there are more."""
        for k_tile in range(self.stages - 1):
            self.load(k_tile, self.now + 0.9)
            self.now += 1
            self.store(k_tile, self.now)
        self.now += 0.6  # however long the first one takes
        double = self.plan.double_buffer
        if double:
            self.wait(0)
            self.work(self.s2r, 0, 0, self.now, self.now + 1)
            self.use(0, self.now, self.now + self.blocks)
            self.now += 1
        self.phases.append(Phase(start=0, end=self.now, label="prologue"))
        last_load = max(1, self.k_tiles - self.stages + 1)
        begin = self.now
        for k_tile in range(self.k_tiles):
            if k_tile == last_load:
                self.phases.append(Phase(start=begin, end=self.now, label="steady state"))
                begin = self.now
            if double:
                self.double_turn(k_tile)
            else:
                self.turn(k_tile)
        self.phases.append(Phase(start=begin, end=self.now, label="drain"))

    def turn(self, k_tile: int) -> None:
        """A k-tile whose fragments have one buffer."""
        self.wait(k_tile)
        self.use(k_tile, self.now, self.now + self.blocks)
        ahead = k_tile + self.stages - 1
        self.load_after_fetch(ahead)
        self.blocks_in_turn(k_tile)
        self.store(ahead, self.now)

    def load_after_fetch(self, k_tile: int) -> None:
        before, self.now = self.now, self.now + _FETCH
        self.load(k_tile, self.now + 0.55)
        self.now = before

    def double_turn(self, k_tile: int) -> None:
        """A k-tile whose fragments have two buffers: k-block k + 1 is fetched while k is multiplied."""
        parts = self.blocks - 1 if self.blocks > 2 else 1
        ahead = k_tile + self.stages - 1
        self.load(ahead, self.now + parts)
        for block in range(self.blocks):
            if block == self.blocks - 1:
                self.store(ahead, self.now)
                self.wait(k_tile + 1)
                if k_tile + 1 < self.k_tiles:
                    self.work(self.s2r, k_tile + 1, 0, self.now, self.now + 1)
                    self.use(k_tile + 1, self.now, self.now + self.blocks)
            else:
                self.work(self.s2r, k_tile, block + 1, self.now, self.now + 1)
            self.work(self.mma, k_tile, block, self.now, self.now + 1)
            self.now += 1

    # ---- the result

    def timeline(self) -> Timeline:
        copies = "cp.async" if self.asynchronous else "loads"
        read = "ldmatrix" if self.plan.a.read is not None and "LDSM" in self.plan.a.read.op else "loads"
        lanes = (
            Lane(name=f"G2S ({copies})"),
            *([Lane(name="registers", kind="ring")] * self.held),
            *(Lane(name=f"slot {slot}", kind="ring") for slot in range(self.stages)),
            Lane(name=f"S2R ({read})"),
            Lane(name="MMA"),
        )
        return Timeline(
            title=(
                f"{count(self.k_tiles, 'k-tile')} of {count(self.blocks, 'k-block')} through "
                f"{count(self.stages, 'slot')}"
            ),
            lanes=lanes,
            bars=tuple(self.bars),
            marks=tuple(self.marks),
            phases=tuple(self.phases),
            unit=max(_BLOCK, _K_TILE / self.blocks),
            colours=of_groups(max(self.stages, 1)),
        )

    def notes(self) -> tuple[str, ...]:
        pending = max(0, self.stages - 2)
        found = ["G2S and slots name k-tiles; S2R and MMA name k-tile.k-block."]
        if self.plan.a.copy.asynchronous or self.plan.b.copy.asynchronous:
            found.append(
                f"wait<{pending}>: cp.async.wait_group {pending} and __syncthreads, after which the oldest "
                "k-tile in flight is there for all threads, and the slot that was read last may be written."
            )
        if not self.asynchronous:
            found.append(
                "What is not copied by cp.async waits in registers from its load until the end of the "
                "turn, and is stored then."
            )
        return tuple(found)


def _direct(plan: KernelPlan, label: str) -> Picture:
    """No shared memory: fragments are loaded from global memory, k-block by k-block."""
    blocks, bars = plan.a.fragments.k_blocks, []
    for k_tile in range(3):
        for block in range(blocks):
            at, name = float(k_tile * blocks + block), f"{k_tile}.{block}"
            for lane, start, end, words in (
                (0, at, at + 0.6, "load fragments of"),
                (1, at + 0.6, at + 1, "multiply"),
            ):
                tip = f"{words} k-tile {k_tile}, k-block {block}"
                bars.append(Bar(lane=lane, start=start, end=end, label=name, group=0, k_tile=k_tile, tip=tip))
    timeline = Timeline(
        title=f"3 k-tiles of {count(blocks, 'k-block')}, straight to registers",
        lanes=(Lane(name="G2R (loads)"), Lane(name="MMA")),
        bars=tuple(bars),
        unit=max(90.0, _K_TILE / blocks),
        colours=of_groups(1),
    )
    note = (
        "Bars name k-tile.k-block. Nothing is fetched ahead by the kernel: other warps of the SM fill the "
        "gaps."
    )
    return _picture(plan, label, timeline, (note,))
