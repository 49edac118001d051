"""Partitions of a kernel's tiles, as CuTe prints them in thread 0 of CTA (0,0).

The same lines as in an idiomatic kernel are written for :mod:`cutegen.playground`, which evaluates CuTe's
layout algebra. Without a K the number of k-tiles prints as ``k`` and the pitch of a K-major matrix as ``K``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cutegen.dtypes import dtype
from cutegen.idiomatic import idiomatic_context
from cutegen.plan import KernelPlan
from cutegen.playground import evaluate

__all__ = ["Partition", "partitions"]

_K_TILES = 9973  # a prime: where K is not said, this and multiples of K stand for k and K
_MOST = 2**31 - 1
_MN = 9967  # another: M and N where a pitch is one of them


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One tensor of a thread.

    Attributes:
        name: As CuTe's tutorials call it, for example ``tAgA``.
        made: How an idiomatic kernel makes it.
        layout: Its layout as CuTe prints it.
        merged: Of a fragment, the same with the second and the third mode coalesced.
    """

    name: str
    made: str
    layout: str
    merged: str

    @property
    def shape(self) -> str:
        """The shape alone."""
        return self.layout.partition(":")[0]


def partitions(plan: KernelPlan, k: int | None = None) -> tuple[Partition, ...]:
    """The tensors of a thread: copies of A and B, fragments, and the accumulators.

    Args:
        plan: The kernel.
        k: The products of an element of D; left out, its number of k-tiles stays a name, as it does where
            strides exceed the 32 bits that CuTe has for them here.
    """
    if k is not None and 2 * max(plan.tile) * k > _MOST:
        k = None
    shown: list[tuple[str, str]] = []
    statements: list[str] = []
    for name, made, visible in _statements(plan, _extent_k(plan, k)):
        statements.append(f"auto {name} = {made};")
        if visible:
            shown.append((name, made))
    for name, _ in shown:
        layout = name if name == "tCrC" else f"{name}.layout()"
        texts = (layout, _merged(layout) if name.startswith("tCr") else layout)
        statements += [f'print({text}); print("\\n");' for text in texts]
    lines = [_named(line, plan, k) for line in evaluate("\n".join(statements)).printed.split("\n")]
    return tuple(
        Partition(name=name.replace("_of_", " of "), made=made, layout=layout, merged=merged)
        for (name, made), layout, merged in zip(shown, lines[::2], lines[1::2], strict=False)
    )


def _merged(layout: str) -> str:
    """The layout with each mode behind the first one as short as it can be written."""
    return f"make_layout(layout<0>({layout}), coalesce(layout<1>({layout})), coalesce(layout<2>({layout})))"


def _extent_k(plan: KernelPlan, k: int | None) -> int:
    blk_k = plan.tile[2]
    return _K_TILES * blk_k if k is None else -(-k // blk_k) * blk_k


def _statements(plan: KernelPlan, extent_k: int) -> Iterator[tuple[str, str, bool]]:
    """Name, expression, and whether it is one of the tensors to show."""
    cute = idiomatic_context(plan)
    # The product that widens its operands is cutegen's own; as a layout it is any other of one element.
    operation = "UniversalFMA<float,float,float,float>" if cute["widens"] else cute["mma_op"]
    parts = f"MMA_Atom<{operation}>{{}}, {cute['atom_layout']}{{}}, {cute['permutation']}{{}}"
    yield "tiled_mma", f"make_tiled_mma({parts})", False
    yield "thr_mma", "tiled_mma.get_slice(0)", False
    for operand in cute["operands"]:
        yield from _operand(plan, operand, extent_k)
    blk_m, blk_n, _ = plan.tile
    stride = f"{_MN}, _1{{}}" if plan.config.d.major == "n" else f"_1{{}}, {_MN}"
    yield (
        "gD",
        f"make_tensor(make_layout(make_shape(_{blk_m}{{}}, _{blk_n}{{}}), make_stride({stride})))",
        False,
    )
    yield "tCgD", "thr_mma.partition_C(gD)", True
    yield "tCrC", "make_layout(shape(thr_mma.partition_C(gD)))", True


def _operand(plan: KernelPlan, operand: dict[str, Any], extent_k: int) -> Iterator[tuple[str, str, bool]]:
    name = operand["name"]
    cfg = plan.config.operand("a" if name == "A" else "b")
    rows, blk_k = plan.tile[0 if name == "A" else 1], plan.tile[2]
    stride = f"{extent_k}, _1{{}}" if cfg.major == "k" else f"_1{{}}, {_MN}"
    tile = f"make_tile(_{rows}{{}}, _{blk_k}{{}}), make_coord(0, _)"
    yield f"m{name}", f"make_tensor(make_layout(make_shape({_MN}, {extent_k}), make_stride({stride})))", False
    yield f"g{name}", f"local_tile(m{name}, {tile})", False
    if "smem" not in operand:
        yield f"tCg{name}", f"thr_mma.partition_{name}(g{name})", True
        yield f"tCr{name}", f"make_fragment_like(thr_mma.partition_{name}(g{name}(_,_,0)))", True
        return
    smem, element = operand["smem"], dtype(cfg.dtype).cxx
    # CuTe cannot slice what EvaluatedSwizzle is for: those show without their swizzle.
    swizzle = "" if (smem["swizzle"] or "").startswith("Evaluated") else smem["swizzle"]
    atom = f"composition({swizzle}{{}}, {smem['atom']}{{}})" if swizzle else f"{smem['atom']}{{}}"
    values = f"{operand['g2s_threads']}{{}}, {operand['g2s_values']}{{}}"
    yield f"s{name}", f"make_tensor(tile_to_shape({atom}, make_shape(_{rows}{{}}, _{blk_k}{{}})))", False
    yield f"g2s_{name}", f"make_tiled_copy(Copy_Atom<{operand['g2s']}, {element}>{{}}, {values})", False
    yield f"t{name}g{name}", f"g2s_{name}.get_slice(0).partition_S(g{name})", True
    yield f"t{name}s{name}", f"g2s_{name}.get_slice(0).partition_D(s{name})", True
    yield f"tCr{name}", f"make_fragment_like(thr_mma.partition_{name}(s{name}))", True
    yield f"tCr{name}_of_g{name}", f"make_fragment_like(thr_mma.partition_{name}(g{name}(_,_,0)))", True
    yield (
        f"s2r_{name}",
        f"make_tiled_copy_{name}(Copy_Atom<{operand['s2r']}, {element}>{{}}, tiled_mma)",
        False,
    )
    yield f"tXs{name}", f"s2r_{name}.get_slice(0).partition_S(s{name})", True
    yield f"tXr{name}", f"s2r_{name}.get_slice(0).retile_D(tCr{name})", True


def _named(layout: str, plan: KernelPlan, k: int | None) -> str:
    """The layout with names for numbers that only a call gives."""

    def name(found: re.Match[str]) -> str:
        value, whole = int(found[0]), _extent_k(plan, None)
        for unit, letter in ((whole, "K"), (_K_TILES, "k"), (_MN, "ld")):
            if value % unit == 0 and value and (k is None or unit == _MN):
                return letter if value == unit else f"{value // unit}{letter}"
        return found[0]

    return re.sub(r"(?<![\w_])\d+", name, layout)
