"""How many CTAs an SM holds and what ends there, by the compiler's figures or by what the plan shows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from cutegen import settings
from cutegen.arch import ArchName, arch
from cutegen.cache import Store, ls
from cutegen.cache.entry import DamagedEntryError, read_entry
from cutegen.cards import card_of
from cutegen.errors import CutegenError
from cutegen.lint.resources import register_limit, registers_needed
from cutegen.lint.review import Review
from cutegen.occupancy import Occupancy, occupancy, registers_of_warp, smem_of_cta
from cutegen.plan import KernelPlan, Plan, WgmmaPlan
from cutegen.render import RenderedKernel

__all__ = ["LIMITS", "Built", "Room", "built", "room", "room_rows"]

#: What marks the line of a table that limits.
LIMITS = "limits"

_WORDS = {"CTA slots": "the most CTAs that an SM takes"}


@dataclass(frozen=True, kw_only=True)
class Built:
    """What the compiler said when it built this source.

    Attributes:
        target: What for, for example ``sm_90``.
        resources: Registers, spills, shared memory.
    """

    target: str
    resources: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Room:
    """CTAs of a kernel on one SM.

    Attributes:
        found: How many, by each resource.
        least: CTAs if the compiler takes all registers that the launch bounds leave it.
        threads: Of a CTA.
        registers: Of a thread.
        smem: Of a CTA, in bytes.
        basis: Where the registers come from.
        cap: What the kernel's launch bounds say of registers, in sentences.
        arch: Whose SM.
    """

    found: Occupancy
    least: int
    threads: int
    registers: int
    smem: int
    basis: str
    cap: str
    arch: ArchName

    @property
    def sentence(self) -> str:
        """How many CTAs, and what limits them."""
        limits = " and ".join(_WORDS.get(name, name) for name in self.found.limited_by)
        ctas = "CTA" if self.count == "1" else "CTAs"
        return f"{self.count} {ctas} per SM of {self.arch}, {self.warps}, limited by {limits}"

    @property
    def count(self) -> str:
        """CTAs; a range where that depends on the compiler."""
        most = self.found.ctas
        return f"{self.least} to {most}" if self.least < most else f"{most}"

    @property
    def warps(self) -> str:
        """The warps that are resident, in words."""
        found = self.found
        up_to = "up to " if self.least < found.ctas else ""
        return f"{up_to}{found.ctas * found.warps} of {found.max_warps} warps ({100 * found.share:.0f} %)"

    @property
    def sentences(self) -> str:
        """The same with what each resource allows, and where the registers come from."""
        each = ", ".join(f"{name} {count}" for name, count in self.found.limits.items())
        return f"{self.sentence}. CTAs that each resource would allow by itself: {each}. {self.origin}"

    @property
    def origin(self) -> str:
        """Where the number of registers comes from, and whether it was capped."""
        return f"Registers of a thread: {self.registers}, {self.basis}. {self.cap}"


def built(rendered: RenderedKernel, target: str) -> Built | None:
    """The figures of this text in the cache: of the last build for a target, else for another; or None."""
    other = None
    with suppress(CutegenError, OSError):
        store = Store(settings.cache_dir())
        for entry in ls(store):
            if entry.name != rendered.name or entry.damaged or (other and entry.target != target):
                continue
            with suppress(DamagedEntryError, KeyError, UnicodeDecodeError):
                found = read_entry(store.path(entry.key), entry.key, verify=False)
                text = (found.dir / f"{found.name}.cu").read_text(encoding="utf-8")
                if text != rendered.text:
                    continue
                one = Built(target=entry.target, resources=dict(found.meta["resources"]))
                if one.target == target:
                    return one
                other = one
    return other


def room(plan: Plan, compiled: Built | None, *, asked: bool = False) -> Room | None:
    """CTAs on an SM of the config's architecture; None where only CUTLASS and the compiler know.

    Args:
        plan: The kernel.
        compiled: The compiler's figures. Those for another target are named and not used: the compiler may
            take more or fewer registers there.
        asked: Whether the config itself says ``min_blocks``.
    """
    registers, basis = _registers(plan)
    smem = plan.smem_bytes
    own = compiled is not None and compiled.target == plan.arch
    if compiled is not None and own:
        registers, basis = compiled.resources["registers"], f"the compiler's, for {compiled.target}"
        smem = compiled.resources["static_smem"] + compiled.resources["dynamic_smem"]
    elif compiled is not None:
        basis += (
            f"; the cache has it for {compiled.target} only, where the compiler took "
            f"{compiled.resources['registers']}, and for {plan.arch} it may take more or fewer"
        )
    elif registers:
        basis += "; the kernel is not in the cache"
    if not registers:
        return None
    limits = arch(plan.arch)
    found = occupancy(limits, threads=plan.threads, registers=registers, smem=smem)
    cap, least = "", found.ctas
    if isinstance(plan, KernelPlan):
        most = register_limit(Review(plan.config))
        cap = _cap_words(plan, registers, most, own, asked)
        if not own and most > registers:
            least = occupancy(limits, threads=plan.threads, registers=most, smem=smem).ctas
            same = "is the same" if least == found.ctas else f"is {least}"
            cap += f" If the compiler takes all of them, the number of CTAs {same}."
    elif isinstance(plan, WgmmaPlan):
        producer, consumer = plan.registers
        cap = (
            f"__launch_bounds__({plan.threads}, 1) asks for one CTA; setmaxnreg then gives a thread of the "
            f"producer {producer} and one of a consumer {consumer}."
        )
    return Room(
        found=found,
        least=least,
        threads=plan.threads,
        registers=registers,
        smem=smem,
        basis=basis,
        cap=cap,
        arch=plan.arch,
    )


def _cap_words(plan: KernelPlan, registers: int, most: int, own: bool, asked: bool) -> str:
    """Whether a cap was set, by whom, and whether the compiler came up to it."""
    blocks, limits = plan.config.min_blocks or 1, arch(plan.arch)
    who = "as the config says" if asked else "cutegen's choice"
    bounds = f"min_blocks: {blocks} ({who}), as __launch_bounds__({plan.threads}, {blocks})"
    if most >= limits.max_registers_per_thread:
        return f"No cap was set: {bounds}, leaves a thread the {most} that {plan.arch} has at most."
    words = f"A cap was set: {bounds}, leaves a thread {most} at most"
    if not own:
        return f"{words}."
    if registers < most:
        return f"{words}; the compiler came to {registers} by itself."
    return f"{words}, and the compiler took them all."


def _registers(plan: Plan) -> tuple[int, str]:
    if isinstance(plan, KernelPlan):
        review = Review(plan.config)
        needed = min(registers_needed(review), register_limit(review))
        return needed, "the fewest that the mainloop needs"
    if isinstance(plan, WgmmaPlan):
        producer, consumer = plan.registers
        of_all = (producer + plan.groups.count * consumer) // (plan.groups.count + 1)
        return of_all // 8 * 8, "the mean of what producer and consumers take"
    return 0, ""


def room_rows(room: Room) -> dict[str, tuple[str, ...]]:
    """What an SM has, what a CTA takes of it and the CTAs that this allows; the last line is the result."""
    limits, found, card = arch(room.arch), room.found, card_of(room.arch)
    of_warp = registers_of_warp(room.registers)
    kept = limits.reserved_smem_per_block
    taken = {
        "shared memory": (
            f"{limits.smem_per_sm} B",
            f"{smem_of_cta(limits, room.smem)} B{f', {kept} of them for the driver' if kept else ''}",
        ),
        "registers": (
            f"{limits.registers_per_sm}, in 4 quarters",
            f"{found.warps * of_warp}: {found.warps} warps of {of_warp}, {room.registers} a thread",
        ),
        "threads": (f"{limits.max_threads_per_sm}", f"{room.threads}"),
        "CTA slots": (f"{limits.max_blocks_per_sm}", "1"),
    }
    rows = {
        name: (*taken[name], f"{count}", LIMITS if name in found.limited_by else "")
        for name, count in found.limits.items()
    }
    sm = f"of {room.arch}{f', for example of an {card.name}' if card else ''}"
    return {**rows, "result: the least": (sm, "", room.count, room.warps)}
