"""The facts about one thread's share that a kernel needs, and the fault when there are none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.layout.algebra import Layout, fit
from cutegen.resources import permutation_layout

__all__ = [
    "Fragments",
    "GlobalCopy",
    "OutputPlan",
    "PlanFault",
    "SharedRead",
    "View",
    "Which",
    "fault",
    "fitted",
    "permutations",
    "tile_of",
]

Which = Literal["a", "b"]


class PlanFault(Exception):
    """A partition of an otherwise well-formed config that no CuTe layout expresses."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


@dataclass(frozen=True, kw_only=True)
class View:
    """Addresses ``swizzle(thread + step)`` in shared memory, in elements.

    Attributes:
        thread: Thread index to offset before the swizzle.
        step: Step index to offset before the swizzle.
        linear: Whether the swizzle may be applied to thread and step apart (see ``split_view``).
        mask: Then: the bits in which the two are xored.
    """

    thread: Layout
    step: Layout
    linear: bool
    mask: int


@dataclass(frozen=True, kw_only=True)
class GlobalCopy:
    """One operand's copy from global memory; steps are single vectors.

    Attributes:
        op: C++ type of the copy operation.
        asynchronous: Whether it is cp.async; otherwise the vector passes through registers.
        vector: Elements of one copy.
        steps: Copies of one thread per k-tile.
        thread_mn: Thread index to MN coordinate in the tile; likewise the others.
        view: The shared-memory side; None when the copy ends in registers.
    """

    op: str
    asynchronous: bool
    vector: int
    steps: int
    thread_mn: Layout
    thread_k: Layout
    step_mn: Layout
    step_k: Layout
    view: View | None


@dataclass(frozen=True, kw_only=True)
class SharedRead:
    """One operand's copy from shared memory to the fragments of a k-block.

    Attributes:
        op: C++ type of the copy operation.
        vector: Elements that one thread receives in one copy.
        width: Elements at the address that a lane supplies (an ldmatrix row, or the vector).
        copies: Copies of one thread per k-block.
        view: Step index is ``copy + copies * k_block``.
    """

    op: str
    vector: int
    width: int
    copies: int
    view: View


@dataclass(frozen=True, kw_only=True)
class Fragments:
    """Fragments of one operand for one k-block.

    Attributes:
        layout: (value, atom along MN, atom along K) to register index, in elements.
        atoms_mn: MMA atoms of one thread along MN.
        atoms_k: MMA atoms in one k-block.
        k_blocks: k-blocks in one k-tile.
        size: Elements of one k-block.
    """

    layout: Layout
    atoms_mn: int
    atoms_k: int
    k_blocks: int
    size: int


@dataclass(frozen=True, kw_only=True)
class OutputPlan:
    """Where each thread's accumulators lie in the (M, N) tile.

    Attributes:
        thread_m: Thread index to row; likewise thread_n.
        register_m: Accumulator index (value, atom along M, atom along N) to row; likewise register_n.
        registers: Accumulators of one thread.
        atoms_m: MMA atoms of one thread along M; likewise atoms_n.
        vector: Neighbouring accumulators that lie side by side along D's major mode.
    """

    thread_m: Layout
    thread_n: Layout
    register_m: Layout
    register_n: Layout
    registers: int
    atoms_m: int
    atoms_n: int
    vector: int

    @property
    def rows(self) -> tuple[Layout, Layout]:
        """A thread's rows: (accumulator) to row, and (row) to M."""
        return _grid(self.register_m)

    @property
    def columns(self) -> tuple[Layout, Layout]:
        """A thread's columns: (accumulator) to column, and (column) to N."""
        return _grid(self.register_n)

    def transposed(self) -> OutputPlan:
        """The same of D^T."""
        return replace(
            self,
            thread_m=self.thread_n,
            thread_n=self.thread_m,
            register_m=self.register_n,
            register_n=self.register_m,
            atoms_m=self.atoms_n,
            atoms_n=self.atoms_m,
        )


def _grid(places: Layout) -> tuple[Layout, Layout]:
    """The places of (accumulator) to place, numbered: (accumulator) to number, and (number) to place."""
    extents, strides, numbers, count = [1], [0], [], 1
    for extent, stride in places.modes:
        numbers.append(count if stride else 0)
        if stride:
            extents.append(extent)
            strides.append(stride)
            count *= extent
    return (
        Layout(tuple(extent for extent, _ in places.modes), tuple(numbers)),
        Layout(tuple(extents[1:] or extents), tuple(strides[1:] or strides)),
    )


def fault(rule: str, field: str, got: str, need: str, fix: str) -> PlanFault:
    """A fault with its violation."""
    return PlanFault(Violation(rule=rule, field=field, got=got, need=need, fix=fix))


def fitted(table: list[int], what: str, field: str) -> Layout:
    """The layout of a table of offsets.

    Raises:
        PlanFault: There is none.
    """
    base = table[0]
    layout = fit([t - base for t in table])
    if layout is None or base:
        raise fault(
            "partition-is-layout",
            field,
            f"{what} offsets that are no layout",
            "the partition must be a CuTe layout",
            "use compact thread, value and permutation layouts whose extents divide each other",
        )
    return layout


def permutations(cfg: GemmConfig) -> tuple[Layout, Layout, Layout]:
    """The TiledMMA's permutation of M, N and K."""
    m, n, k = cfg.tiled_mma.permutation or (1, 1, 1)
    return permutation_layout(m), permutation_layout(n), permutation_layout(k)


def tile_of(cfg: GemmConfig) -> tuple[int, int, int]:
    """The CTA tile of a config that has one."""
    return cfg.tile or (0, 0, 0)
