"""How A and B get to the fragments: layout atoms and copies that fit one another and the TiledMMA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from cutegen.arch import arch
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, MmaAtom
from cutegen.config import CopyG2S, GemmConfig, LayoutSpec, SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.algebra import product
from cutegen.layout.partition import atom_is_ordered, fills_gaps
from cutegen.operands import PlanFault, derive_direct, derive_g2s, derive_output, derive_s2r
from cutegen.resolve.g2s import copies, is_complete, widths, with_strides
from cutegen.resolve.smem import Which, operand_tile, smem_choices, smem_major
from cutegen.resources import permutation_layout

__all__ = ["resolve_operands", "works"]

_OPERANDS: tuple[Which, Which] = ("a", "b")
_MOST_TRIES = 24  # copies of one operand to derive before giving up


def resolve_operands(cfg: GemmConfig) -> GemmConfig:
    """Fill layout atoms, the widest copies that can be written, and ldmatrix where a layout allows it."""
    if cfg.mainloop == "direct" or MMA_ATOMS.get(cfg.tiled_mma.atom or "") is None:
        return cfg
    for which in _OPERANDS:
        cfg = _resolve_operand(cfg, which)
    return cfg


def works(cfg: GemmConfig) -> bool:
    """Whether a resolved config has every copy, and each thread's share is a CuTe layout."""
    if None in (cfg.tile, cfg.tiled_mma.layout, cfg.tiled_mma.permutation):
        return False
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or not _divides(cfg, atom) or not _derives(partial(derive_output, cfg)):
        return False
    if cfg.mainloop == "direct":
        return all(_derives(partial(derive_direct, cfg, which)) for which in _OPERANDS)
    return all(
        is_complete(getattr(cfg.g2s, which)) and _copies(cfg, which) and _reads(cfg, which)
        for which in _OPERANDS
    )


def _with(cfg: GemmConfig, which: Which, **parts: Any) -> GemmConfig:
    """The config with parts of one operand replaced: ``smem``, ``g2s``, ``s2r``."""
    return cfg.model_copy(
        update={name: getattr(cfg, name).model_copy(update={which: value}) for name, value in parts.items()}
    )


def _resolve_operand(cfg: GemmConfig, which: Which) -> GemmConfig:
    """The first layout atom, copy and fragment load that fit one another."""
    given: CopyG2S = getattr(cfg.g2s, which)
    preferred = _preferred(cfg, which)
    if preferred is not None:
        return preferred
    laid = [_read(_with(cfg, which, smem=layout), which) for layout in smem_choices(cfg, which)]
    if not laid:
        return cfg
    good = [choice for choice in laid if _reads(choice, which)] or laid[:1]
    first: GemmConfig | None = None
    if is_complete(given):
        for choice in good:
            attempt = _with(choice, which, g2s=with_strides(given))
            if _copies(attempt, which):
                return attempt
        return _with(laid[0], which, g2s=with_strides(given))
    for tried, attempt in enumerate(_copied(cfg, which, good)):
        first = first or attempt
        if _copies(attempt, which):
            return attempt
        if tried >= _MOST_TRIES:
            break
    return first or _with(laid[0], which, g2s=with_strides(given))


def _preferred(cfg: GemmConfig, which: Which) -> GemmConfig | None:
    """The best layout with its widest copy, if they fit: the first choice, mostly taken."""
    layout, width = next(smem_choices(cfg, which), None), next(widths(cfg, which), None)
    if layout is None or width is None or is_complete(getattr(cfg.g2s, which)):
        return None
    laid = _read(_with(cfg, which, smem=layout), which)
    if not _reads(laid, which):
        return None
    attempts = (_with(laid, which, g2s=with_strides(copy)) for copy in copies(cfg, which, layout, *width))
    return next((attempt for attempt in attempts if _copies(attempt, which)), None)


def _copied(cfg: GemmConfig, which: Which, laid: Sequence[GemmConfig]) -> Iterator[GemmConfig]:
    """Layouts with each copy that tiles the operand: the widest copies first.

    CUDA cores keep to the best layout: they read what one wide load takes, whatever wrote it.
    """
    pairs = [(choice, *width) for width in widths(cfg, which) for choice in laid]
    if cfg.mainloop == "simt":
        pairs.sort(key=lambda pair: laid.index(pair[0]))
    for choice, bits, atom in pairs:
        layout: SmemLayout = getattr(choice.smem, which)
        for copy in copies(cfg, which, layout, bits, atom):
            yield _with(choice, which, g2s=with_strides(copy))


def _read(cfg: GemmConfig, which: Which) -> GemmConfig:
    """The config with the fastest load of fragments that finds its rows whole."""
    if getattr(cfg.s2r, which) is not None:
        return cfg
    names = _s2r_names(cfg, which)
    fitting = (name for name in names if _reads(_with(cfg, which, s2r=name), which))
    return _with(cfg, which, s2r=next(fitting, names[0] if names else None))


def _s2r_names(cfg: GemmConfig, which: Which) -> list[str]:
    """Copy atoms from shared memory to fragments: the widest ldmatrix first, a plain load last."""
    atom, operand, layout = (
        MMA_ATOMS[cfg.tiled_mma.atom or ""],
        cfg.operand(which),
        getattr(cfg.smem, which),
    )
    permutation = cfg.tiled_mma.permutation
    if layout is None or permutation is None or cfg.tiled_mma.layout is None:
        return []
    bits, major = dtype(operand.dtype).bits, smem_major(layout)
    if atom.is_simt or bits == 64 or not (major == "k" or (major == "mn" and bits == 16)):
        return ["UniversalCopy"]
    mode = 0 if which == "a" else 1
    extent, k_extent = _size(permutation[mode]), _size(permutation[2])
    atoms = (extent // (atom.shape[mode] * cfg.tiled_mma.layout[mode])) * max(1, k_extent // atom.shape[2])
    values = atom.a_values if which == "a" else atom.b_values
    registers = max(1, atoms) * values * bits // 32
    names = [
        f"SM75_U32x{n}_LDSM_N" if major == "k" else f"SM75_U16x{2 * n}_LDSM_T"
        for n in (4, 2, 1)
        if registers % n == 0
    ]
    return [*names, "UniversalCopy"]


def _size(entry: int | LayoutSpec) -> int:
    return entry if isinstance(entry, int) else product(entry.shape)


def _divides(cfg: GemmConfig, atom: MmaAtom) -> bool:
    """Whether MMA atoms and permutation divide the tile, so that partitions can be derived."""
    tile, layout, permutation = cfg.tile, cfg.tiled_mma.layout, cfg.tiled_mma.permutation
    if tile is None or layout is None or permutation is None or layout[2] != 1:
        return False
    if any(not permutation_layout(entry).is_compact for entry in permutation):
        return False
    return all(
        extent % _size(entry) == 0 and _size(entry) % (own * beside) == 0
        for extent, entry, own, beside in zip(tile, permutation, atom.shape, layout, strict=True)
    )


def _well_tiled(cfg: GemmConfig, which: Which) -> bool:
    """Whether MMA and layout atom divide the operand's tile, so that its partition can be derived."""
    atom, layout = MMA_ATOMS.get(cfg.tiled_mma.atom or ""), getattr(cfg.smem, which)
    if atom is None or layout is None or not _divides(cfg, atom):
        return False
    if not atom_is_ordered(layout.shape, layout.stride):
        return False
    mn, k = operand_tile(cfg, which)
    if mn * k > arch(cfg.arch).smem_per_block or mn % layout.shape[0] or k % layout.shape[1]:
        return False
    return fills_gaps(layout.shape, layout.stride, (mn, k))


def _derives(derive: Callable[[], object]) -> bool:
    try:
        derive()
    except PlanFault:
        return False
    return True


def _reads(cfg: GemmConfig, which: Which) -> bool:
    """Whether the fragments of an operand can be loaded so; one whose tile is cut has no partition."""
    atom, read = MMA_ATOMS.get(cfg.tiled_mma.atom or ""), COPY_S2R.get(getattr(cfg.s2r, which) or "")
    if atom is None or read is None or not _well_tiled(cfg, which):
        return False
    if read.kind == "ldmatrix":
        bits = dtype(cfg.operand(which).dtype).bits
        major = smem_major(getattr(cfg.smem, which))
        if atom.is_simt or bits > 32 or major != ("mn" if read.transposed else "k"):
            return False
        if read.transposed and bits != 16:
            return False
    return _derives(partial(derive_s2r, cfg, which))


def _copies(cfg: GemmConfig, which: Which) -> bool:
    """Whether a complete copy of an operand can be written."""
    copy: CopyG2S = getattr(cfg.g2s, which)
    atom, extents = COPY_G2S.get(copy.atom or ""), operand_tile(cfg, which)
    if not is_complete(copy) or atom is None or copy.bits not in atom.bits or not _well_tiled(cfg, which):
        return False
    if not _splits(copy, extents, dtype(cfg.operand(which).dtype).bits):
        return False
    return _derives(partial(derive_g2s, cfg, which))


def _splits(copy: CopyG2S, extents: tuple[int, int], width: int) -> bool:
    """Whether threads x values divide the tile and hold whole vectors."""
    threads, values, bits = copy.threads, copy.values, copy.bits
    if threads is None or values is None or bits is None or bits % width:
        return False
    pieces = [t * v for t, v in zip(threads.shape, values.shape, strict=True)]
    return all(e % p == 0 for e, p in zip(extents, pieces, strict=True)) and (
        product(values.shape) % (bits // width) == 0
    )
