"""Tables of the kernels that were quickest, one file a GPU.

A file has

- ``gpu``: the name of the GPU that was measured on,
- ``cc`` and ``multiprocessors``: compute capability times ten and number of SMs. The file counts for every
  GPU in which both agree: how tiles fall on SMs decides most, and that is the same,
- ``tables``: each for the ``dtypes`` that A, B and D all have, and the ``majors`` of A, B and D in this
  order, for example ``kkn``. An element of ``entries`` has the shape, ``m``, ``n`` and ``k``, and what a
  config says of the kernel: ``tile``, ``schedule``, and, where it is not the default, ``group`` of the
  scheduler, ``cluster``, ``overlap`` of the epilogue, and ``a_cache`` and ``b_cache``, the hints to L2.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from cutegen.config import CacheHint
from cutegen.dtypes import DTypeName
from cutegen.yamlread import parse

__all__ = ["Entry", "Table", "TunedGpu", "WgmmaSchedule", "nearest", "table_for", "tuned_files"]

Extent = Annotated[int, Field(ge=1)]
WgmmaSchedule = Literal["pingpong", "cooperative"]

#: An entry counts for a shape each of whose extents is at most so many powers of two from its own.
_REACH = 0.5


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Strict):
    """The quickest kernel of one shape."""

    m: Extent
    n: Extent
    k: Extent
    tile: tuple[Extent, Extent, Extent]
    schedule: WgmmaSchedule
    group: Extent | None = None
    cluster: tuple[Extent, Extent, Literal[1]] | None = None
    overlap: bool | None = None
    a_cache: CacheHint | None = None
    b_cache: CacheHint | None = None


class Table(_Strict):
    """Entries for some types and one choice of layouts."""

    dtypes: Annotated[tuple[DTypeName, ...], Field(min_length=1)]
    majors: Annotated[str, Field(pattern="^[km][kn][nm]$")]
    entries: tuple[Entry, ...]


class TunedGpu(_Strict):
    """All tables of one GPU."""

    gpu: str
    cc: Extent
    multiprocessors: Extent
    tables: tuple[Table, ...]


def tuned_files() -> list[Path]:
    """The files that cutegen brings along."""
    return sorted(Path(__file__).parent.glob("*.yaml"))


@lru_cache(maxsize=1)
def _all() -> tuple[TunedGpu, ...]:
    return tuple(
        TunedGpu.model_validate(parse(path.read_text(encoding="utf-8"), path.name).data)
        for path in tuned_files()
    )


def table_for(dtype: DTypeName, majors: str, *, cc: int, multiprocessors: int) -> Table | None:
    """The table for a GPU and operands of one type, if there is one."""
    for gpu in _all():
        if (gpu.cc, gpu.multiprocessors) == (cc, multiprocessors):
            for table in gpu.tables:
                if dtype in table.dtypes and table.majors == majors:
                    return table
    return None


def nearest(table: Table, m: int, n: int, k: int) -> tuple[Entry, bool] | None:
    """The entry that is nearest to a shape, and whether it is that very shape; None if all are too far.

    Distances are those of the logarithms, summed over M, N and K. Of entries that are equally near the
    first counts.
    """
    best: tuple[float, Entry] | None = None
    for entry in table.entries:
        if (entry.m, entry.n, entry.k) == (m, n, k):
            return entry, True
        ways = [abs(log2(x / y)) for x, y in ((m, entry.m), (n, entry.n), (k, entry.k))]
        if max(ways) <= _REACH and (best is None or sum(ways) < best[0]):
            best = (sum(ways), entry)
    return None if best is None else (best[1], False)
