"""Shared-memory wavefronts of one warp-wide access.

The rules are the hardware's as measured on an H200 with ``l1tex__data_pipe_lsu_wavefronts_mem_shared``:
32 banks of 4 bytes; an access runs in phases of 8 lanes for 16 bytes, 16 lanes for 8 bytes, 32 lanes
for 4 bytes or fewer; a phase costs the largest number of distinct words that fall into one bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["AccessKind", "bank_of", "cp_async_ca_wavefronts", "ideal_wavefronts", "phase_lanes", "wavefronts"]

AccessKind = Literal["ldmatrix", "store", "load"]

_BANKS = 32  # of 4 bytes


def bank_of(offset: int) -> int:
    """The bank in which the byte at an offset lies."""
    return offset // 4 % _BANKS


def _phase(offsets: Sequence[int | None], width: int) -> int:
    words: dict[int, set[int]] = {}
    for offset in offsets:
        if offset is None:
            continue
        for word in range(offset // 4, (offset + width + 3) // 4):
            words.setdefault(word % _BANKS, set()).add(word)
    return max((len(w) for w in words.values()), default=0)


def _pairs_merge(offsets: Sequence[int | None], distance: int) -> bool:
    return all(
        offsets[lane] is None or offsets[lane ^ distance] is None or offsets[lane] == offsets[lane ^ distance]
        for lane in range(len(offsets))
    )


def phase_lanes(offsets: Sequence[int | None], width: int, kind: AccessKind) -> int:
    """Lanes of one phase of an access; the arguments are those of :func:`wavefronts`."""
    lanes = 8 if kind == "ldmatrix" else min(32, max(8, 128 // width))
    if kind == "load" and width >= 8 and any(_pairs_merge(offsets, d) for d in (1, 2)):
        lanes *= 2
    return lanes


def wavefronts(offsets: Sequence[int | None], width: int, kind: AccessKind) -> int:
    """Wavefronts of one access.

    Args:
        offsets: Byte offset of each lane's access; None for an inactive lane. For ldmatrix, the row
            addresses of the lanes that supply one (8, 16 or 32).
        width: Bytes that each lane accesses: 1, 2, 4, 8 or 16; 16 for ldmatrix.
        kind: ``ldmatrix`` (also stmatrix), ``store`` or ``load``.
    """
    lanes = phase_lanes(offsets, width, kind)
    return sum(_phase(offsets[i : i + lanes], width) for i in range(0, len(offsets), lanes))


def cp_async_ca_wavefronts(offsets: Sequence[int | None], sources: Sequence[int | None], width: int) -> int:
    """Wavefronts of one ``cp.async.ca``: one pass for each 128-byte line that it reads.

    In a pass, the bank that most lanes write to decides; equal words do not merge. ``cp.async.cg`` has
    no such count: the hardware's counters see nothing of it.

    Args:
        offsets: Byte offset in shared memory of each lane's copy; None for an inactive lane.
        sources: Byte offset in global memory of each lane's copy.
        width: Bytes that each lane copies: 4, 8 or 16.
    """
    lines: dict[int, list[int]] = {}
    for offset, source in zip(offsets, sources, strict=True):
        if offset is not None and source is not None:
            lines.setdefault(source // 128, []).append(offset)
    total = 0
    for line in lines.values():
        banks = [0] * _BANKS
        for offset in line:
            for word in range(offset // 4, (offset + width + 3) // 4):
                banks[word % _BANKS] += 1
        total += max(banks)
    return total


def ideal_wavefronts(lanes: int, width: int) -> int:
    """Wavefronts of a conflict-free access in which no two lanes share a word."""
    return max(1, lanes * width // 128)
