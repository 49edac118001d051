"""TiledCopies, TiledMMAs and what is asked of values with a point, as ``mma.get_slice(0)``."""

from __future__ import annotations

from typing import Any

from cutegen.playground import coordinates, divide
from cutegen.playground.algebra import composition
from cutegen.playground.compact import make_layout
from cutegen.playground.copies import CopyAtom, CopyOperation, ThrCopy, TiledCopy, make_tiled_copy
from cutegen.playground.functions import compose, tree
from cutegen.playground.integers import ONE, Refusal
from cutegen.playground.layouts import Composed, Layout, Pointer, Tensor, shape_of, text
from cutegen.playground.modes import FUNCTIONS, layout_mode
from cutegen.playground.products import MmaOperation, ThrMma, TiledMma, make_tiled_mma, tiled_copy_of
from cutegen.playground.registry import MANY, Table, integer, layout_argument, plain_layout
from cutegen.playground.tuples import ANY

__all__ = ["METHODS"]

#: Functions that are called on a value; the value is the first argument.
METHODS = Table()
_PATH = (0, MANY)


def _atom(value: Any) -> CopyAtom:
    if isinstance(value, CopyAtom):
        return value
    if isinstance(value, CopyOperation):
        raise Refusal(f"a copy must know its type: Copy_Atom<{value.name}, half_t>{{}} (got {value.name})")
    raise Refusal(
        f"a Copy_Atom is needed here (got {text(value)})", "Copy_Atom<UniversalCopy<uint128_t>, half_t>{}"
    )


def _mma(value: Any) -> TiledMma:
    if not isinstance(value, TiledMma):
        raise Refusal(f"a TiledMMA is needed here (got {text(value)})", "make one with make_tiled_mma(...)")
    return value


@FUNCTIONS.add("make_tiled_copy", (2, 3))
def _make_tiled_copy(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    values = plain_layout(a[2]) if len(a) == 3 else make_layout(ONE)
    return make_tiled_copy(_atom(a[0]), plain_layout(a[1]), values)


@FUNCTIONS.add("make_tiled_mma", (1, 3))
def _make_tiled_mma(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if not isinstance(a[0], MmaOperation):
        raise Refusal(
            f"an MMA operation is needed here (got {text(a[0])})", "SM80_16x8x16_F32BF16BF16F32_TN{}"
        )
    threads = plain_layout(a[1]) if len(a) > 1 else None
    return make_tiled_mma(a[0], threads, a[2] if len(a) > 2 else (ANY, ANY, ANY))


def _of_operands(operand: str) -> None:
    FUNCTIONS.add(f"make_tiled_copy_{operand}", (2, 2))(
        lambda t, a: tiled_copy_of(_atom(a[0]), _mma(a[1]), operand)
    )
    FUNCTIONS.add(f"partition_shape_{operand}", (2, 2))(
        lambda t, a: _mma(a[0]).fragment_shape(tree(shape_of(a[1])), operand)
    )
    METHODS.add(f"get_layout{operand}_TV", (1, 1))(lambda t, a: _mma(a[0]).layout_tv(operand))

    @METHODS.add(f"partition_{operand}", (2, 2))
    def partition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        if not isinstance(a[0], ThrMma):
            raise Refusal(f"partition_{operand} is asked of one thread", "mma.get_slice(0)")
        return a[0].partition(a[1], operand)


for _operand in "ABC":
    _of_operands(_operand)


def _of_ends(end: str) -> None:
    source = end == "S"

    @METHODS.add(f"partition_{end}", (2, 2))
    def partition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        return _thread(a[0]).partition(a[1], source=source)

    @METHODS.add(f"retile_{end}", (2, 2))
    def retile(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        return _thread(a[0]).retile(a[1])

    @METHODS.add(f"get_layout{end}_TV", (1, 1))
    def layout_tv(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        if not isinstance(a[0], TiledCopy):
            raise Refusal(f"a TiledCopy is needed here (got {text(a[0])})")
        return a[0].layout_of_end(source=source)


def _thread(value: Any) -> ThrCopy:
    if not isinstance(value, ThrCopy):
        raise Refusal("this is asked of one thread of a TiledCopy", "copy.get_slice(0)")
    return value


for _end in "SD":
    _of_ends(_end)


@METHODS.add("get_slice get_thread_slice", (2, 2))
def _get_slice(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    thread = integer(a[1])
    if isinstance(a[0], TiledCopy):
        return ThrCopy(a[0], thread)
    return ThrMma.of(_mma(a[0]), thread)


@METHODS.add("get_thr_layout_vmnk", (1, 1))
def _threads(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return _mma(a[0]).threads


@FUNCTIONS.add("tile_shape", (1, 1))
def _tile_shape(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tuple(_mma(a[0]).tile_size(i) for i in range(3))


@FUNCTIONS.add("tile_size", (1, 1), (0, 1))
def _tile_size(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[0], TiledCopy):
        return FUNCTIONS["size"](t, (a[0].tiler,))
    if len(t) != 1:
        raise Refusal("tile_size must have the mode: tile_size<0>(mma)")
    i = integer(t[0])
    if not 0 <= i < 3:
        raise Refusal(f"the mode must be 0, 1 or 2 (got {i})")
    return _mma(a[0]).tile_size(i)


_SIZE = FUNCTIONS["size"]


@FUNCTIONS.add("size thr_size", (1, 1), _PATH)
def _size(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[0], TiledMma):
        return _SIZE(t, (a[0].threads,))
    if isinstance(a[0], TiledCopy):
        return _SIZE((0,), (a[0].layout_tv,))
    return _SIZE(t, a)


# Of layouts and tensors


def _as_method(name: str) -> None:
    METHODS.add(name, (1, 1), _PATH)(lambda t, a: FUNCTIONS[name](t, a))


for _name in ("shape", "stride", "size", "rank"):
    _as_method(_name)


@METHODS.add("layout", (1, 1))
def _layout(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return layout_mode(t, a)


@METHODS.add("data", (1, 1))
def _data(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if not isinstance(a[0], Tensor):
        raise Refusal(f"only a tensor has data() (got {text(a[0])})", "make_tensor(layout)")
    return Pointer(a[0].offset)


def _part(name: str, attribute: str) -> None:
    @METHODS.add(name, (1, 1))
    def body(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        if not isinstance(a[0], Composed):
            raise Refusal(f"only a swizzled or composed layout has {name}() (got {text(a[0])})")
        return getattr(a[0], attribute)


for _name, _attribute in (("layout_a", "outer"), ("offset", "offset"), ("layout_b", "inner")):
    _part(_name, _attribute)


@METHODS.add("compose", (2, MANY))
def _compose(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return compose(a[0], a[1] if len(a) == 2 else a[1:])


@METHODS.add("with_shape", (2, MANY))
def _with_shape(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    shape = tree(shape_of(a[1])) if len(a) == 2 else a[1:]
    return composition(layout_argument(a[0]), make_layout(shape))


@METHODS.add("tile", (2, MANY))
def _tile(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return divide.tiled_divide(layout_argument(a[0]), a[1] if len(a) == 2 else a[1:])


def _coordinate(value: Any, index: Any) -> tuple[Layout, int]:
    return plain_layout(value), integer(index)


@METHODS.add("get_hier_coord", (2, 2))
def _hier(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    layout, index = _coordinate(*a)
    return coordinates.hier_coord(index, layout.shape, layout.stride)


@METHODS.add("get_flat_coord", (2, 2))
def _flat(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return coordinates.flat_coord(*_coordinate(*a))


@METHODS.add("get_1d_coord", (2, 2))
def _linear(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    layout = plain_layout(a[0])
    return coordinates.to_index(_hier(t, a), layout.shape)
