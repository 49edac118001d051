"""What ``cutegen layout`` makes of expressions: values of CuTe's documentation, static and plain integers."""

from __future__ import annotations

import pytest

from cutegen.errors import ExpressionError
from cutegen.playground import evaluate, text


def value(expression: str, *, static: bool = False) -> str:
    return text(evaluate(expression, static=static).value)


#: Facts of CUTLASS ``media/docs/cpp/cute/02_layout_algebra.md``, which writes every integer as static.
DOCUMENTED = {
    "coalesce((2,(1,6)):(1,(6,2)))": "_12:_1",
    "coalesce((2,(1,6)):(1,(6,2)), Step<_1,_1>{})": "(_2,_6):(_1,_2)",
    "(6,2):(8,2) o (4,3):(3,1)": "((_2,_2),_3):((_24,_2),_8)",
    "20:2 o (5,4):(4,1)": "(_5,_4):(_8,_2)",
    "(10,2):(16,4) o (5,4):(1,5)": "(_5,(_2,_2)):(_16,(_80,_4))",
    "composition((12,(4,8)):(59,(13,1)), make_tile(3:4, 8:2))": "(_3,(_2,_4)):(_236,(_26,_1))",
    "composition((12,(4,8)):(59,(13,1)), make_shape(3, 8))": "(_3,(_4,_2)):(_59,(_13,_1))",
    "complement(4:1, 24)": "_6:_4",
    "complement(6:4, 24)": "_4:_1",
    "complement((4,6):(1,4), 24)": "_1:_0",
    "complement(4:2, 24)": "(_2,_3):(_1,_8)",
    "complement((2,4):(1,6), 24)": "_3:_2",
    "complement((2,2):(1,6), 24)": "(_3,_2):(_2,_12)",
    "logical_divide((4,2,3):(2,1,8), 4:2)": "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))",
    "logical_divide((9,(4,8)):(59,(13,1)), make_tile(3:3, (2,4):(1,8)))": (
        "((_3,_3),((_2,_4),(_2,_2))):((_177,_59),((_13,_2),(_26,_1)))"
    ),
    "zipped_divide((9,(4,8)):(59,(13,1)), make_tile(3:3, (2,4):(1,8)))": (
        "((_3,(_2,_4)),(_3,(_2,_2))):((_177,(_13,_2)),(_59,(_26,_1)))"
    ),
    "tiled_divide((9,(4,8)):(59,(13,1)), make_tile(3:3, (2,4):(1,8)))": (
        "((_3,(_2,_4)),_3,(_2,_2)):((_177,(_13,_2)),_59,(_26,_1))"
    ),
    "flat_divide((9,(4,8)):(59,(13,1)), make_tile(3:3, (2,4):(1,8)))": (
        "(_3,(_2,_4),_3,(_2,_2)):(_177,(_13,_2),_59,(_26,_1))"
    ),
    "logical_product((2,2):(4,1), 6:1)": "((_2,_2),(_2,_3)):((_4,_1),(_2,_8))",
    "logical_product((2,2):(4,1), (4,2):(2,1))": "((_2,_2),(_4,_2)):((_4,_1),(_8,_2))",
    "blocked_product((2,5):(5,1), (3,4):(1,3))": "((_2,_3),(_5,_4)):((_5,_10),(_1,_30))",
    "raked_product((2,5):(5,1), (3,4):(1,3))": "((_3,_2),(_4,_5)):((_10,_5),(_30,_1))",
}


@pytest.mark.parametrize("expression", DOCUMENTED)
def test_documented_results(expression: str) -> None:
    assert value(expression, static=True) == DOCUMENTED[expression]


OTHERS = {
    "right_inverse((_8,_4):(_4,_1))": "(_4,_8):(_8,_1)",
    "left_inverse((_4,_8):(_1,_5))": "(_5,_8):(_1,_4)",
    "right_inverse((8,_4):(4,_1))": "_4:8",
    "filter((_2,_4,_1):(_1,_0,_7))": "_2:_1",
    "flatten((_2,(_3,_4)):(_1,(_2,_6)))": "(_2,_3,_4):(_1,_2,_6)",
    "size((_2,(_3,_4)):(_1,(_2,_6)))": "_24",
    "size<1>((2,(_3,_4)):(_1,(_2,_6)))": "_12",
    "cosize((_4,_8):(_8,_1))": "_32",
    "rank((_2,(_3,_4)):(_1,(_2,_6)))": "_2",
    "depth((_2,(_3,_4)):(_1,(_2,_6)))": "_2",
    "get<1,0>((_2,(_3,_4)):(_1,(_2,_6)))": "_3:_2",
    "layout<1>((_2,(_3,_4)):(_1,(_2,_6)))": "(_3,_4):(_2,_6)",
    "select<1,0>((_2,_3):(_1,_2))": "(_3,_2):(_2,_1)",
    "group<0,2>((_2,_3,_4):(_1,_2,_6))": "((_2,_3),_4):((_1,_2),_6)",
    "take<1,3>((_2,_3,_4):(_1,_2,_6))": "(_3,_4):(_2,_6)",
    "append<3>((_2,_3):(_1,_2))": "(_2,_3,_1):(_1,_2,_0)",
    "make_ordered_layout(Shape<_2,_2,_2,_2>{}, Step<_0,_2,_3,_1>{})": "(_2,_2,_2,_2):(_1,_4,_8,_2)",
    "make_ordered_layout((2,3,4,5), make_step(Int<2>{}, 67, 42, Int<50>{}))": "(2,3,4,5):(_1,10,30,2)",
    "tile_to_shape((_8,_4):(_4,_1), Shape<_16,_8>{})": "((_8,_2),(_4,_2)):((_4,_32),(_1,_64))",
    "tile_to_shape((_8,_4):(_4,_1), Shape<_16,_8>{}, Step<_2,_1>{})": "((_8,_2),(_4,_2)):((_4,_64),(_1,_32))",
    "(_8,_4):(_4,_1)": "(_8,_4):(_4,_1)",
    "(8,4):(4,_1)": "(8,4):(4,_1)",
    "make_layout(make_shape(8, _4{}))": "(8,_4):(_1,8)",
    "make_layout(make_shape(8, _4{}), LayoutRight{})": "(8,_4):(_4,_1)",
    "make_layout(Shape<_8,_1>{})": "(_8,_1):(_1,_0)",
    "make_layout(_8:_1, 4:_8)": "(_8,4):(_1,_8)",
    "Layout<Shape<_2,Shape<_2,Int<3>>>>{}": "(_2,(_2,_3)):(_1,(_2,_4))",
    "((8,4):(4,1))(3,2)": "14",
    "((_8,_4):(_4,_1))(_3{},_2{})": "_14",
    "((_8,_4):(_4,_1))(9)": "5",
    "((_8,(_2,_4)):(_8,(_4,_1)))(_,(1,_))": "(_8,_4):(_8,_1)",
    "((_8,_4):(_4,_1)).get_flat_coord(6)": "(1,2)",
    "idx2crd(9, Shape<_4,_3>{})": "(1,2)",
    "crd2idx((1,2), Shape<_4,_3>{})": "9",
    "ceil_div(make_shape(_9{}, 4), _2{})": "(_5,4)",
    "Swizzle<3,3,3> o 0 o (8,32):(32,1)": "Sw<3,3,3> o 0 o (8,32):(32,1)",
    "composition(Swizzle<3,3,3>{}, (_8,_32):(_32,_1))": "Sw<3,3,3> o _0 o (_8,_32):(_32,_1)",
    "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)": "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
    "Swizzle<0,4,3> o (_8,_8):(_8,_1)": "(_8,_8):(_8,_1)",
    "(Swizzle<3,0,3> o (_8,_8):(_8,_1))(3,5)": "30",
    "tile_to_shape(Swizzle<2,0,3> o (_8,_4):(_4,_1), Shape<_16,_4>{})": (
        "Sw<2,0,3> o _0 o ((_8,_2),(_4,_1)):((_4,_32),(_1,_0))"
    ),
    "right_inverse(Swizzle<2,0,3> o (_8,_8):(_8,_1))": "Sw<2,0,-3> o _0 o (_8,_8):(_8,_1)",
    "8_c + _m1": "_7",
    "-(7) / 2": "-3",
    "cute::max(_2{}, 3)": "3",
    "auto a = 3; a = a * 2; (a,)": "(6)",
    "Layout<Shape<_4>> l{}; l": "(_4):(_1)",
}


@pytest.mark.parametrize("expression", OTHERS)
def test_results(expression: str) -> None:
    assert value(expression) == OTHERS[expression]


def test_a_layout_keeps_its_function_under_composition() -> None:
    left, right = "(_6,_2,_4):(_8,_2,_64)", "(_4,_3):(_6,_2)"
    for i in range(12):
        assert value(f"({left} o {right})({i})") == value(f"({left})(({right})({i}))")


def test_plain_and_static_integers() -> None:
    assert value("(4,2):(1,4) o _2") == "(2,1):(1,4)"
    assert value("(4,2):(1,4) o _2", static=True) == "_2:_1"
    assert value("logical_divide(8:1, 4)") == "(4,2):(1,4)"
    assert value("coalesce((4,2):(1,4))") == "(4,2):(1,4)"  # CuTe joins what it knows to fit
    assert value("0 * 3") == "0"
    assert value("_0 * 3") == "_0"
    assert value("5 % _1") == "_0"


def test_a_division_that_nobody_checks_is_told() -> None:
    found = evaluate("(6,2):(8,2) o (5,3):(3,1)")
    assert len(found.remarks) == 1
    assert "mode" not in found.remarks[0]
    assert "5 % 2 is 1" in found.remarks[0]
    assert not evaluate("(6,2):(8,2) o (4,3):(3,1)").remarks


TENSORS = {
    "local_tile((_128,_128):(_1,_128), Shape<_64,_32>{}, make_coord(1, 2))": (
        "counting_iter(8256) o (_64,_32):(_1,_128)"
    ),
    "local_partition((_64,_32):(_1,_128), (_8,_4):(_1,_8), 3)": "counting_iter(3) o (_8,_8):(_8,_512)",
    "local_tile((_16,_8):(_8,_1), Shape<_4,_2,_4>{}, make_coord(1,_,1), Step<_1, X,_1>{}).layout()": (
        "(_4,_4):(_8,_1)"
    ),
    "make_tensor((_4,_8):(_8,_1))(1, _)": "counting_iter(8) o (_8):(_1)",
    "make_tensor((_4,_8):(_8,_1))(1, 3)": "11",
    "partition_shape_A(make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{}), Shape<_32,_32>{})": (
        "((_2,_2,_2),_2,_2)"
    ),
    "tile_shape(make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{}, (_2,_2,_1):(_2,_1,_0)))": "(_32,_16,_16)",
}


@pytest.mark.parametrize("expression", TENSORS)
def test_tensors(expression: str) -> None:
    assert value(expression) == TENSORS[expression]


@pytest.mark.parametrize("column", range(8))
def test_slices_of_swizzled_layouts_begin_where_they_should(column: int) -> None:
    whole = "Swizzle<2,0,3> o (_8,_8):(_8,_1)"
    sliced = f"make_tensor({whole})(_, {column})"
    assert [value(f"({sliced})({row})") for row in range(8)] == [
        value(f"({whole})({row}, {column})") for row in range(8)
    ]


def test_tiled_copy() -> None:
    copy = "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, (_16,_4):(_4,_1), (_1,_8):(_8,_1))"
    assert value(copy).splitlines() == [
        "TiledCopy",
        "  Tiler_MN:       (_16,_32)",
        "  TiledLayout_TV: ((_4,_16),_8):((_128,_1),_16)",
        "Copy_Atom",
        "  ThrID:        _1:_0",
        "  ValLayoutSrc: (_1,_8):(_0,_1)",
        "  ValLayoutDst: (_1,_8):(_0,_1)",
        "  ValLayoutRef: (_1,_8):(_0,_1)",
        "  ValueType:    16b",
    ]
    assert value(f"size({copy})") == "_64"
    part = f"{copy}.get_slice(5).partition_S((_32,_32):(_32,_1))"
    assert value(part) == "counting_iter(40) o ((_8,_1),_2,_1):((_1,_0),_512,_0)"


def test_what_is_not_divisible_is_refused_with_its_mode() -> None:
    with pytest.raises(ExpressionError) as caught:
        value("logical_divide((_4,(_2,_2)):(_1,(_4,_16)), make_tile(_2, _3))")
    assert caught.value.message == (
        "logical_divide: mode 1,0: composing (_2,_2):(_4,_16) with _3:_1: the extent _3 that is left must be"
        " a multiple of _2, what extent _2 of the left side gives (got _3 % _2 is 1)"
    )
