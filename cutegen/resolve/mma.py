"""The MMA atom, the CTA tile, and how warps and values repeat the atom over it."""

from __future__ import annotations

from cutegen.arch import arch
from cutegen.atoms import MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype

__all__ = ["fitting_atoms", "resolve_atom", "resolve_tile", "resolve_tiled_mma"]


def fitting_atoms(cfg: GemmConfig) -> list[MmaAtom]:
    """The atoms that fit mainloop, types and arch, the best first."""
    simt = cfg.mainloop == "simt"
    return [
        atom
        for atom in MMA_ATOMS.values()
        if atom.is_simt == simt
        and (atom.a, atom.b, atom.acc) == (cfg.a.dtype, cfg.b.dtype, cfg.accumulator)
        and atom.min_cc <= arch(cfg.arch).cc
    ]


def resolve_atom(cfg: GemmConfig) -> GemmConfig:
    """Pick the widest atom for the types; a tile that is too narrow in K gets a narrower one."""
    if cfg.tiled_mma.atom is not None:
        return cfg
    atoms = fitting_atoms(cfg)
    if cfg.tile is not None:
        blk = cfg.tile
        atoms = [a for a in atoms if all(t % s == 0 for t, s in zip(blk, a.shape, strict=True))] or atoms
    if not atoms:
        return cfg
    return cfg.model_copy(
        update={"tiled_mma": cfg.tiled_mma.model_copy(update={"atom": atoms[0].name})}
    )


def resolve_tile(cfg: GemmConfig) -> GemmConfig:
    """Pick a CTA tile: 128x128 with 64-byte k-tiles, 128-byte ones where shared memory abounds."""
    if cfg.tile is not None:
        return cfg
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    size = dtype(cfg.a.dtype).bytes
    if cfg.mainloop == "simt":
        tile = (128, 128, 8) if size <= 4 else (64, 64, 8)
    elif cfg.mainloop == "direct":
        tile = (64, 64, atom.shape[2] if atom else 16)
    elif size == 8:
        tile = (64, 64, 16)
    else:
        row = 128 if arch(cfg.arch).smem_per_block >= 200 * 1024 else 64
        tile = (128, 128, row // size)
    return cfg.model_copy(update={"tile": tile})


def _warp_split(tile: tuple[int, int, int], atom: MmaAtom) -> tuple[int, int, int] | None:
    """Warps along M and N: at most 128 accumulators a thread, little shared-memory traffic."""
    if atom.is_simt:
        splits = [
            (m, n)
            for m in (16, 8, 32, 4)
            for n in (16, 8, 32, 4)
            if tile[0] % m == 0 and tile[1] % n == 0 and 32 <= m * n <= 256
        ]
        return (*splits[0], 1) if splits else None
    scored = []
    words = dtype(atom.acc).bytes / 4
    for m in (1, 2, 4, 8):
        for n in (1, 2, 4, 8):
            if m * n > 8 or tile[0] % (atom.shape[0] * m) or tile[1] % (atom.shape[1] * n):
                continue
            warp = (tile[0] // m, tile[1] // n)
            accumulators = warp[0] * warp[1] / 32 * words
            crowded = max(0.0, accumulators - 128)
            idle = abs(m * n - 4) if accumulators <= 128 else 0
            scored.append((crowded, idle, 1 / warp[0] + 1 / warp[1], m, n))
    if not scored:
        return None
    *_, m, n = min(scored)
    return (m, n, 1)


def _repeat(registers: int, span: int, extent: int) -> int:
    """Atoms of one thread that a four-matrix ldmatrix fills at once, as far as the tile allows."""
    repeat = max(1, 4 // max(1, registers))
    while repeat > 1 and extent % (span * repeat):
        repeat //= 2
    return span * repeat


def resolve_tiled_mma(cfg: GemmConfig) -> GemmConfig:
    """Fill the atom layout and the permutation."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tile is None:
        return cfg
    layout = cfg.tiled_mma.layout or _warp_split(cfg.tile, atom)
    permutation = cfg.tiled_mma.permutation
    if permutation is None and layout is not None:
        spans = [atom.shape[i] * layout[i] for i in range(3)]
        if atom.is_simt:
            permutation = (
                _vector_permutation(cfg.tile[0], spans[0]),
                _vector_permutation(cfg.tile[1], spans[1]),
                spans[2],
            )
        else:
            regs = [v * dtype(t).bits // 32 for v, t in ((atom.a_values, atom.a), (atom.b_values, atom.b))]
            permutation = (
                _repeat(regs[0], spans[0], cfg.tile[0]),
                _repeat(regs[1], spans[1], cfg.tile[1]),
                spans[2],
            )
    update = {"layout": layout, "permutation": permutation}
    return cfg.model_copy(update={"tiled_mma": cfg.tiled_mma.model_copy(update=update)})


def _vector_permutation(extent: int, span: int) -> int | LayoutSpec:
    """Four neighbouring elements for each thread, so that its shared-memory loads are wide."""
    for run in (4, 2):
        if extent % (span * run) == 0:
            return LayoutSpec(shape=(span, run), stride=(run, 1))
    return span
