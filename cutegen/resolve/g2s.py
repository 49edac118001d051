"""Copies from global to shared memory that are worth a try, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

from cutegen.arch import arch
from cutegen.atoms import COPY_G2S
from cutegen.config import CopyG2S, GemmConfig, LayoutSpec, SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.partition import atom_is_ordered, tile_offsets
from cutegen.resolve.smem import Which, operand_tile, smem_major, thread_count

__all__ = ["copies", "is_complete", "widths", "with_strides"]

_MAX_THREADS = 1024
_MOST_ELEMENTS = 1 << 18  # of a tile: more than any shared memory holds


def is_complete(copy: CopyG2S) -> bool:
    """Whether every field of a copy has a value."""
    return None not in (copy.atom, copy.bits, copy.threads, copy.values)


def widths(cfg: GemmConfig, which: Which) -> Iterator[tuple[int, str]]:
    """(bits, atom) that alignment, arch and the given fields allow, the widest first."""
    copy: CopyG2S = getattr(cfg.g2s, which)
    limit = 8 * (cfg.operand(which).align or 16)
    capability = arch(cfg.arch).cc
    atoms = [a for a in COPY_G2S.values() if copy.atom in (None, a.name) and a.min_cc <= capability]
    for bits in [copy.bits] if copy.bits is not None else [128, 64, 32, 16, 8]:
        for atom in atoms:
            if bits in atom.bits and (copy.bits is not None or bits <= limit):
                yield bits, atom.name


def copies(cfg: GemmConfig, which: Which, layout: SmemLayout, bits: int, atom: str) -> Iterator[CopyG2S]:
    """Complete copies of the given width that tile the operand, the longest rows of threads first."""
    copy: CopyG2S = getattr(cfg.g2s, which)
    operand = cfg.operand(which)
    threads = thread_count(cfg)
    width = dtype(operand.dtype).bits
    if threads is None or bits % width:
        return
    vector = bits // width
    mn, k = operand_tile(cfg, which)
    k_major = operand.major == "k"
    contiguous, other = (k, mn) if k_major else (mn, k)
    if contiguous % vector or (vector > 1 and not _keeps_vectors(layout, (mn, k), vector, k_major)):
        return
    values = copy.values or LayoutSpec(shape=(1, vector) if k_major else (vector, 1))
    if copy.bits is None and (len(values.shape) != 2 or values.shape[1 if k_major else 0] % vector):
        return
    if copy.threads is not None:
        yield CopyG2S(atom=atom, bits=bits, threads=copy.threads, values=values)
        return
    span = values.shape[1 if k_major else 0]
    cross = values.shape[0 if k_major else 1]
    if contiguous % span or other % cross:
        return
    for along, across in _thread_shapes(contiguous // span, other // cross, threads):
        thread_layout = LayoutSpec(
            shape=(across, along) if k_major else (along, across),
            stride=(along, 1) if k_major else (1, along),
        )
        yield CopyG2S(atom=atom, bits=bits, threads=thread_layout, values=values)


def _keeps_vectors(layout: SmemLayout, tile: tuple[int, int], vector: int, k_major: bool) -> bool:
    """Whether shared memory holds vectors along the operand's contiguous mode whole and aligned."""
    if layout.swizzle != "none" and layout.swizzle[0] and (1 << layout.swizzle[1]) < vector:
        return False
    tiles = tile[0] * tile[1] <= _MOST_ELEMENTS and not any(
        t % s for t, s in zip(tile, layout.shape, strict=True)
    )
    if not tiles or not atom_is_ordered(layout.shape, layout.stride):  # then at sight
        major = smem_major(layout) == ("k" if k_major else "mn")
        return major and not any(s % vector for s in layout.stride if s != 1)
    offsets = tile_offsets(layout.shape, layout.stride, tile)
    along, across = (offsets.k, offsets.mn) if k_major else (offsets.mn, offsets.k)
    return all(o % vector == 0 for o in (*along[::vector], *across)) and all(
        along[i] == along[i - i % vector] + i % vector for i in range(len(along))
    )


def _thread_shapes(contiguous: int, other: int, threads: int) -> Iterator[tuple[int, int]]:
    """(along the contiguous mode, along the other) that divide, the longest rows first."""
    if threads > _MAX_THREADS:
        return
    for along in range(gcd(contiguous, threads), 0, -1):
        if contiguous % along == 0 and threads % along == 0 and other % (threads // along) == 0:
            yield along, threads // along


def with_strides(copy: CopyG2S) -> CopyG2S:
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
