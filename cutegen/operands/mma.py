"""The MMA's view: which elements of A, B and of the output each thread holds."""

from __future__ import annotations

from cutegen.atoms import mma_atom
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout
from cutegen.layout.partition import Coords, PartitionError, mma_partition
from cutegen.operands.model import (
    Fragments,
    OutputPlan,
    PlanFault,
    Which,
    fault,
    fitted,
    permutations,
    tile_of,
)

__all__ = ["aligned_run", "derive_fragments", "derive_output", "operand_coords", "warp_positions"]


def warp_positions(cfg: GemmConfig) -> tuple[tuple[int, int], ...]:
    """(M, N) position of each group of atom threads, in thread order."""
    m, n, k = cfg.tiled_mma.layout or (1, 1, 1)
    return tuple((x, y) for _ in range(k) for y in range(n) for x in range(m))


def operand_coords(cfg: GemmConfig, which: Which) -> Coords:
    """(MN, K) coordinates of one operand's fragments, steps ordered by MMA tile.

    Raises:
        PlanFault: A permutation cuts the atom's values.
    """
    atom = mma_atom(cfg.tiled_mma.atom or "")
    perms, tile = permutations(cfg), tile_of(cfg)
    mode = 0 if which == "a" else 1
    layout = cfg.tiled_mma.layout or (1, 1, 1)
    try:
        return mma_partition(
            atom.a_tv if which == "a" else atom.b_tv,
            atom.threads,
            (atom.shape[mode], atom.shape[2]),
            (layout[mode], 1),
            tuple((w[mode], 0) for w in warp_positions(cfg)),
            (perms[mode], perms[2]),
            (tile[mode], tile[2]),
            by_tile=True,
        )
    except PartitionError as error:
        raise permutation_fault(cfg, error) from error


def permutation_fault(cfg: GemmConfig, error: PartitionError) -> PlanFault:
    atom = mma_atom(cfg.tiled_mma.atom or "")
    return fault(
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
    perms, tile = permutations(cfg), tile_of(cfg)
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


def derive_output(cfg: GemmConfig) -> OutputPlan:
    """Where each thread's accumulators lie in the output tile.

    Raises:
        PlanFault: A permutation cuts the atom's values.
    """
    atom = mma_atom(cfg.tiled_mma.atom or "")
    perms, tile = permutations(cfg), tile_of(cfg)
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
        raise permutation_fault(cfg, error) from error
    major = 1 if cfg.d.major == "n" else 0
    along, across, starts = coords.steps(major), coords.steps(1 - major), coords.threads(major)
    size = dtype(cfg.d.dtype or "f32").bytes
    vector = aligned_run(starts, along, across, 16 // size, len(along))
    field = "tiled_mma"
    return OutputPlan(
        thread_m=fitted(coords.threads(0), "thread", field),
        thread_n=fitted(coords.threads(1), "thread", field),
        register_m=fitted(coords.steps(0), "register", field),
        register_n=fitted(coords.steps(1), "register", field),
        registers=len(along),
        atoms_m=tile[0] // (atom.shape[0] * layout[0]),
        atoms_n=tile[1] // (atom.shape[1] * layout[1]),
        vector=vector,
    )


def aligned_run(starts: list[int], along: list[int], across: list[int], limit: int, count: int) -> int:
    """The longest power of two, up to ``limit``, such that steps fall into aligned runs of neighbours.

    Args:
        starts: Coordinate of each thread's start along the contiguous mode.
        along: Coordinate of each step along the contiguous mode.
        across: Coordinate of each step along the other mode.
        limit: Most elements of a run.
        count: Steps that a run must divide.
    """
    vector, run = 1, 2
    while run <= limit and count % run == 0:
        whole = all(
            along[i] % run == 0
            and all(along[i + j] == along[i] + j and across[i + j] == across[i] for j in range(1, run))
            for i in range(0, len(along), run)
        )
        if not whole or any(s % run for s in starts):
            break
        vector = run
        run *= 2
    return vector
