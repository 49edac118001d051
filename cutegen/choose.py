"""Which kernel to take for a problem, without measuring.

:func:`config_for` asks, in this order:

1. *The table of the GPU* (:mod:`cutegen.tuned`). The entry of that very shape counts as it is. The nearest
   entry counts if the model below finds its tile at most 3 % slower than the best one: tiles that do not fit
   the number of SMs lose more than any other choice.
2. *Few rows*: for M up to 128 the time is that of reading B, and :mod:`cutegen.few_rows` knows what reads it
   quickest; where its kernel cannot be, and M is at most 64, tiles have 64 rows and as many columns as leave
   work for half the SMs.
3. *The model* of ``tma_wgmma``: the rounds that persistent CTAs need for all tiles, at 32 elements of a
   tile a cycle for each 128 bytes of K, and what start, first loads and epilogue add.
4. Where bulk copies cannot take the operands, the types have no warpgroup MMA, or the GPU is another:
   ``multistage`` or ``simt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from cutegen.arch import ARCHS, ArchName
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.errors import ConfigError
from cutegen.few_rows import MOST_ROWS, small_m_config
from cutegen.rules import check
from cutegen.tuned import Entry, WgmmaSchedule, nearest, table_for

__all__ = ["Card", "Problem", "config_for", "modelled_us"]

_SLACK = 1.03
_FEW_ROWS = 64
_PANEL = 128  # bytes of K in one k-tile
#: Cycles, and the clock in GHz by the elements of a tile: measured inside kernels on one H200. Larger tiles
#: do more work for each byte that they load, so that power leaves them a higher clock.
_START = 6000
_EPILOGUE = 2100 / (128 * 256)  # a tile of a cooperative kernel, for each element
_LAST_EPILOGUE = 2500  # of a pingpong kernel, once: the others hide behind the next tile
_CLOCKS = ((128 * 256, 1.60), (128 * 192, 1.56), (128 * 160, 1.54), (0, 1.50))
_LAUNCH_US = 4.0
#: Columns of cooperative tiles, by their rows. Those of 256 rows load least for each product, and one of so
#: many widths comes close to whole rounds on most problems; 208 columns would spill with some outputs.
_COOPERATIVE = {128: (224, 256), 192: (128, 160, 176, 192), 256: (96, 128, 160, 168, 176, 184, 192, 200)}
#: Rows of a raster group, about: what all of them read of A stays in L2 while they go along N.
_GROUP_ROWS = 2048


@dataclass(frozen=True, kw_only=True)
class Card:
    """A GPU as far as the choice depends on it.

    Attributes:
        cc: Compute capability times ten.
        multiprocessors: Streaming multiprocessors.
    """

    cc: int
    multiprocessors: int


@dataclass(frozen=True, kw_only=True)
class Problem:
    """D(M,N) = A(M,K) * B(N,K)^T as a config and a launch describe it.

    Attributes:
        m: Rows of A and D; likewise n and k.
        n: See m.
        k: See m.
        a: Type of A; likewise b, and d, which may be left to the config's default.
        b: See a.
        d: See a.
        majors: Of A, B and D, for example ``kkn``.
        aligns: Bytes of which address, pitch and contiguous extent of A, B and D are multiples.
    """

    m: int
    n: int
    k: int
    a: DTypeName
    b: DTypeName
    d: DTypeName | None = None
    majors: str = "kkn"
    aligns: tuple[int, int, int] = (16, 16, 16)


def config_for(problem: Problem, card: Card, *, tuned: bool = True) -> GemmConfig:
    """The config of the kernel to take; it is legal, and equal problems get equal configs.

    Args:
        problem: What is multiplied.
        card: The GPU.
        tuned: Whether to ask the tables; without them the rules alone decide, as for a GPU without a table.

    Raises:
        ConfigError: No kernel of cutegen has these types on this card; the error is that of the last resort.
    """
    bulk = _config(problem, "sm_90a", mainloop="tma_wgmma") if card.cc == 90 else None
    if bulk is not None and not check(bulk):
        for rule in (_from_table, *_RULES) if tuned else _RULES:
            found = rule(problem, card)
            if found is not None and not check(found):
                return found
        return bulk
    return _last_resort(problem, card)


def _config(problem: Problem, level: ArchName, **fields: Any) -> GemmConfig:
    a, b, d = problem.aligns
    output = {"dtype": problem.d, "major": problem.majors[2], "align": d}
    return GemmConfig(
        arch=level,
        a={"dtype": problem.a, "major": problem.majors[0], "align": a},
        b={"dtype": problem.b, "major": problem.majors[1], "align": b},
        c=output if problem.d else {},
        d=output,
        **fields,
    )


def _bulk(
    problem: Problem,
    tile: tuple[int, int, int],
    schedule: WgmmaSchedule,
    group: int | None = None,
    **fields: Any,
) -> GemmConfig:
    return _config(
        problem,
        "sm_90a",
        mainloop="tma_wgmma",
        tile=tile,
        schedule=schedule,
        scheduler={"group": group},
        **fields,
    )


def _from_table(problem: Problem, card: Card) -> GemmConfig | None:
    """The entry of a table that was measured on such a card."""
    same = problem.a == problem.b and problem.d in (None, problem.a)
    if not same or 0 in (problem.m, problem.n, problem.k):
        return None
    table = table_for(problem.a, problem.majors, cc=card.cc, multiprocessors=card.multiprocessors)
    found = nearest(table, problem.m, problem.n, problem.k) if table is not None else None
    if found is None:
        return None
    entry, exact = found
    if not exact and not _fits(entry, problem, card):
        return None
    config = _bulk(
        problem,
        entry.tile,
        entry.schedule,
        entry.group,
        cluster=entry.cluster,
        epilogue={"overlap": entry.overlap},
    )
    return config.replace(
        a=config.a.replace(cache=entry.a_cache),
        b=config.b.replace(cache=entry.b_cache),
    )


def _fits(entry: Entry, problem: Problem, card: Card) -> bool:
    best = min(modelled_us(problem, card, *tile) for tile in _tiles(problem))
    return modelled_us(problem, card, entry.tile, entry.schedule) <= _SLACK * best


def _swapped(problem: Problem, card: Card) -> GemmConfig | None:
    """Operands swapped, so that a tile has no more rows than the problem."""
    if not 1 <= problem.m <= MOST_ROWS or min(problem.n, problem.k) < 1 or problem.a != problem.b:
        return None
    small = small_m_config(problem.m, problem.n, problem.k, problem.a)
    like = _config(problem, "sm_90a", mainloop="tma_wgmma")
    operands = {
        which: getattr(like, which).replace(cache=getattr(small, which).cache) for which in ("a", "b")
    }
    return small.replace(c=like.c, d=like.d, **operands)


def _few_rows(problem: Problem, card: Card) -> GemmConfig | None:
    """One row of tiles, the wider the better as long as half the SMs have one."""
    if problem.m > _FEW_ROWS:
        return None
    depth = _PANEL // dtype(problem.a).bytes
    for width in (256, 128):
        if 2 * ceil(problem.n / width) >= card.multiprocessors - 4:
            return _bulk(problem, (64, width, depth), "pingpong")
    return _bulk(problem, (64, 64, depth), "pingpong")


def _by_model(problem: Problem, card: Card) -> GemmConfig | None:
    """The tile that the model finds quickest; of equally quick ones the largest."""
    ranked = sorted(_tiles(problem), key=lambda t: (modelled_us(problem, card, *t), -t[0][0] * t[0][1]))
    for tile, schedule in ranked:
        config = _bulk(problem, tile, schedule, group=round(_GROUP_ROWS / tile[0]))
        if not check(config):
            return config
    return None


#: Each gives a config or leaves the choice to the next; a table comes before them.
_RULES = (_swapped, _few_rows, _by_model)


def _tiles(problem: Problem) -> Iterator[tuple[tuple[int, int, int], WgmmaSchedule]]:
    """The tiles that are worth a thought: those of which the accumulators and two stages fit."""
    depth = _PANEL // dtype(problem.a).bytes
    for width in (64, 96, 128, 160, 176, 192, 200, 208):
        yield (128, width, depth), "pingpong"
    for height, widths in _COOPERATIVE.items():
        for width in widths:
            yield (height, width, depth), "cooperative"


def modelled_us(problem: Problem, card: Card, tile: tuple[int, int, int], schedule: WgmmaSchedule) -> float:
    """About how long a kernel of ``tma_wgmma`` takes whose loads keep up, in microseconds."""
    area = tile[0] * tile[1]
    tiles = ceil(max(problem.m, 1) / tile[0]) * ceil(max(problem.n, 1) / tile[1])
    rounds = ceil(tiles / card.multiprocessors)
    steps = ceil(max(problem.k, 1) / tile[2])
    epilogue = _LAST_EPILOGUE if schedule == "pingpong" else rounds * area * _EPILOGUE
    cycles = _START + rounds * steps * area / 32 + epilogue
    clock = next(ghz for least, ghz in _CLOCKS if area >= least)
    return _LAUNCH_US + cycles / clock / 1e3


def _last_resort(problem: Problem, card: Card) -> GemmConfig:
    """What runs on CUDA cores or on the tensor cores of every card."""
    level = _level(card.cc)
    if dtype(problem.a).bits == 16 and ARCHS[level].smem_per_block >= 160 * 1024:
        tiles = ceil(problem.m / 128) * ceil(problem.n / 256)
        large = _config(problem, level, mainloop="multistage", tile=(128, 256, 64), stages=3)
        if tiles >= card.multiprocessors and not check(large):
            return large
    tensor_cores = _config(problem, level, mainloop="multistage")
    if not check(tensor_cores):
        return tensor_cores
    cuda_cores = _config(problem, level, mainloop="simt")
    if check(cuda_cores):
        types = f"{problem.a} and {problem.b}" + (f" to {problem.d}" if problem.d else "")
        raise ConfigError(f"no kernel multiplies {types} on a GPU of compute capability {card.cc / 10}")
    return cuda_cores


def _level(cc: int) -> ArchName:
    """The feature level whose code a card runs: its own, or the last one that is no card's alone."""
    own = [name for name, arch in ARCHS.items() if arch.cc == cc]
    common = [name for name, arch in ARCHS.items() if arch.cc <= cc and not name.endswith("a")]
    return own[0] if own else common[-1] if common else "sm_75"
