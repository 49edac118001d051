"""The MMA atom, the CTA tile, and how warps and values repeat the atom over it."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm

from cutegen.arch import arch
from cutegen.atoms import MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.layout.algebra import product

__all__ = ["fitting_atoms", "layouts", "permutations", "resolve_atom", "spans", "tile_units", "tiles"]

Extents = tuple[int, int, int]

_MAX_THREADS = 1024
_FACTORS = (1, 2, 3, 4, 6, 8)
_MOST_MULTIPLES = 48  # tiles of odd proportions to try
_MOST_CHOICES = 12  # thread counts to try before giving up


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


def spans(cfg: GemmConfig, atom: MmaAtom) -> Extents:
    """Extents of the atoms that run side by side."""
    m, n, k = cfg.tiled_mma.layout or (1, 1, 1)
    return (atom.shape[0] * m, atom.shape[1] * n, atom.shape[2] * k)


def _fits_given(cfg: GemmConfig, atom: MmaAtom) -> bool:
    """Whether an atom divides the tile and the permutation that the user gave."""
    span = spans(cfg, atom)
    wholes = [cfg.tile] if cfg.tile is not None else []
    if cfg.tiled_mma.permutation is not None:
        wholes.append(_sizes(cfg.tiled_mma.permutation))
    return all(w % s == 0 for whole in wholes for w, s in zip(whole, span, strict=True) if s)


def _pairs(cfg: GemmConfig, atom: MmaAtom) -> bool:
    """Whether a given tile has an even number of k-blocks where two buffers of fragments are asked for."""
    if not _needs_pairs(cfg) or cfg.tile is None or cfg.tiled_mma.permutation is not None:
        return True
    return cfg.tile[2] % (2 * atom.shape[2]) == 0


def _needs_pairs(cfg: GemmConfig) -> bool:
    return cfg.mainloop == "multistage" and cfg.fragment_buffers == 2


def _sizes(permutation: tuple[int | LayoutSpec, int | LayoutSpec, int | LayoutSpec]) -> Extents:
    m, n, k = (entry if isinstance(entry, int) else product(entry.shape) for entry in permutation)
    return (m, n, k)


def resolve_atom(cfg: GemmConfig) -> GemmConfig:
    """Pick the widest atom for the types; a tile that is too narrow gets a narrower one."""
    if cfg.tiled_mma.atom is not None:
        return cfg
    atoms = fitting_atoms(cfg)
    atoms = [a for a in atoms if _fits_given(cfg, a)] or atoms
    atoms = [a for a in atoms if _pairs(cfg, a)] or atoms
    if not atoms:
        return cfg
    return cfg.model_copy(update={"tiled_mma": cfg.tiled_mma.model_copy(update={"atom": atoms[0].name})})


def tile_units(cfg: GemmConfig, atom: MmaAtom) -> Extents:
    """Per mode, what every tile must be a multiple of: the MMA's span and all pieces that the user gave."""
    units = list(spans(cfg, atom))
    if cfg.tiled_mma.permutation is not None:
        units = [lcm(u, p) for u, p in zip(units, _sizes(cfg.tiled_mma.permutation), strict=True)]
    if _needs_pairs(cfg):  # of k-blocks
        units[2] *= 2
    if cfg.mainloop != "direct":
        if cfg.tiled_mma.layout is not None:  # a copy splits each tile among all threads: 3 warps need a 3
            threads = atom.threads * cfg.tiled_mma.layout[0] * cfg.tiled_mma.layout[1]
            odd = threads // (threads & -threads)
            units[:2] = [lcm(units[0], odd), lcm(units[1], odd)]
        for mode, which in ((0, "a"), (1, "b")):
            smem, copy = getattr(cfg.smem, which), getattr(cfg.g2s, which)
            pieces = [smem.shape] if smem is not None else []
            if copy.threads is not None:
                values = (1, 1) if copy.values is None else copy.values.shape
                pieces.append(tuple(t * v for t, v in zip(copy.threads.shape, values, strict=True)))
            for mn, k in pieces:
                units[mode], units[2] = lcm(units[mode], mn), lcm(units[2], k)
    return (units[0], units[1], units[2])


def _targets(cfg: GemmConfig, atom: MmaAtom | None) -> Iterator[Extents]:
    """Tiles to aim at: 128x128, k-tiles of 64 bytes or, where shared memory abounds, 128; then smaller."""
    size = dtype(cfg.a.dtype).bytes
    if cfg.mainloop == "simt":
        m, n, k = (128, 128, 8) if size <= 4 else (64, 64, 8)
    elif cfg.mainloop == "direct":
        m, n, k = 64, 64, atom.shape[2] if atom else 16
    elif size == 8:
        m, n, k = 64, 64, 16
    else:
        row = 128 if arch(cfg.arch).smem_per_block >= 200 * 1024 else 64
        m, n, k = 128, 128, row // size
    while m * n > 1:
        yield (m, n, k)
        yield (m, n, max(1, k // 2))
        m, n = max(1, m // 2), max(1, n // 2)
    yield (1, 1, 1)


def _multiples(cfg: GemmConfig, units: Extents) -> list[Extents]:
    """Small tiles of odd proportions, for warps and copies that are given and fit no usual tile."""
    found = [
        (units[0] * m, units[1] * n, units[2] * k)
        for m in _FACTORS
        for n in _FACTORS
        for k in _FACTORS
        if units[0] * m <= 256 and units[1] * n <= 256 and units[2] * k <= 256
    ]
    most = _MOST_MULTIPLES if cfg.tiled_mma.layout else _MOST_MULTIPLES // 4  # else warps are tried, too
    return sorted(found, key=lambda tile: (tile[0] * tile[1] * tile[2], tile))[:most]


def tiles(cfg: GemmConfig) -> Iterator[GemmConfig]:
    """The config with each tile that is worth a try, the best first."""
    if cfg.tile is not None:
        yield cfg
        return
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    units = tile_units(cfg, atom) if atom else (1, 1, 1)
    seen: set[tuple[int, ...]] = set()
    near = (
        tuple(max(u, t // u * u) for t, u in zip(target, units, strict=True))
        for target in _targets(cfg, atom)
    )
    for tile in (*near, *_multiples(cfg, units)):
        if tile not in seen:
            seen.add(tile)
            yield cfg.model_copy(update={"tile": tile})


def _divisors(extent: int, limit: int) -> list[int]:
    return [d for d in range(1, min(extent, limit) + 1) if extent % d == 0]


def _warp_layouts(tile: Extents, atom: MmaAtom) -> list[tuple[int, int]]:
    """Warps along M and N: at most 128 accumulators a thread, little shared-memory traffic."""
    scored = []
    words = dtype(atom.acc).bytes / 4
    for m in _divisors(tile[0] // atom.shape[0], 32):
        for n in _divisors(tile[1] // atom.shape[1], 32):
            if m * n * atom.threads > _MAX_THREADS:
                continue
            warp = (tile[0] // m, tile[1] // n)
            accumulators = warp[0] * warp[1] / 32 * words
            usual = m in (1, 2, 4, 8) and n in (1, 2, 4, 8) and m * n <= 8
            crowded = max(0.0, accumulators - 128)
            idle = abs(m * n - 4) if accumulators <= 128 else 0
            scored.append((not usual, crowded, idle, 1 / warp[0] + 1 / warp[1], m, n))
    return [(m, n) for *_, m, n in sorted(scored)]


def _thread_layouts(tile: Extents) -> list[tuple[int, int]]:
    """Threads along M and N of a CUDA-core kernel: 16 x 16 where it divides, else near 256 threads."""
    usual = [(m, n) for m in (16, 8, 32, 4) for n in (16, 8, 32, 4) if 32 <= m * n <= 256]
    others = [
        (m, n)
        for m in _divisors(tile[0], _MAX_THREADS)
        for n in _divisors(tile[1], _MAX_THREADS)
        if m * n <= _MAX_THREADS
    ]
    others.sort(key=lambda mn: (mn[0] * mn[1] % 32 != 0, abs(mn[0] * mn[1] - 256), abs(mn[0] - mn[1]), mn))
    return [(m, n) for m, n in (*usual, *others) if tile[0] % m == 0 and tile[1] % n == 0]


def layouts(cfg: GemmConfig) -> Iterator[GemmConfig]:
    """The config with each atom layout that is worth a try, the best first.

    Each thread count comes once, unless what was given asks for so many registers of an operand in a thread.
    """
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if cfg.tiled_mma.layout is not None or atom is None or cfg.tile is None:
        yield cfg
        return
    tile = cfg.tile
    if cfg.tiled_mma.permutation is not None:  # which the warps must divide
        perms = _sizes(cfg.tiled_mma.permutation)
        tile = (gcd(tile[0], perms[0]), gcd(tile[1], perms[1]), tile[2])
    choices = _thread_layouts(tile) if atom.is_simt else _warp_layouts(tile, atom)
    given = {
        product(copy.threads.shape)
        for copy in (cfg.g2s.a, cfg.g2s.b)
        if copy.threads is not None and cfg.mainloop != "direct"
    }
    fitting = [c for c in choices if {c[0] * c[1] * atom.threads} == given] if given else []
    if not fitting and cfg.mainloop != "direct":  # both tiles must split among the threads
        elements = gcd(cfg.tile[0] * cfg.tile[2], cfg.tile[1] * cfg.tile[2])
        fitting = [c for c in choices if elements % (c[0] * c[1] * atom.threads) == 0]
    split = cfg.tiled_mma.permutation is not None or cfg.s2r.a is not None or cfg.s2r.b is not None
    seen: set[tuple[int, int]] = set()
    for m, n in fitting or choices:
        kind = (m, n) if split else (m * n, 1)
        if kind not in seen and len(seen) < _MOST_CHOICES:
            seen.add(kind)
            yield cfg.model_copy(update={"tiled_mma": cfg.tiled_mma.model_copy(update={"layout": (m, n, 1)})})
    if not seen:
        yield cfg


def _repeat(registers: int, span: int, extent: int) -> int:
    """Atoms of one thread that a four-matrix ldmatrix fills at once, as far as the tile allows."""
    repeat = max(1, 4 // max(1, registers))
    while repeat > 1 and extent % (span * repeat):
        repeat //= 2
    return span * repeat


def permutations(cfg: GemmConfig) -> Iterator[GemmConfig]:
    """The config with each permutation that is worth a try: neighbours that one ldmatrix or wide load fills.

    Then plain extents, and longer k-blocks, which a given ldmatrix may need.
    """
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if (
        atom is None
        or cfg.tile is None
        or cfg.tiled_mma.layout is None
        or cfg.tiled_mma.permutation is not None
    ):
        yield cfg
        return
    m, n, k = spans(cfg, atom)
    choices: list[tuple[int | LayoutSpec, int | LayoutSpec, int]] = []
    if atom.is_simt:
        choices.append((_vector_permutation(cfg.tile[0], m), _vector_permutation(cfg.tile[1], n), k))
        choices.append((m, n, k))
    else:
        regs = [v * dtype(t).bits // 32 for v, t in ((atom.a_values, atom.a), (atom.b_values, atom.b))]
        beside = (_repeat(regs[0], m, cfg.tile[0]), _repeat(regs[1], n, cfg.tile[1]))
        choices += [(*beside, k * repeat) for repeat in (1, 2, 4) if cfg.tile[2] % (k * repeat) == 0]
        choices = choices or [(*beside, k)]
    for permutation in choices:
        yield cfg.model_copy(
            update={"tiled_mma": cfg.tiled_mma.model_copy(update={"permutation": permutation})}
        )


def _vector_permutation(extent: int, span: int) -> int | LayoutSpec:
    """Four neighbouring elements for each thread, so that its shared-memory loads are wide."""
    for run in (4, 2):
        if extent % (span * run) == 0:
            return LayoutSpec(shape=(span, run), stride=(run, 1))
    return span
