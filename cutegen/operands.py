"""What each thread does with its share of A, B and of the output tile: derived once, in Python.

Used by the rules, which report what cannot be derived, and by the plan, which renders the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutegen.atoms import COPY_G2S, COPY_S2R, CopyAtomS2R, MmaAtom, mma_atom
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.errors import Violation
from cutegen.layout.algebra import Layout, fit
from cutegen.layout.partition import (
    Coords,
    PartitionError,
    TileOffsets,
    copy_partition,
    mma_partition,
    tile_offsets,
)
from cutegen.layout.swizzle import Swizzle, split_view
from cutegen.resources import MAX_SMEM_ALIGNMENT, permutation_layout, swizzle_of

__all__ = [
    "Fragments",
    "GlobalCopy",
    "OutputPlan",
    "PlanFault",
    "SharedRead",
    "View",
    "derive_direct",
    "derive_fragments",
    "derive_g2s",
    "derive_output",
    "derive_s2r",
    "operand_coords",
    "warp_positions",
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


def _fault(rule: str, field: str, got: str, need: str, fix: str) -> PlanFault:
    return PlanFault(Violation(rule=rule, field=field, got=got, need=need, fix=fix))


def _fitted(table: list[int], what: str, field: str) -> Layout:
    base = table[0]
    layout = fit([t - base for t in table])
    if layout is None or base:
        raise _fault(
            "partition-is-layout",
            field,
            f"{what} offsets that are no layout",
            "the partition must be a CuTe layout",
            "use compact thread, value and permutation layouts whose extents divide each other",
        )
    return layout


def warp_positions(cfg: GemmConfig) -> list[tuple[int, int]]:
    """(M, N) position of each group of atom threads, in thread order."""
    m, n, k = cfg.tiled_mma.layout or (1, 1, 1)
    return [(x, y) for _ in range(k) for y in range(n) for x in range(m)]


def _permutations(cfg: GemmConfig) -> tuple[Layout, Layout, Layout]:
    m, n, k = cfg.tiled_mma.permutation or (1, 1, 1)
    return permutation_layout(m), permutation_layout(n), permutation_layout(k)


def _tile(cfg: GemmConfig) -> tuple[int, int, int]:
    return cfg.tile or (0, 0, 0)


def operand_coords(cfg: GemmConfig, which: Which) -> Coords:
    """(MN, K) coordinates of one operand's fragments, steps ordered by MMA tile.

    Raises:
        PlanFault: A permutation cuts the atom's values.
    """
    atom = mma_atom(cfg.tiled_mma.atom or "")
    perms, tile = _permutations(cfg), _tile(cfg)
    mode = 0 if which == "a" else 1
    layout = cfg.tiled_mma.layout or (1, 1, 1)
    try:
        return mma_partition(
            atom.a_tv if which == "a" else atom.b_tv,
            atom.threads,
            (atom.shape[mode], atom.shape[2]),
            (layout[mode], 1),
            [(w[mode], 0) for w in warp_positions(cfg)],
            (perms[mode], perms[2]),
            (tile[mode], tile[2]),
            by_tile=True,
        )
    except PartitionError as error:
        raise _permutation_fault(cfg, error) from error


def _permutation_fault(cfg: GemmConfig, error: PartitionError) -> PlanFault:
    atom = mma_atom(cfg.tiled_mma.atom or "")
    return _fault(
        "permutation-keeps-atom",
        "tiled_mma.permutation",
        str(error),
        f"each mode must permute whole pieces of the {'x'.join(map(str, atom.shape))} atom",
        "use an extent instead of a layout, or a layout whose mode extents divide the atom's extents",
    )


def derive_fragments(cfg: GemmConfig, which: Which) -> Fragments:
    """Register layout of one operand's fragments of one k-block."""
    atom = mma_atom(cfg.tiled_mma.atom or "")
    mode = 0 if which == "a" else 1
    values = atom.a_values if which == "a" else atom.b_values
    perms, tile = _permutations(cfg), _tile(cfg)
    span = atom.shape[mode] * (cfg.tiled_mma.layout or (1, 1, 1))[mode]
    inner, reps = perms[mode].size // span, tile[mode] // perms[mode].size
    atoms_k = perms[2].size // atom.shape[2]
    if atoms_k == 1:
        layout = Layout((values, inner * reps, 1), (1, values, 0))
    else:
        layout = Layout(
            (values, (inner, reps), atoms_k),
            (1, (values, values * inner * atoms_k), values * inner),
        )
    return Fragments(
        layout=layout,
        atoms_mn=inner * reps,
        atoms_k=atoms_k,
        k_blocks=tile[2] // perms[2].size,
        size=values * inner * reps * atoms_k,
    )


def _smem_offsets(cfg: GemmConfig, which: Which) -> tuple[TileOffsets, Swizzle]:
    layout = getattr(cfg.smem, which)
    tile = _tile(cfg)
    offsets = tile_offsets(layout.shape, layout.stride, (tile[0 if which == "a" else 1], tile[2]))
    return offsets, swizzle_of(layout.swizzle)


def _split(
    cfg: GemmConfig, which: Which, offsets: TileOffsets, coords: Coords, field: str
) -> tuple[list[int], list[int]]:
    try:
        return offsets.split(coords)
    except PartitionError as error:
        layout = getattr(cfg.smem, which)
        raise _fault(
            "smem-atom-keeps-partition",
            f"smem.{which}.shape",
            f"{layout.shape} under {field}: {error}",
            "the layout atom must not cut a thread's run of elements",
            "use an atom whose extents are powers of two that divide the tile",
        ) from error


def _view(swizzle: Swizzle, thread: list[int], step: list[int], size: int, field: str) -> View:
    split = split_view(swizzle, thread, step)
    # The kernel xors addresses, not offsets, so the buffer's base must have no bits where the swizzle acts.
    on_addresses = swizzle.reach * size <= MAX_SMEM_ALIGNMENT
    return View(
        thread=_fitted(thread, "thread", field),
        step=_fitted(step, "step", field),
        linear=split.linear and on_addresses,
        mask=split.mask if on_addresses else 0,
    )


def _layout(spec: LayoutSpec) -> Layout:
    return Layout.make(spec.shape, spec.stride)


_UINT = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "uint128_t"}


def derive_g2s(cfg: GemmConfig, which: Which) -> GlobalCopy:
    """The copy of one operand from global to shared memory.

    Raises:
        PlanFault: The copy's pieces do not lie side by side in shared memory.
    """
    copy = getattr(cfg.g2s, which)
    operand = cfg.operand(which)
    field = f"g2s.{which}"
    tile = _tile(cfg)
    vector = copy.bits // dtype(operand.dtype).bits
    try:
        coords = copy_partition(
            _layout(copy.threads), _layout(copy.values), vector, (tile[0 if which == "a" else 1], tile[2])
        )
    except PartitionError as error:
        raise _fault(
            "g2s-bijection", field, str(error), "thread and value layouts must be bijective", "use compact strides"
        ) from error
    offsets, swizzle = _smem_offsets(cfg, which)
    thread, step = _split(cfg, which, offsets, coords, field)
    along = offsets.k if operand.major == "k" else offsets.mn
    bad = next((o for o in (*thread, *step) if o % vector), None)
    if bad is not None or not _runs_of(along, vector):
        raise _fault(
            "g2s-vector-whole",
            f"smem.{which}",
            f"a {vector}-element vector at offset {bad if bad is not None else along[1]}",
            f"each {copy.bits}-bit vector must be contiguous and aligned in shared memory",
            f"make strides multiples of {vector} elements, or use narrower copies",
        )
    atom = COPY_G2S[copy.atom]
    op = f"{atom.name}<{_UINT[copy.bits]}>"
    if atom.asynchronous:
        op = f"{atom.name}_ZFILL<{_UINT[copy.bits]}>"
    return GlobalCopy(
        op=op,
        asynchronous=atom.asynchronous,
        vector=vector,
        steps=len(coords.step),
        thread_mn=_fitted(coords.threads(0), "thread", field),
        thread_k=_fitted(coords.threads(1), "thread", field),
        step_mn=_fitted(coords.steps(0), "step", field),
        step_k=_fitted(coords.steps(1), "step", field),
        view=_view(swizzle, thread, step, dtype(operand.dtype).bytes, field),
    )


def _runs_of(offsets: tuple[int, ...], run: int) -> bool:
    return all(
        offsets[i + j] == offsets[i] + j for i in range(0, len(offsets), run) for j in range(1, run)
    )


def _contiguous_values(thread: list[int], step: list[int], limit: int, swizzle: Swizzle) -> int:
    """Neighbouring values that a plain load can take at once: contiguous, aligned, not cut by the swizzle."""
    best = 1
    run = 2
    while run <= limit and len(step) % run == 0:
        whole = all(
            step[i] % run == 0 and all(step[i + j] == step[i] + j for j in range(1, run))
            for i in range(0, len(step), run)
        )
        if not whole or any(t % run for t in thread) or (swizzle.b and (1 << swizzle.m) < run):
            break
        best = run
        run *= 2
    return best


def derive_s2r(cfg: GemmConfig, which: Which) -> SharedRead:
    """The copy of one operand from shared memory to its fragments.

    Raises:
        PlanFault: The fragments do not fit the copy atom, or its rows are not contiguous.
    """
    atom = mma_atom(cfg.tiled_mma.atom or "")
    coords = operand_coords(cfg, which)
    offsets, swizzle = _smem_offsets(cfg, which)
    field = f"s2r.{which}"
    thread, step = _split(cfg, which, offsets, coords, "tiled_mma")
    fragments = derive_fragments(cfg, which)
    copy = COPY_S2R[getattr(cfg.s2r, which)]
    bits = dtype(cfg.operand(which).dtype).bits
    if copy.kind == "universal":
        vector = _contiguous_values(thread, step[: fragments.size], 128 // bits, swizzle)
        if not _runs_in_every_block(step, vector):
            vector = 1
        return SharedRead(
            op=f"UniversalCopy<{_UINT[vector * bits]}>",
            vector=vector,
            width=vector,
            copies=fragments.size // vector,
            view=_view(swizzle, thread, step[::vector], bits // 8, field),
        )
    return _ldmatrix(cfg, which, copy, atom, thread, step, fragments, swizzle)


def _runs_in_every_block(step: list[int], run: int) -> bool:
    return all(
        step[i] % run == 0 and step[i + j] == step[i] + j
        for i in range(0, len(step), run)
        for j in range(run)
    )


def _ldmatrix(
    cfg: GemmConfig,
    which: Which,
    copy: CopyAtomS2R,
    atom: MmaAtom,
    thread: list[int],
    step: list[int],
    fragments: Fragments,
    swizzle: Swizzle,
) -> SharedRead:
    """Addresses of ldmatrix rows (PTX ISA, ldmatrix: lane l supplies row l % 8 of matrix l / 8)."""
    field = f"s2r.{which}"
    bits = dtype(cfg.operand(which).dtype).bits
    vector, row, piece = copy.values(bits), 128 // bits, 32 // bits
    permutation = _permutations(cfg)
    mode = 0 if which == "a" else 1
    span = atom.shape[mode] * (cfg.tiled_mma.layout or (1, 1, 1))[mode]
    per_tile = (
        (atom.a_values if which == "a" else atom.b_values)
        * (permutation[mode].size // span)
        * (permutation[2].size // atom.shape[2])
    )
    if per_tile % vector:
        raise _fault(
            "s2r-values-fill-atom",
            field,
            f"{copy.name} with {per_tile * bits // 8} bytes ({per_tile * bits // 32} registers) a thread",
            f"a thread's share of the permuted tile must fill the atom's {vector * bits // 8} bytes "
            f"({copy.matrices} registers)",
            _smaller_ldmatrix(copy, per_tile * bits // 32)
            + f", a wider MMA atom, or a permutation of {'MN'[mode]} {permutation[mode].size * vector // per_tile}",
        )
    lane_of, first = [], []
    for lane in range(32):
        matrix, r = lane // 8 % copy.matrices, lane % 8
        lane_of.append(r // 2 if copy.transposed else r * 4)
        first.append(matrix * piece + (r % 2 if copy.transposed else 0))
    for warp in range(0, len(thread), 32):
        for r in range(8):
            for w in range(row):
                source = (w * 4 + r // 2) if copy.transposed else (r * 4 + w // piece)
                value = (r % 2) if copy.transposed else (w % piece)
                start = thread[warp + lane_of[r]] + step[first[r]]
                if thread[warp + source] + step[value] != start + w or start % row:
                    raise _row_fault(which, copy, cfg, row)
    aligned = all(o % row == 0 for o in (step[c + first[8 * m]] for c in range(0, len(step), vector) for m in range(copy.matrices)))
    regular = all(
        step[c + v] == step[c] + step[v]
        for c in range(0, len(step), vector)
        for v in range(vector)
    )
    if not aligned or not regular:
        raise _row_fault(which, copy, cfg, row)
    base = [
        thread[warp + lane_of[lane]] + step[first[lane]]
        for warp in range(0, len(thread), 32)
        for lane in range(32)
    ]
    return SharedRead(
        op=copy.name,
        vector=vector,
        width=row,
        copies=fragments.size // vector,
        view=_view(swizzle, base, step[::vector], bits // 8, field),
    )


def _smaller_ldmatrix(copy: CopyAtomS2R, registers: int) -> str:
    fitting = [n for n in (4, 2, 1) if registers % n == 0 and n < copy.matrices]
    kind = "U16x{}_LDSM_T" if copy.transposed else "U32x{}_LDSM_N"
    names = [f"SM75_{kind.format(2 * n if copy.transposed else n)}" for n in fitting]
    return "use " + " or ".join(names) if names else "use UniversalCopy"


def _row_fault(which: Which, copy: CopyAtomS2R, cfg: GemmConfig, row: int) -> PlanFault:
    layout = getattr(cfg.smem, which)
    other = "SM75_U16x8_LDSM_T" if not copy.transposed else "SM75_U32x4_LDSM_N"
    return _fault(
        "s2r-row-contiguous",
        f"s2r.{which}",
        f"{copy.name} on smem strides {layout.stride}",
        f"each 8-row matrix needs rows of {row} contiguous elements, 16-byte aligned",
        f"use {other} if the layout's contiguous mode is the other one, or UniversalCopy",
    )


def derive_direct(cfg: GemmConfig, which: Which) -> GlobalCopy:
    """The load of one operand from global memory straight into its fragments."""
    operand = cfg.operand(which)
    coords = operand_coords(cfg, which)
    fragments = derive_fragments(cfg, which)
    field = "tiled_mma"
    contiguous = 1 if operand.major == "k" else 0
    along, across = coords.steps(contiguous), coords.steps(1 - contiguous)
    starts = coords.threads(contiguous)
    limit = min(16, operand.align or 16) * 8 // dtype(operand.dtype).bits
    vector, run = 1, 2
    while run <= limit and fragments.size % run == 0:
        whole = all(
            along[i] % run == 0
            and all(along[i + j] == along[i] + j and across[i + j] == across[i] for j in range(1, run))
            for i in range(0, len(along), run)
        )
        if not whole or any(s % run for s in starts):
            break
        vector = run
        run *= 2
    return GlobalCopy(
        op=f"UniversalCopy<{_UINT[vector * dtype(operand.dtype).bits]}>",
        asynchronous=False,
        vector=vector,
        steps=fragments.size // vector,
        thread_mn=_fitted(coords.threads(0), "thread", field),
        thread_k=_fitted(coords.threads(1), "thread", field),
        step_mn=_fitted(coords.steps(0)[::vector], "step", field),
        step_k=_fitted(coords.steps(1)[::vector], "step", field),
        view=None,
    )


def derive_output(cfg: GemmConfig) -> OutputPlan:
    """Where each thread's accumulators lie in the output tile.

    Raises:
        PlanFault: A permutation cuts the atom's values.
    """
    atom = mma_atom(cfg.tiled_mma.atom or "")
    perms, tile = _permutations(cfg), _tile(cfg)
    layout = cfg.tiled_mma.layout or (1, 1, 1)
    try:
        coords = mma_partition(
            atom.c_tv,
            atom.threads,
            (atom.shape[0], atom.shape[1]),
            (layout[0], layout[1]),
            warp_positions(cfg),
            (perms[0], perms[1]),
            (tile[0], tile[1]),
            by_tile=False,
        )
    except PartitionError as error:
        raise _permutation_fault(cfg, error) from error
    major = 1 if cfg.d.major == "n" else 0
    along, across, starts = coords.steps(major), coords.steps(1 - major), coords.threads(major)
    vector, run = 1, 2
    size = dtype(cfg.d.dtype or "f32").bytes
    while run * size <= 16 and len(along) % run == 0:
        whole = all(
            along[i] % run == 0
            and all(along[i + j] == along[i] + j and across[i + j] == across[i] for j in range(1, run))
            for i in range(0, len(along), run)
        )
        if not whole or any(s % run for s in starts):
            break
        vector = run
        run *= 2
    field = "tiled_mma"
    return OutputPlan(
        thread_m=_fitted(coords.threads(0), "thread", field),
        thread_n=_fitted(coords.threads(1), "thread", field),
        register_m=_fitted(coords.steps(0), "register", field),
        register_n=_fitted(coords.steps(1), "register", field),
        registers=len(along),
        atoms_m=tile[0] // (atom.shape[0] * layout[0]),
        atoms_n=tile[1] // (atom.shape[1] * layout[1]),
        vector=vector,
    )
