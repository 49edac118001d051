"""What each kind of access costs: wavefronts in shared memory, sectors of global memory.

Counted from the plan's layouts for one whole CTA tile, as the emulator counts them from addresses; a test
compares the two. Shared memory follows :mod:`cutegen.layout.banks`; ``cp.async.cg`` has no wavefronts there,
since the hardware's counters see none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from cutegen.dtypes import dtype
from cutegen.layout.banks import AccessKind, cp_async_ca_wavefronts, phase_lanes, wavefronts
from cutegen.operands import GlobalCopy, SharedRead, View
from cutegen.plan import KernelPlan, OperandPlan, Plan, WgmmaPlan
from cutegen.resources import swizzle_of
from cutegen.vectors import Vector, vectors_of

__all__ = ["Access", "Space", "accesses", "register_loads", "shared_accesses", "targets", "warps"]

_WARP = 32
_SECTOR = 32  # bytes
_LINE = 128  # bytes: all banks once, and a line of the L1 cache
_ROW = 1 << 20  # bytes from row to row of a matrix, unless it is said

Space = Literal["shared", "global"]
Requests = Iterable[Sequence[int | None]]


@dataclass(frozen=True, kw_only=True)
class Access:
    """All warp-wide accesses of one kind that one CTA makes for one whole k-tile, or for its output tile.

    Attributes:
        name: From where to where: ``G2S A``, ``S2R B``, ``R2S D``, ``S2G D``, ``R2G D``, ``G2R A``,
            ``G2R scale_a``.
        op: The instruction: ``cp.async.cg``, ``cp.async.ca``, ``ldmatrix``, ``load`` or ``store``.
        space: ``shared``, whose cost is in wavefronts, or ``global``, in sectors of 32 bytes.
        bytes: Of one lane; of one row for ldmatrix.
        per: ``k-tile`` or ``tile``.
        requests: Warp-wide accesses.
        cost: Wavefronts or sectors of all of them.
        ideal: The fewest in which their words, or bytes, could be had.
        worst: The largest cost of one of them.
        ways: The largest ratio of the two in one phase of one access: 8 is an 8-way bank conflict.
    """

    name: str
    op: str
    space: Space
    bytes: int
    per: Literal["k-tile", "tile"]
    requests: int
    cost: int
    ideal: int
    worst: int
    ways: float

    @property
    def degree(self) -> float:
        """Cost over ideal: 1 is without conflicts, or without waste."""
        return self.cost / self.ideal if self.ideal else 1.0

    @property
    def unit(self) -> str:
        """What is counted."""
        return "wavefronts" if self.space == "shared" else "sectors"

    def to_dict(self) -> dict[str, Any]:
        """The access as a JSON-ready dictionary."""
        return {
            **{name: getattr(self, name) for name in ("name", "op", "space", "bytes", "per", "requests")},
            **{"unit": self.unit, "cost": self.cost, "ideal": self.ideal, "worst": self.worst},
            "degree": round(self.degree, 4),
            "ways": round(self.ways, 4),
        }


class _Cost(NamedTuple):
    """Of one request."""

    cost: int
    ideal: int
    ways: float


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a tile lies in global memory.

    Attributes:
        pitches: Elements from row to row of A, B and D; a mebibyte where they are not said.
        origin: Its first row, column and element along K.
    """

    pitches: dict[str, int] = field(default_factory=dict)
    origin: tuple[int, int, int] = (0, 0, 0)

    def pitch(self, name: str, size: int) -> int:
        return self.pitches.get(name, _ROW // size)


def accesses(
    plan: Plan, leading: dict[str, int] | None = None, origin: tuple[int, int, int] = (0, 0, 0)
) -> tuple[Access, ...]:
    """Every access of a kernel that costs wavefronts or sectors, beta being 0; none of bulk copies.

    Of ``tma_wgmma`` they are the loads of an operand that passes through registers.

    Args:
        plan: The kernel.
        leading: Leading strides of ``a``, ``b`` and ``d`` in elements; a mebibyte where they are not said.
        origin: The first row and column of the tile, and where its k-tile begins: tiles that are no whole
            sectors wide lie differently on them.
    """
    if isinstance(plan, WgmmaPlan):
        return register_loads(plan)
    if not isinstance(plan, KernelPlan):
        return ()
    place = _Place(pitches=leading or {}, origin=origin)
    found: list[Access | None] = [_from_global(plan, operand, place) for operand in (plan.a, plan.b)]
    found += [_into_shared(plan, operand, place) for operand in (plan.a, plan.b)]
    found += [_from_shared(plan, operand) for operand in (plan.a, plan.b)]
    found += [_vector(plan, vector, place) for vector in vectors_of(plan.config)]
    found += _output(plan, place)
    return tuple(access for access in found if access is not None)


def register_loads(plan: WgmmaPlan) -> tuple[Access, ...]:
    """How a ``tma_wgmma`` kernel's consumers load the operand that passes through registers, if one does.

    Operations, k-steps and warpgroups lie whole periods of the swizzle apart, so that all cost alike.
    """
    read = plan.a.registers
    if read is None:
        return ()
    groups, k_steps = plan.groups, plan.tile[2] // plan.atom.shape[2]
    times = (1 if groups.pingpong else groups.count) * groups.atoms_m * k_steps
    name = f"S2R {plan.a.map.matrix.upper()}"
    return (_shared(name, "load", 4, warps(read.loads()) * times, "load", per="k-tile"),)


def shared_accesses(plan: KernelPlan, operand: OperandPlan) -> tuple[Access, ...]:
    """An operand's way through shared memory, of a k-tile; rows of global memory are a mebibyte apart."""
    found = (_into_shared(plan, operand, _Place()), _from_shared(plan, operand))
    return tuple(access for access in found if access is not None)


# ---- the operands


def _size(plan: KernelPlan, operand: OperandPlan) -> int:
    return dtype(plan.config.operand(operand.which).dtype).bytes


def _sources(plan: KernelPlan, operand: OperandPlan, place: _Place) -> list[list[int]]:
    """Byte offset in global memory by step and thread, of one k-tile."""
    copy, size = operand.copy, _size(plan, operand)
    ld = place.pitch(operand.which, size)
    m, n, k_begin = place.origin
    mn_begin = m if operand.which == "a" else n
    mn_stride, k_stride = (ld, 1) if plan.config.operand(operand.which).major == "k" else (1, ld)
    threads = [
        ((mn_begin + mn) * mn_stride + (k_begin + k) * k_stride) * size
        for mn, k in zip(copy.thread_mn.table(), copy.thread_k.table(), strict=True)
    ]
    steps = [
        (mn * mn_stride + k * k_stride) * size
        for mn, k in zip(copy.step_mn.table(), copy.step_k.table(), strict=True)
    ]
    return [[thread + step for thread in threads] for step in steps]


def targets(plan: KernelPlan, operand: OperandPlan, view: View) -> list[list[int]]:
    """Byte offset in shared memory by step and thread."""
    layout = plan.config.smem.a if operand.which == "a" else plan.config.smem.b
    swizzle = swizzle_of(layout.swizzle if layout else "none")
    size = _size(plan, operand)
    threads, steps = view.thread.table(), view.step.table()
    return [[swizzle(thread + step) * size for thread in threads] for step in steps]


def _op(copy: GlobalCopy) -> str:
    if not copy.asynchronous:
        return "load"
    return "cp.async.cg" if "CACHEGLOBAL" in copy.op else "cp.async.ca"


def _from_global(plan: KernelPlan, operand: OperandPlan, place: _Place) -> Access:
    copy, size = operand.copy, _size(plan, operand)
    return _global(
        f"{'G2R' if copy.view is None else 'G2S'} {operand.which.upper()}",
        _op(copy),
        copy.vector * size,
        warps(_sources(plan, operand, place)),
        per="k-tile",
    )


def _into_shared(plan: KernelPlan, operand: OperandPlan, place: _Place) -> Access | None:
    copy = operand.copy
    if copy.view is None or _op(copy) == "cp.async.cg":
        return None
    name, width = f"G2S {operand.which.upper()}", copy.vector * _size(plan, operand)
    into = warps(targets(plan, operand, copy.view))
    if not copy.asynchronous:
        return _shared(name, "store", width, into, "store", per="k-tile")
    sources = warps(_sources(plan, operand, place))
    costs = [_copied(to, of, width) for to, of in zip(into, sources, strict=True)]
    return _sum(name, "cp.async.ca", "shared", width, "k-tile", costs)


def _copied(to: Sequence[int | None], of: Sequence[int | None], width: int) -> _Cost:
    """A ``cp.async.ca``, which passes once for each line that it reads."""
    passes: dict[int, list[int]] = {}
    for target, source in zip(to, of, strict=True):
        if target is not None and source is not None:
            passes.setdefault(source // _LINE, []).append(target)
    costs = [cp_async_ca_wavefronts(targets, [0] * len(targets), width) for targets in passes.values()]
    ideals = [-(-len(targets) * width // _LINE) for targets in passes.values()]
    return _Cost(sum(costs), sum(ideals), _ways(costs, ideals))


def _ways(costs: Sequence[int], ideals: Sequence[int]) -> float:
    return max((cost / ideal for cost, ideal in zip(costs, ideals, strict=True) if ideal), default=1.0)


def _from_shared(plan: KernelPlan, operand: OperandPlan) -> Access | None:
    read: SharedRead | None = operand.read
    if read is None:
        return None
    name, size = f"S2R {operand.which.upper()}", _size(plan, operand)
    requests = warps(targets(plan, operand, read.view))
    if "LDSM" not in read.op:
        return _shared(name, "load", read.vector * size, requests, "load", per="k-tile")
    lanes = 8 * (read.vector * size // 4)  # a matrix gives each lane 4 bytes, and takes 8 rows
    return _shared(name, "ldmatrix", 16, (r[:lanes] for r in requests), "ldmatrix", per="k-tile")


# ---- the output


def _output(plan: KernelPlan, place: _Place) -> Iterator[Access]:
    cfg, output = plan.config, plan.output
    n_major = cfg.d.major == "n"
    size = dtype(cfg.d.dtype or "f32").bytes
    threads = list(zip(output.thread_m.table(), output.thread_n.table(), strict=True))
    registers = list(zip(output.register_m.table(), output.register_n.table(), strict=True))

    def fragments(pitch: int, every: int, m_begin: int = 0, n_begin: int = 0) -> list[list[int]]:
        m_stride, n_stride = (pitch, 1) if n_major else (1, pitch)
        return [
            [((m_begin + m + i) * m_stride + (n_begin + n + j) * n_stride) * size for m, n in threads]
            for i, j in registers[::every]
        ]

    ld, (m, n, _) = place.pitch("d", size), place.origin
    if cfg.epilogue.store != "smem":
        stores = warps(fragments(ld, plan.d_vector, m, n))
        yield _global("R2G D", "store", plan.d_vector * size, stores, per="tile")
        return
    staged = warps(fragments(plan.pitch, output.vector))
    yield _shared("R2S D", "store", output.vector * size, staged, "store", per="tile")
    width = plan.d_vector * size
    rows = warps(_rows(plan, lambda row, column: (row * plan.pitch + column) * size))
    yield _shared("S2G D", "load", width, rows, "load", per="tile")
    row_begin, column_begin = (m, n) if n_major else (n, m)
    lines = warps(_rows(plan, lambda row, column: ((row_begin + row) * ld + column_begin + column) * size))
    yield _global("S2G D", "store", width, lines, per="tile")


def _vector(plan: KernelPlan, vector: Vector, place: _Place) -> Access:
    """A scale or the bias: each thread loads the elements of its rows, or of its columns, one at a time."""
    output, size = plan.output, vector.element.bytes
    places = {
        "1": ([0] * plan.threads, [0]),
        "m": (output.thread_m.table(), output.rows[1].table()),
        "n": (output.thread_n.table(), output.columns[1].table()),
    }
    threads, elements = places[vector.extent]
    begin = {"1": 0, "m": place.origin[0], "n": place.origin[1]}[vector.extent]
    loads = [[(begin + thread + element) * size for thread in threads] for element in elements]
    return _global(f"G2R {vector.name}", "load", size, warps(loads), per="tile")


def _rows(plan: KernelPlan, offset: Callable[[int, int], int]) -> list[list[int | None]]:
    """Vectors of the output tile, row by row, by turn and thread; None for a thread that has none."""
    blk_m, blk_n, _ = plan.tile
    run, rows = (blk_n, blk_m) if plan.config.d.major == "n" else (blk_m, blk_n)
    pieces = run // plan.d_vector
    return [
        [
            offset(piece // pieces, piece % pieces * plan.d_vector) if piece < rows * pieces else None
            for piece in range(first, first + plan.threads)
        ]
        for first in range(0, rows * pieces, plan.threads)
    ]


# ---- counting


def warps(steps: Sequence[Sequence[int | None]]) -> list[tuple[int | None, ...]]:
    """The requests of steps by thread: one for each step and warp with a lane that takes part."""
    requests = (
        tuple(threads[first : first + _WARP]) for threads in steps for first in range(0, len(threads), _WARP)
    )
    return [r for r in requests if any(offset is not None for offset in r)]


def _sum(
    name: str,
    op: str,
    space: Space,
    width: int,
    per: Literal["k-tile", "tile"],
    costs: Sequence[_Cost],
) -> Access:
    return Access(
        name=name,
        op=op,
        space=space,
        bytes=width,
        per=per,
        requests=len(costs),
        cost=sum(one.cost for one in costs),
        ideal=sum(one.ideal for one in costs),
        worst=max((one.cost for one in costs), default=0),
        ways=max((one.ways for one in costs), default=1.0),
    )


def _global(name: str, op: str, width: int, requests: Requests, *, per: Literal["k-tile", "tile"]) -> Access:
    return _sum(name, op, "global", width, per, [_sectors(_moved(r, _SECTOR), width) for r in requests])


def _shared(
    name: str, op: str, width: int, requests: Requests, kind: AccessKind, *, per: Literal["k-tile", "tile"]
) -> Access:
    return _sum(
        name, op, "shared", width, per, [_wavefronts(_moved(r, _LINE), width, kind) for r in requests]
    )


def _moved(request: Sequence[int | None], unit: int) -> tuple[int | None, ...]:
    """The request moved down by whole units, which changes no cost, so that equal ones are counted once."""
    base = min(offset for offset in request if offset is not None) // unit * unit
    return tuple(None if offset is None else offset - base for offset in request)


@lru_cache(maxsize=4096)
def _sectors(request: tuple[int | None, ...], width: int) -> _Cost:
    given = [offset for offset in request if offset is not None]
    touched = {s for o in given for s in range(o // _SECTOR, (o + width - 1) // _SECTOR + 1)}
    distinct = len({byte for o in given for byte in range(o, o + width, min(width, 4))}) * min(width, 4)
    ideal = -(-distinct // _SECTOR)
    return _Cost(len(touched), ideal, len(touched) / ideal)


@lru_cache(maxsize=4096)
def _wavefronts(request: tuple[int | None, ...], width: int, kind: AccessKind) -> _Cost:
    lanes = phase_lanes(request, width, kind)
    phases = [request[first : first + lanes] for first in range(0, len(request), lanes)]
    costs = [wavefronts(phase, width, kind) for phase in phases]
    ideals = [-(-len(_words(phase, width)) // 32) for phase in phases]
    return _Cost(sum(costs), sum(ideals), _ways(costs, ideals))


def _words(request: Iterable[int | None], width: int) -> set[int]:
    """The 4-byte words that a request touches."""
    return {word for o in request if o is not None for word in range(o // 4, (o + width + 3) // 4)}
