"""Random expressions of layout algebra, in C++ that both CuTe and ``cutegen layout`` read."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["Expressions"]

_NAMED = {*range(11), 12, 16, 24, 32, 64, 96, 128, 256, 512, 1024}

_MMAS = (
    "SM80_16x8x16_F32BF16BF16F32_TN",
    "SM80_16x8x8_F32TF32TF32F32_TN",
    "SM80_8x8x4_F64F64F64F64_TN",
    "SM80_16x8x32_S32S8S8S32_TN",
    "UniversalFMA<float,float,float,float>",
)
_COPIES = (
    ("UniversalCopy<uint128_t>", "half_t", 8),
    ("UniversalCopy<uint64_t>", "float", 2),
    ("SM80_CP_ASYNC_CACHEALWAYS<uint32_t>", "half_t", 2),
    ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "int8_t", 16),
    ("DefaultCopy", "float", 1),
)


#: Extents or strides, nested.
Tree = tuple[Any, ...]


def _leaves(tree: Any) -> list[int]:
    return [tree] if isinstance(tree, int) else [leaf for mode in tree for leaf in _leaves(mode)]


class Expressions:
    """A source of expressions; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def one(self) -> tuple[str, str]:
        """An operation's name and an expression that uses it."""
        kinds: list[Callable[[], str]] = [
            getattr(self, name) for name in sorted(dir(type(self))) if name.startswith("op_")
        ]
        kind = self.rng.choice(kinds)
        return kind.__name__.removeprefix("op_"), kind()

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    # Operands

    def number(self, n: int, plain: float = 0.0) -> str:
        if self.rng.random() < plain:
            return str(n)
        return f"_{n}{{}}" if n in _NAMED else f"Int<{n}>{{}}"

    def extent(self) -> int:
        return self.pick(1, 2, 2, 3, 4, 4, 4, 6, 8, 8, 16)

    def tree(self, modes: int, depth: int = 1) -> Tree:
        def mode() -> Any:
            if depth and self.rng.random() < 0.3:
                return self.tree(self.pick(1, 2, 2), depth - 1)
            return self.extent()

        return tuple(mode() for _ in range(modes))

    def render(self, name: str, tree: Any, plain: float) -> str:
        if isinstance(tree, int):
            return self.number(tree, plain)
        return f"{name}({', '.join(self.render(name, mode, plain) for mode in tree)})"

    def shape(self, modes: int, plain: float, depth: int = 1) -> str:
        return self.render("make_shape", self.tree(modes, depth), plain)

    def strides(self, shape: Tree) -> Tree:
        """Strides in a random order, mostly without gaps, some of them 0."""
        leaves = [0] * len(_leaves(shape))
        order, current = list(range(len(leaves))), self.pick(1, 1, 1, 2)
        self.rng.shuffle(order)
        for i in order:
            leaves[i] = 0 if self.rng.random() < 0.08 else current
            current *= _leaves(shape)[i] * self.pick(1, 1, 1, 1, 2)

        def nest(tree: Any) -> Any:
            return leaves.pop(0) if isinstance(tree, int) else tuple(map(nest, tree))

        nested: Tree = nest(shape)
        return nested

    def layout(self, modes: int | None = None, plain: float | None = None) -> str:
        rng = self.rng
        modes = modes or self.pick(1, 2, 2, 2, 3)
        plain = self.pick(0.0, 0.0, 0.0, 0.25, 1.0) if plain is None else plain
        if rng.random() < 0.1 and modes == 1:
            n, d = self.number(self.extent(), plain), self.number(self.pick(1, 2, 4), plain)
            return f"make_layout({n}, {d})"
        tree = self.tree(modes)
        shape = self.render("make_shape", tree, plain)
        match rng.randrange(4):
            case 0:
                return f"make_layout({shape})"
            case 1:
                return f"make_layout({shape}, LayoutRight{{}})"
            case _:
                stride = self.render("make_stride", self.strides(tree), self.pick(0.0, plain))
                return f"make_layout({shape}, {stride})"

    def flat(self, *extents: int) -> str:
        shape = ", ".join(map(self.number, extents))
        return f"make_layout(make_shape({shape}){self.pick('', ', LayoutRight{}')})"

    def tensor(self, layout: str) -> str:
        return f"make_tensor(counting_iterator<int>{{}}, {layout})"

    def tile(self) -> str:
        a, b = self.pick(8, 16, 32), self.pick(8, 16, 32, 64)
        return self.flat(a, b)

    def swizzled(self) -> str:
        b = self.pick(1, 2, 3)
        rows, columns = self.pick(8, 16, 32), self.pick(16, 32, 64)
        swizzle = f"Swizzle<{b},{self.pick(0, 2, 3)},{self.pick(b, 3, -3)}>{{}}"
        layout = f"make_layout(make_shape({self.number(rows)}, {self.number(columns)}), LayoutRight{{}})"
        return f"composition({swizzle}, {layout})"

    def tiler(self) -> str:
        rng = self.rng
        one = (lambda: self.number(self.pick(1, 2, 4, 8), 0.15), lambda: "_")
        two = (
            *one,
            lambda: f"make_layout({self.number(self.pick(2, 4))}, {self.number(self.pick(1, 2))})",
        )
        return f"make_tile({', '.join(rng.choice(two)() for _ in range(self.pick(1, 2, 2)))})"

    def any_layout(self) -> str:
        return self.swizzled() if self.rng.random() < 0.15 else self.layout()

    def by(self, names: tuple[str, ...], left: Callable[[], str], *right: Callable[[], str]) -> str:
        return f"{self.rng.choice(names)}({left()}, {self.rng.choice(right)()})"

    def coordinate(self, modes: int) -> str:
        return ", ".join(self.pick("_", "_1{}", "1", "0", "2", "_0{}") for _ in range(modes))

    # Operations

    def op_layout(self) -> str:
        return self.any_layout()

    def op_type(self) -> str:
        a, b, c = (self.pick(2, 4, 8, 16) for _ in range(3))
        return f"Layout<Shape<_{a},Shape<_{b},Int<{c}>>>,Stride<_{b},Stride<_1,Int<{a * b}>>>>{{}}"

    def op_ordered(self) -> str:
        shape = self.shape(3, self.pick(0.0, 0.5), 0)
        order = ", ".join(self.number(i, 0.15) for i in self.rng.sample((0, 1, 2, 5), 3))
        return f"make_ordered_layout({shape}, make_step({order}))"

    def op_composition(self) -> str:
        return self.by(
            ("composition",), self.any_layout, self.layout, lambda: self.layout(plain=0.0), self.tiler
        )

    def op_coalesce(self) -> str:
        profile = self.pick("", "", ", Shape<_1>{}", ", Shape<_1,_1>{}")
        return f"{self.pick('coalesce', 'coalesce', 'filter')}({self.layout()}{profile})"

    def op_filter_zeros(self) -> str:
        return f"filter_zeros({self.layout()})"

    def op_complement(self) -> str:
        target = self.rng.choice(("", f", {self.number(self.pick(24, 64, 512), 0.3)}", ", Shape<_8,_16>{}"))
        return f"complement({self.any_layout()}{target})"

    def op_inverse(self) -> str:
        return f"{self.pick('right_inverse', 'left_inverse')}({self.any_layout()})"

    def op_divide(self) -> str:
        names = tuple(f"{x}_divide" for x in ("logical", "zipped", "tiled", "flat"))
        return self.by(names, self.any_layout, self.tiler, self.tiler, lambda: self.layout(1, 0.0))

    def op_product(self) -> str:
        names = tuple(f"{x}_product" for x in ("logical", "zipped", "tiled", "flat"))
        return self.by(names, self.any_layout, self.tiler, lambda: self.layout(plain=0.0), self.layout)

    def op_rank_sensitive(self) -> str:
        return self.by(("blocked_product", "raked_product"), self.any_layout, lambda: self.layout(2))

    def op_tile_to_shape(self) -> str:
        block = self.rng.choice((self.flat(self.pick(2, 4, 8), self.pick(4, 8)), self.swizzled()))
        a, b = (self.number(self.pick(16, 32, 64, 24), 0.1) for _ in range(2))
        order = self.pick("", ", Step<_2,_1>{}", ", Step<_1,_2>{}", ", GenRowMajor{}")
        return f"tile_to_shape({block}, make_shape({a}, {b}){order})"

    def op_modes(self) -> str:
        layout = self.layout(3)
        name = self.rng.choice(
            ("get<1>", "layout<2>", "select<2,0>", "group<0,2>", "group<1,3>", "take<1,3>")
        )
        name = self.pick(name, "flatten", "append<5>", "prepend<4>", "append", "get<0>")
        return f"{name}({layout})"

    def op_numbers(self) -> str:
        name = self.rng.choice(
            ("size", "cosize", "rank", "depth", "size<1>", "shape", "stride<0>", "rank<1>")
        )
        return f"{name}({self.layout(2)})"

    def op_call(self) -> str:
        modes = self.pick(1, 2, 3)
        coordinate = self.coordinate(modes)
        layout = self.layout(3 if modes == 1 else modes)
        if modes == 1 and coordinate == "_":
            coordinate = "5"
        return f"{layout}({coordinate})"

    def op_swizzled_slice(self) -> str:
        tensor = self.tensor(self.swizzled())
        if self.rng.random() < 0.5:
            return f"local_tile({tensor}, Shape<_8,_8>{{}}, make_coord({self.coordinate(2)}))"
        return f"{tensor}({self.pick('_', '3', '_2{}')}, {self.pick('_', '1', '_8{}')})"

    def op_local_tile(self) -> str:
        tensor = self.tensor(self.tile())
        shape = f"make_shape({self.number(self.pick(4, 8))}, {self.number(self.pick(4, 8), 0.2)})"
        return f"local_tile({tensor}, {shape}, make_coord({self.coordinate(2)}))"

    def op_projection(self) -> str:
        tensor = self.tensor(self.tile())
        step = self.pick("Step<_1, X,_1>", "Step< X,_1,_1>", "Step<_1,_1, X>")
        return f"local_tile({tensor}, Shape<_8,_4,_8>{{}}, make_coord({self.coordinate(3)}), {step}{{}})"

    def op_local_partition(self) -> str:
        tensor = self.tensor(self.tile())
        threads = self.flat(self.pick(2, 4, 8), self.pick(4, 8))
        return f"local_partition({tensor}, {threads}, {self.number(self.rng.randrange(8), 0.7)})"

    def op_coordinates(self) -> str:
        layout = self.layout(2, self.pick(0.0, 0.5))
        name = self.pick("get_flat_coord", "get_hier_coord", "get_1d_coord")
        if self.rng.random() < 0.4:
            shape = self.shape(2, 0.3)
            return f"idx2crd({self.number(self.rng.randrange(9), 0.5)}, {shape})"
        return f"{layout}.{name}({self.number(self.rng.randrange(9), 0.5)})"

    def op_common(self) -> str:
        return self.by(("max_common_layout", "max_common_vector"), self.layout, self.layout)

    def op_cast(self) -> str:
        return f"{self.pick('upcast', 'downcast')}<{self.pick(2, 4)}>({self.flat(8, 16)})"

    def op_others(self) -> str:
        name = self.pick("nullspace", "make_layout_like", "make_fragment_like", "zip")
        return f"{name}({self.layout(2)})"

    def op_shapes(self) -> str:
        shape = self.shape(2, 0.4)
        name = self.pick("product_each", "flatten", "product", "coalesce", "depth")
        if self.rng.random() < 0.5:
            return f"{name}({shape})"
        return f"ceil_div({shape}, {self.number(self.pick(2, 3, 8), 0.3)})"

    def op_tiled_copy(self) -> str:
        operation, element, values = self.rng.choice(_COPIES)
        a, b = self.pick(8, 16), self.pick(4, 8)
        threads = f"Layout<Shape<_{a},_{b}>,Stride<_{b},_1>>{{}}"
        atom = f"Copy_Atom<{operation}, {element}>{{}}"
        copy = f"make_tiled_copy({atom}, {threads}, Layout<Shape<_1,_{values}>>{{}})"
        if self.rng.random() < 0.4:
            return copy
        tensor = self.tensor(self.flat(32, b * values * 2))
        return f"{copy}.get_slice({self.rng.randrange(a * b)}).partition_{self.rng.choice('SD')}({tensor})"

    def mma(self) -> str:
        operation = self.rng.choice(_MMAS)
        threads = self.rng.choice(
            ("", ", Layout<Shape<_2,_2,_1>>{}", ", Layout<Shape<_2,_4,_1>,Stride<_4,_1,_0>>{}")
        )
        tile = self.pick("", ", Tile<_64,_64,_32>{}") if threads else ""
        return f"make_tiled_mma({operation}{{}}{threads}{tile})"

    def op_tiled_mma(self) -> str:
        match self.rng.randrange(4):
            case 0:
                return self.mma()
            case 1:
                return f"partition_shape_{self.rng.choice('ABC')}({self.mma()}, Shape<_128,_64>{{}})"
            case 2:
                return f"{self.mma()}.get_layout{self.rng.choice('ABC')}_TV()"
            case _:
                tensor = self.tensor(self.flat(64, 64))
                thread = self.number(self.rng.randrange(32), 0.7)
                return f"{self.mma()}.get_slice({thread}).partition_{self.rng.choice('ABC')}({tensor})"

    def op_copy_of_mma(self) -> str:
        operand = self.rng.choice("AB")
        atom = self.pick("SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T", "SM75_U32x2_LDSM_N")
        mma = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2,_1>>{}, Tile<_32,_32,_16>{})"
        copy = f"make_tiled_copy_{operand}(Copy_Atom<{atom}, half_t>{{}}, {mma})"
        if self.rng.random() < 0.5:
            return copy
        tensor = self.tensor(self.flat(64, 32))
        return f"{copy}.get_slice({self.rng.randrange(128)}).partition_S({tensor})"
