"""Shared-memory layouts and the copies into and out of them."""

from __future__ import annotations

from math import gcd, log2
from typing import Any, Literal

from cutegen.arch import arch
from cutegen.atoms import COPY_G2S, MMA_ATOMS, MmaAtom
from cutegen.config import CopyG2S, GemmConfig, LayoutSpec, SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.algebra import product
from cutegen.layout.partition import atom_is_ordered
from cutegen.operands import PlanFault, derive_s2r
from cutegen.resolve.conflicts import best_swizzle
from cutegen.resources import permutation_layout

__all__ = ["operand_tile", "resolve_g2s", "resolve_s2r", "resolve_smem", "smem_major", "thread_count"]

Which = Literal["a", "b"]
_OPERANDS: tuple[Which, Which] = ("a", "b")
_LINE = 128  # bytes of one pass over all 32 banks
_CHUNK = 16  # bytes of one ldmatrix row and of the widest copy
_MAX_THREADS = 1024


def operand_tile(cfg: GemmConfig, which: Which) -> tuple[int, int]:
    """(MN, K) extents of one operand's CTA tile; (0, 0) while there is no tile."""
    if cfg.tile is None:
        return (0, 0)
    return (cfg.tile[0 if which == "a" else 1], cfg.tile[2])


def thread_count(cfg: GemmConfig) -> int | None:
    """Threads of one CTA, from the TiledMMA."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or cfg.tiled_mma.layout is None:
        return None
    m, n, k = cfg.tiled_mma.layout
    return atom.threads * m * n * k


def smem_major(layout: SmemLayout) -> Literal["k", "mn"] | None:
    """The mode along which a shared-memory layout is contiguous."""
    if layout.stride[1] == 1 and layout.shape[1] > 1:
        return "k"
    return "mn" if layout.stride[0] == 1 else None


def _uses_smem(cfg: GemmConfig) -> bool:
    return cfg.mainloop != "direct"


def _power_of_two_divisor(extent: int, limit: int) -> int:
    size = 1
    while size * 2 <= limit and extent % (size * 2) == 0:
        size *= 2
    return size


def _unbroken(cfg: GemmConfig, which: Which, extent: int) -> int:
    """What a run along M or N must divide: with three warps side by side, their piece and not the tile."""
    atom, layout = MMA_ATOMS.get(cfg.tiled_mma.atom or ""), cfg.tiled_mma.layout
    if atom is None or layout is None:
        return extent
    mode = 0 if which == "a" else 1
    span = atom.shape[mode] * layout[mode]
    return extent if span & (span - 1) == 0 else gcd(extent, span)


def _default_smem(cfg: GemmConfig, which: Which, atom: MmaAtom) -> SmemLayout | None:
    operand = cfg.operand(which)
    size = dtype(operand.dtype).bytes
    mn, k = operand_tile(cfg, which)
    if mn < 1 or k < 1:
        return None
    if atom.is_simt:
        # K rows of MN elements: threads read neighbours along MN. The padding keeps the transposing
        # stores of a K-major operand off each other's banks.
        pad = 0 if operand.major != "k" else max(1, _CHUNK // size)
        return SmemLayout(shape=(mn, k), stride=(1, mn + pad))
    k_major = operand.major == "k"
    run = _power_of_two_divisor(k if k_major else _unbroken(cfg, which, mn), _LINE // size)
    rows = gcd(8, mn if k_major else k)
    bits = max(0, int(log2(max(1, run * size // _CHUNK))))
    shape = (rows, run) if k_major else (run, rows)
    stride = (run, 1) if k_major else (1, run)
    plain = SmemLayout(shape=shape, stride=stride)
    uses_ldmatrix = size < 8 and (k_major or size == 2)
    if not uses_ldmatrix:
        return best_swizzle(cfg, which, plain)
    if bits == 0:
        return plain
    return plain.model_copy(update={"swizzle": (bits, int(log2(_CHUNK // size)), 3)})


def resolve_smem(cfg: GemmConfig) -> GemmConfig:
    """Fill conflict-free layout atoms: the smallest swizzle that is enough."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if not _uses_smem(cfg) or atom is None:
        return cfg
    update: dict[str, Any] = {
        which: _default_smem(cfg, which, atom) for which in _OPERANDS if getattr(cfg.smem, which) is None
    }
    return cfg.model_copy(update={"smem": cfg.smem.model_copy(update=update)})


def _thread_shape(contiguous: int, other: int, threads: int) -> tuple[int, int] | None:
    """(along the contiguous mode, along the other), the longest rows first; None when none divides."""
    if threads > _MAX_THREADS:
        return None
    for along in range(gcd(contiguous, threads), 0, -1):
        if contiguous % along == 0 and threads % along == 0 and other % (threads // along) == 0:
            return along, threads // along
    return None


def _copy_for(cfg: GemmConfig, which: Which, bits: int, atom: str) -> CopyG2S | None:
    """A complete G2S copy of the given width, or None when it cannot tile the operand."""
    copy = getattr(cfg.g2s, which)
    operand, layout = cfg.operand(which), getattr(cfg.smem, which)
    threads = thread_count(cfg)
    width = dtype(operand.dtype).bits
    if layout is None or threads is None or bits % width:
        return None
    vector = bits // width
    mn, k = operand_tile(cfg, which)
    k_major = operand.major == "k"
    if vector > 1 and smem_major(layout) != ("k" if k_major else "mn"):
        return None
    if vector > 1 and layout.swizzle != "none" and (1 << layout.swizzle[1]) < vector:
        return None
    if vector > 1 and any(s % vector for s in layout.stride if s != 1):
        return None
    contiguous, other = (k, mn) if k_major else (mn, k)
    run = layout.shape[1 if k_major else 0]
    if contiguous % vector or run % vector:
        return None
    values = copy.values or LayoutSpec(shape=(1, vector) if k_major else (vector, 1))
    if copy.bits is None and (len(values.shape) != 2 or values.shape[1 if k_major else 0] % vector):
        return None
    thread_layout = copy.threads
    if thread_layout is None:
        span = values.shape[1 if k_major else 0]
        cross = values.shape[0 if k_major else 1]
        if contiguous % span or other % cross:
            return None
        shape = _thread_shape(contiguous // span, other // cross, threads)
        if shape is None:
            return None
        along, across = shape
        thread_layout = LayoutSpec(
            shape=(across, along) if k_major else (along, across),
            stride=(along, 1) if k_major else (1, along),
        )
    return CopyG2S(atom=atom, bits=bits, threads=thread_layout, values=values)


def _resolve_copy(cfg: GemmConfig, which: Which) -> CopyG2S:
    copy: CopyG2S = getattr(cfg.g2s, which)
    operand = cfg.operand(which)
    limit = 8 * (operand.align or 16)
    capability = arch(cfg.arch).cc
    atoms = [a for a in COPY_G2S.values() if copy.atom in (None, a.name) and a.min_cc <= capability]
    widths = [copy.bits] if copy.bits is not None else [128, 64, 32, 16, 8]
    for bits in widths:
        for atom in atoms:
            fits = bits in atom.bits and (copy.bits is not None or bits <= limit)
            found = _copy_for(cfg, which, bits, atom.name) if fits else None
            if found is not None:
                return found
    return copy


def resolve_g2s(cfg: GemmConfig) -> GemmConfig:
    """Fill the widest legal copies from global to shared memory, threads along the contiguous mode."""
    if not _uses_smem(cfg) or cfg.tile is None:
        return cfg
    update: dict[str, Any] = {}
    for which in _OPERANDS:
        copy = getattr(cfg.g2s, which)
        if None in (copy.atom, copy.bits, copy.threads, copy.values):
            update[which] = _with_strides(_resolve_copy(cfg, which))
        else:
            update[which] = _with_strides(copy)
    return cfg.model_copy(update={"g2s": cfg.g2s.model_copy(update=update)})


def _with_strides(copy: CopyG2S) -> CopyG2S:
    """The same copy with every compact stride written out, so that resolving twice changes nothing."""
    update: dict[str, Any] = {}
    for name in ("threads", "values"):
        layout = getattr(copy, name)
        if layout is not None and layout.stride is None:
            stride, current = [], 1
            for extent in layout.shape:
                stride.append(current)
                current *= extent
            update[name] = layout.model_copy(update={"stride": tuple(stride)})
    return copy.model_copy(update=update) if update else copy


def _default_s2r(cfg: GemmConfig, which: Which, atom: MmaAtom) -> str | None:
    operand, layout = cfg.operand(which), getattr(cfg.smem, which)
    permutation = cfg.tiled_mma.permutation
    if layout is None or permutation is None or cfg.tiled_mma.layout is None:
        return None
    bits = dtype(operand.dtype).bits
    major = smem_major(layout)
    if atom.is_simt or bits == 64 or not (major == "k" or (major == "mn" and bits == 16)):
        return "UniversalCopy"
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
    if _plain(layout, permutation, major, _CHUNK * 8 // bits) or not _well_tiled(cfg, which, atom):
        return names[0]
    return next((name for name in names if _reads(cfg, which, name)), "UniversalCopy")


def _plain(
    layout: SmemLayout, permutation: tuple[int | LayoutSpec, ...], major: Literal["k", "mn"], row: int
) -> bool:
    """Whether rows of ``row`` elements are contiguous and aligned at sight."""
    run, step = (1, 0) if major == "k" else (0, 1)
    return (
        all(isinstance(entry, int) for entry in permutation)
        and layout.shape[run] % row == 0
        and (layout.shape[step] == 1 or layout.stride[step] % row == 0)
        and max(layout.stride) >= layout.shape[run]
    )


def _well_tiled(cfg: GemmConfig, which: Which, atom: MmaAtom) -> bool:
    """Whether MMA and layout atom divide the operand's tile, so that its partition can be derived."""
    layout, permutation = getattr(cfg.smem, which), cfg.tiled_mma.permutation
    if (
        permutation is None
        or cfg.tiled_mma.layout is None
        or not atom_is_ordered(layout.shape, layout.stride)
    ):
        return False
    mode = 0 if which == "a" else 1
    mn, k = operand_tile(cfg, which)
    if mn * k > arch(cfg.arch).smem_per_block:
        return False
    pieces = zip(
        (mn, k),
        (_size(permutation[mode]), _size(permutation[2])),
        (atom.shape[mode] * cfg.tiled_mma.layout[mode], atom.shape[2]),
        layout.shape,
        strict=True,
    )
    return all(permutation_layout(entry).is_compact for entry in permutation) and all(
        tile % perm == 0 and perm % span == 0 and tile % part == 0 for tile, perm, span, part in pieces
    )


def _reads(cfg: GemmConfig, which: Which, name: str) -> bool:
    """Whether an ldmatrix finds its rows whole in this layout and permutation."""
    try:
        derive_s2r(cfg.model_copy(update={"s2r": cfg.s2r.model_copy(update={which: name})}), which)
    except PlanFault:
        return False
    return True


def _size(entry: int | LayoutSpec) -> int:
    return entry if isinstance(entry, int) else product(entry.shape)


def resolve_s2r(cfg: GemmConfig) -> GemmConfig:
    """Fill ldmatrix where the layout allows it, a plain load elsewhere."""
    atom = MMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if not _uses_smem(cfg) or atom is None:
        return cfg
    update: dict[str, Any] = {
        which: _default_s2r(cfg, which, atom) for which in _OPERANDS if getattr(cfg.s2r, which) is None
    }
    return cfg.model_copy(update={"s2r": cfg.s2r.model_copy(update=update)})
