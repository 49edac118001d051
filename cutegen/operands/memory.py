"""The copies' view: where each thread reads and writes, in global and in shared memory."""

from __future__ import annotations

from functools import lru_cache

from cutegen.atoms import COPY_G2S, COPY_S2R, CopyAtomS2R, MmaAtom, mma_atom
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout
from cutegen.layout.partition import (
    Coords,
    PartitionError,
    TileOffsets,
    consists_of_runs,
    copy_partition,
    tile_offsets,
)
from cutegen.layout.swizzle import Swizzle, split_view
from cutegen.operands.mma import aligned_run, derive_fragments, operand_coords
from cutegen.operands.model import (
    Fragments,
    GlobalCopy,
    PlanFault,
    SharedRead,
    View,
    Which,
    fault,
    fitted,
    permutations,
    tile_of,
)
from cutegen.resources import MAX_SMEM_ALIGNMENT, swizzle_of

__all__ = ["derive_direct", "derive_g2s", "derive_s2r"]


def _smem_offsets(cfg: GemmConfig, which: Which) -> tuple[TileOffsets, Swizzle]:
    layout = getattr(cfg.smem, which)
    tile = tile_of(cfg)
    offsets = tile_offsets(layout.shape, layout.stride, (tile[0 if which == "a" else 1], tile[2]))
    return offsets, swizzle_of(layout.swizzle)


def _split(
    cfg: GemmConfig, which: Which, offsets: TileOffsets, coords: Coords, field: str
) -> tuple[list[int], list[int]]:
    try:
        return offsets.split(coords)
    except PartitionError as error:
        layout = getattr(cfg.smem, which)
        raise fault(
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
        thread=fitted(thread, "thread", field),
        step=fitted(step, "step", field),
        linear=split.linear and on_addresses,
        mask=split.mask if on_addresses else 0,
    )


def _layout(spec: LayoutSpec) -> Layout:
    return Layout.make(spec.shape, spec.stride)


_UINT = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "uint128_t"}


@lru_cache(maxsize=256)  # resolving, checking and planning ask for the same
def derive_g2s(cfg: GemmConfig, which: Which) -> GlobalCopy:
    """The copy of one operand from global to shared memory.

    Raises:
        PlanFault: The copy's pieces do not lie side by side in shared memory.
    """
    copy = getattr(cfg.g2s, which)
    operand = cfg.operand(which)
    field = f"g2s.{which}"
    tile = tile_of(cfg)
    vector = copy.bits // dtype(operand.dtype).bits
    try:
        coords = copy_partition(
            _layout(copy.threads), _layout(copy.values), vector, (tile[0 if which == "a" else 1], tile[2])
        )
    except PartitionError as error:
        raise fault(
            "g2s-bijection",
            field,
            str(error),
            "thread and value layouts must be bijective",
            "use compact strides",
        ) from error
    offsets, swizzle = _smem_offsets(cfg, which)
    thread, step = _split(cfg, which, offsets, coords, field)
    along = offsets.k if operand.major == "k" else offsets.mn
    bad = next((o for o in (*thread, *step) if o % vector), None)
    if bad is not None or not consists_of_runs(along, vector):
        place = f"at offset {bad}" if bad is not None else f"along offsets {along[:vector]}"
        raise fault(
            "g2s-vector-whole",
            f"smem.{which}",
            f"a {vector}-element vector {place}",
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
        thread_mn=fitted(coords.threads(0), "thread", field),
        thread_k=fitted(coords.threads(1), "thread", field),
        step_mn=fitted(coords.steps(0), "step", field),
        step_k=fitted(coords.steps(1), "step", field),
        view=_view(swizzle, thread, step, dtype(operand.dtype).bytes, field),
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
    vector = aligned_run(starts, along, across, limit, fragments.size)
    return GlobalCopy(
        op=f"UniversalCopy<{_UINT[vector * dtype(operand.dtype).bits]}>",
        asynchronous=False,
        vector=vector,
        steps=fragments.size // vector,
        thread_mn=fitted(coords.threads(0), "thread", field),
        thread_k=fitted(coords.threads(1), "thread", field),
        step_mn=fitted(coords.steps(0)[::vector], "step", field),
        step_k=fitted(coords.steps(1)[::vector], "step", field),
        view=None,
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


@lru_cache(maxsize=256)
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
    permutation = permutations(cfg)
    mode = 0 if which == "a" else 1
    span = atom.shape[mode] * (cfg.tiled_mma.layout or (1, 1, 1))[mode]
    per_tile = (
        (atom.a_values if which == "a" else atom.b_values)
        * (permutation[mode].size // span)
        * (permutation[2].size // atom.shape[2])
    )
    if per_tile % vector:
        raise fault(
            "s2r-values-fill-atom",
            field,
            f"{copy.name} with {per_tile * bits // 8} bytes ({per_tile * bits // 32} registers) a thread",
            f"a thread's share of the permuted tile must fill the atom's {vector * bits // 8} bytes "
            f"({copy.matrices} registers)",
            _smaller_ldmatrix(copy, per_tile * bits // 32)
            + ", a wider MMA atom, or a permutation of "
            + f"{'MN'[mode]} {permutation[mode].size * vector // per_tile}",
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
    aligned = all(
        o % row == 0
        for o in (step[c + first[8 * m]] for c in range(0, len(step), vector) for m in range(copy.matrices))
    )
    regular = all(
        step[c + v] == step[c] + step[v] for c in range(0, len(step), vector) for v in range(vector)
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
    return fault(
        "s2r-row-contiguous",
        f"s2r.{which}",
        f"{copy.name} on smem strides {layout.stride}",
        f"each 8-row matrix needs rows of {row} contiguous elements, 16-byte aligned",
        f"use {other} if the layout's contiguous mode is the other one, or UniversalCopy",
    )
