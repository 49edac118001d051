"""Copy atoms and TiledCopies, as ``cute/atom/copy_atom.hpp`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.playground.algebra import coalesce, composition, get_layout
from cutegen.playground.compact import make_layout
from cutegen.playground.complement import right_inverse
from cutegen.playground.divide import logical_product, raked_product, zip_layout, zipped_divide
from cutegen.playground.integers import (
    ONE,
    ZERO,
    Refusal,
    Static,
    ceil_div_int,
    is_constant,
    magnitude,
    mul,
    sign,
)
from cutegen.playground.layouts import Layout, Tensor, layout_of, shape_of, text
from cutegen.playground.tensors import as_tensor, call
from cutegen.playground.tuples import (
    ANY,
    Tree,
    append_to,
    get,
    prepend,
    product,
    product_each,
    rank,
    repeat,
)

__all__ = [
    "BITS",
    "CopyAtom",
    "CopyOperation",
    "ThrCopy",
    "TiledCopy",
    "copy_atom",
    "copy_operation",
    "downcast",
    "make_tiled_copy",
    "upcast",
]

#: Bits of the element types that a copy can be told of.
BITS: dict[str, int] = {
    **{f"uint{n}_t": n for n in (8, 16, 32, 64, 128)},
    **{f"int{n}_t": n for n in (8, 16, 32, 64)},
    **{"half_t": 16, "bfloat16_t": 16, "tfloat32_t": 32, "float": 32, "double": 64, "int": 32},
    **{"float_e4m3_t": 8, "float_e5m2_t": 8, "uint128_t": 128},
}


def _s(t: Any) -> Tree:
    return tuple(map(_s, t)) if isinstance(t, tuple) else Static(t)


@dataclass(frozen=True)
class CopyOperation:
    """One copy instruction: (thread, value) to bits, at its source and its destination."""

    name: str
    threads: int
    source: Layout
    target: Layout


def _ldmatrix(name: str, source: tuple[Any, Any], target: tuple[Any, Any]) -> CopyOperation:
    return CopyOperation(name, 32, Layout(*map(_s, source)), Layout(*map(_s, target)))


_SOURCES = {
    1: (((8, 4), 128), ((128, 0), 1)),
    2: (((16, 2), 128), ((128, 0), 1)),
    4: ((32, 128), (128, 1)),
}
_T_THREADS = ((4, 8), (256, 16))

#: ldmatrix, as ``cute/atom/copy_traits_sm75.hpp`` has it.
_LDMATRIX = {
    operation.name: operation
    for operation in (
        _ldmatrix("SM75_U32x1_LDSM_N", _SOURCES[1], ((32, 32), (32, 1))),
        _ldmatrix("SM75_U32x2_LDSM_N", _SOURCES[2], ((32, (32, 2)), (32, (1, 1024)))),
        _ldmatrix("SM75_U32x4_LDSM_N", _SOURCES[4], ((32, (32, 4)), (32, (1, 1024)))),
        _ldmatrix("SM75_U16x2_LDSM_T", _SOURCES[1], (((4, 8), (16, 2)), ((256, 16), (1, 128)))),
        _ldmatrix("SM75_U16x4_LDSM_T", _SOURCES[2], (((4, 8), (16, 2, 2)), ((256, 16), (1, 128, 1024)))),
        _ldmatrix("SM75_U16x8_LDSM_T", _SOURCES[4], (((4, 8), (16, 2, 4)), ((256, 16), (1, 128, 1024)))),
    )
}

#: Copies of one thread whose width is that of a type.
_OF_A_TYPE = (
    "UniversalCopy",
    "SM80_CP_ASYNC_CACHEALWAYS",
    "SM80_CP_ASYNC_CACHEGLOBAL",
    "SM80_CP_ASYNC_CACHEALWAYS_ZFILL",
    "SM80_CP_ASYNC_CACHEGLOBAL_ZFILL",
)


def copy_operation(name: str, bits: int | None) -> CopyOperation | None:
    """The copy operation of that name, of one type of ``bits`` bits if it takes one."""
    if name in _LDMATRIX:
        return _LDMATRIX[name]
    if name in _OF_A_TYPE and bits is not None:
        one = Layout((ONE, Static(bits)), (ZERO, ONE))
        return CopyOperation(name, 1, one, one)
    if name in ("DefaultCopy", "AutoVectorizingCopy"):
        one = Layout((ONE, ONE), (ZERO, ZERO))
        return CopyOperation(name, 1, one, one)
    return None


def upcast(n: int, layout: Layout) -> Layout:
    """The layout in elements that are ``n`` times as large."""
    return _cast(n, layout, _up)


def downcast(n: int, layout: Layout) -> Layout:
    """The layout in elements that are ``n`` times as small."""
    return _cast(n, layout, _down)


def _cast(n: int, layout: Layout, leaf: Any) -> Layout:
    if n < 1:
        raise Refusal(f"the factor must be at least 1 (got {n})")
    if isinstance(layout.shape, tuple):
        modes = [_cast(n, get_layout(layout, i), leaf) for i in range(layout.rank)]
        return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))
    result: Layout = leaf(Static(n), layout.shape, layout.stride)
    return result


def _up(n: Static, shape: int, stride: int) -> Layout:
    if is_constant(stride, 0):
        return Layout(shape, stride)
    if not isinstance(stride, Static):
        return Layout(shape, stride // n)
    if stride % n and n % stride:
        raise Refusal(f"the stride must divide {n} or be a multiple of it (got {text(stride)})")
    return Layout(
        ceil_div_int(shape, ceil_div_int(n, magnitude(stride))),
        mul(sign(stride), ceil_div_int(magnitude(stride), n)),
    )


def _down(n: Static, shape: int, stride: int) -> Layout:
    if is_constant(stride, 1) or is_constant(stride, -1):
        return Layout(mul(shape, n), stride)
    return Layout(shape, mul(stride, n))


@dataclass(frozen=True)
class CopyAtom:
    """A copy operation for elements of one type: (thread, value) to elements."""

    bits: int
    threads: Layout
    source: Layout
    target: Layout

    def __str__(self) -> str:
        rows = (("ThrID:        ", self.threads), ("ValLayoutSrc: ", self.source))
        more = (("ValLayoutDst: ", self.target), ("ValLayoutRef: ", self.reference))
        lines = "".join(f"  {name}{text(value)}\n" for name, value in rows + more)
        return f"Copy_Atom\n{lines}  ValueType:    {self.bits}b\n"

    @property
    def reference(self) -> Layout:
        """The order of elements that a TiledCopy is made of; the target, but for one thread the same."""
        return self.target


def copy_atom(operation: CopyOperation, bits: int) -> CopyAtom:
    """A copy operation for elements of ``bits`` bits."""
    source, target = upcast(bits, operation.source), upcast(bits, operation.target)
    for layout in (source, target):
        if int(product(get(layout.shape, 0))) != operation.threads:
            raise Refusal(f"{operation.name} cannot copy elements of {bits} bits", "name a narrower type")
    threads = Layout(Static(operation.threads), ONE if operation.threads > 1 else ZERO)
    return CopyAtom(bits, threads, source, target)


@dataclass(frozen=True)
class TiledCopy:
    """A copy atom repeated over threads and values: (thread, value) to a coordinate of the tile."""

    atom: CopyAtom
    layout_tv: Layout
    tiler: Tree

    def __post_init__(self) -> None:
        for i, what in enumerate(("threads", "values")):
            mine, needed = product(get(self.layout_tv.shape, i)), product(get(self.atom.target.shape, i))
            if mine % needed:
                raise Refusal(f"the {what} must be a multiple of the copy atom's {needed} (got {mine})")

    def __str__(self) -> str:
        head = f"TiledCopy\n  Tiler_MN:       {text(self.tiler)}\n"
        return f"{head}  TiledLayout_TV: {text(self.layout_tv)}\n{self.atom}"

    def partition(self, layout: Any, *, source: bool) -> Any:
        """(thread, values of an atom and atoms, rest) of a tile."""
        if rank(shape_of(layout)) < rank(self.tiler):
            raise Refusal(f"the tensor must have at least {rank(self.tiler)} modes (got {text(layout)})")
        return self._threads_and_values(zipped_divide(layout, self.tiler), source)

    def _threads_and_values(self, zipped: Any, source: bool) -> Any:
        end = self.atom.source if source else self.atom.target
        to_target = composition(right_inverse(self.atom.reference), end)
        atom = self.atom.reference
        atoms = zipped_divide(self.layout_tv, (product(get(atom.shape, 0)), product(get(atom.shape, 1))))
        own = composition(atoms, (to_target, ANY))
        pairs = zip_layout(get_layout(own, 0), get_layout(own, 1))
        thrval = coalesce(pairs, (ONE, (ONE, ONE)))
        return call(composition(zipped, (thrval, ANY)), ((ANY, ANY), ANY))

    def layout_of_end(self, *, source: bool) -> Layout:
        """(thread, value) to the tile, at the source or the destination."""
        whole = make_layout((shape_of(self.tiler), ONE))
        result: Layout = call(self._threads_and_values(whole, source), (ANY, ANY, ZERO))
        return result

    def retile(self, layout: Layout) -> Any:
        """A fragment as this copy's values."""
        v = product(get(layout.shape, 0))
        inverse = composition(right_inverse(self.layout_tv), make_layout(shape_of(self.tiler)))
        order = upcast(mul(product(get(self.layout_tv.shape, 0)), v), inverse)
        repeated = logical_product(make_layout(v), right_inverse(order))
        values = zipped_divide(repeated, make_layout(product(get(self.atom.target.shape, 1))))
        tiled = zipped_divide(layout, prepend(product_each(order.shape), v))
        return call(composition(tiled, (values, ANY)), (ANY, append_to(layout.rank, ZERO, ANY)))


def make_tiled_copy(atom: CopyAtom, threads: Layout, values: Layout) -> TiledCopy:
    """The TiledCopy of a thread layout and a value layout, each from a coordinate."""
    layout = raked_product(threads, values)
    shape = (product(threads.shape), product(values.shape))
    layout_tv = composition(right_inverse(layout), make_layout(shape))
    return TiledCopy(atom, layout_tv, product_each(layout.shape))


@dataclass(frozen=True)
class ThrCopy:
    """One thread of a TiledCopy."""

    copy: TiledCopy
    thread: int

    def __str__(self) -> str:
        return f"ThrCopy\n  ThrIdx: {text(self.thread)}\n{self.copy}"

    def partition(self, value: Any, *, source: bool) -> Any:
        """What this thread copies of a tensor."""
        tensor = as_tensor(value)
        every = repeat(rank(shape_of(tensor)), ANY)
        parts = Tensor(tensor.offset, self.copy.partition(tensor.layout, source=source))
        return call(parts, (self.thread, ANY, every))

    def retile(self, value: Any) -> Any:
        """A fragment as this copy's values."""
        tensor = as_tensor(value)
        return Tensor(tensor.offset, self.copy.retile(layout_of(tensor)))
