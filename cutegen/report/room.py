"""How many CTAs an SM holds and what ends there, by the compiler's figures or by what the plan shows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from cutegen import settings
from cutegen.arch import arch
from cutegen.cache import Store, ls
from cutegen.cache.entry import DamagedEntryError, read_entry
from cutegen.errors import CutegenError
from cutegen.lint.resources import register_limit, registers_needed
from cutegen.lint.review import Review
from cutegen.occupancy import Occupancy, occupancy
from cutegen.plan import KernelPlan, Plan, WgmmaPlan
from cutegen.render import RenderedKernel

__all__ = ["Built", "Room", "built", "room", "room_rows"]

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
        registers: Of a thread.
        basis: Where that number comes from.
        arch: Whose SM.
    """

    found: Occupancy
    registers: int
    basis: str
    arch: str

    @property
    def sentence(self) -> str:
        """How many CTAs, and what limits them."""
        count = self.found.ctas
        limits = " and ".join(_WORDS.get(name, name) for name in self.found.limited_by)
        return (
            f"{count} CTA{'s' * (count != 1)} per SM of {self.arch}, {self.found.ctas * self.found.warps} of "
            f"{self.found.max_warps} warps ({100 * self.found.share:.0f} %), limited by {limits}"
        )

    @property
    def sentences(self) -> str:
        """The same with what each resource allows, and where the registers come from."""
        each = ", ".join(f"{name} {count}" for name, count in self.found.limits.items())
        basis = f"Registers of a thread: {self.registers}, {self.basis}."
        return f"{self.sentence}. CTAs that each resource allows: {each}. {basis}"


def built(rendered: RenderedKernel) -> Built | None:
    """The figures of the kernel in the cache that was built last from this text; None where there is none."""
    with suppress(CutegenError, OSError):
        store = Store(settings.cache_dir())
        for entry in ls(store):
            if entry.name != rendered.name or entry.damaged:
                continue
            with suppress(DamagedEntryError, KeyError, UnicodeDecodeError):
                found = read_entry(store.path(entry.key), entry.key, verify=False)
                text = (found.dir / f"{found.name}.cu").read_text(encoding="utf-8")
                if text == rendered.text:
                    return Built(target=entry.target, resources=dict(found.meta["resources"]))
    return None


def room(plan: Plan, compiled: Built | None) -> Room | None:
    """CTAs on an SM of the config's architecture; None where only CUTLASS and the compiler know."""
    registers, basis = _registers(plan)
    smem = plan.smem_bytes
    if compiled is not None:
        registers, basis = compiled.resources["registers"], f"the compiler's, for {compiled.target}"
        smem = compiled.resources["static_smem"] + compiled.resources["dynamic_smem"]
    if not registers:
        return None
    found = occupancy(arch(plan.arch), threads=plan.threads, registers=registers, smem=smem)
    return Room(found=found, registers=registers, basis=basis, arch=plan.arch)


def _registers(plan: Plan) -> tuple[int, str]:
    if isinstance(plan, KernelPlan):
        review = Review(plan.config)
        needed = min(registers_needed(review), register_limit(review))
        return needed, "the fewest that the mainloop needs; the kernel is not in the cache"
    if isinstance(plan, WgmmaPlan):
        producer, consumer = plan.registers
        of_all = (producer + plan.groups.count * consumer) // (plan.groups.count + 1)
        return of_all // 8 * 8, "the mean of what producer and consumers take"
    return 0, ""


def room_rows(found: Room) -> dict[str, tuple[str, ...]]:
    """What each resource allows, for a table."""
    rows = {name: (f"{count} CTAs",) for name, count in found.found.limits.items()}
    return {**rows, "registers of a thread": (f"{found.registers}: {found.basis}",)}
