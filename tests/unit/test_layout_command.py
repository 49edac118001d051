"""``cutegen layout``: programs, tables, documents, and errors with their place."""

from __future__ import annotations

import pickle
import random
import re
import shlex
from pathlib import Path

import pytest

from cutegen.errors import ExpressionError
from cutegen.playground import evaluate, text
from cutegen.playground.modes import FUNCTIONS
from cutegen.playground.tiled import METHODS
from tests.support.cli import document, invoke

ROOT = Path(__file__).parents[2]


def error(expression: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression)
    return caught.value


def test_the_example_prints_what_its_c_plus_plus_prints() -> None:
    found = invoke("layout", "-", stdin=(ROOT / "examples/layout/warp_tiles.cute").read_text())
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines == [
        "tile:    (_128,_128):(_1,_128)",
        "divided: ((_64,_32),(_2,_4)):((_1,_128),(_64,_4096))",
        "warp 5:  (_64,_32):(_1,_128)",
        "lane 3:  (_8,_8):(_8,_512)",
        "begins:  counting_iter(8259) o (_8,_8):(_8,_512)",
    ]
    assert "\n".join(lines) in (ROOT / "docs/layout.md").read_text()


def shown(page: str) -> list[tuple[str, list[str]]]:
    """Command lines of a page with the lines that it shows below each."""
    found: list[tuple[str, list[str]]] = []
    text_of_page = (ROOT / "docs" / page).read_text()
    for block in re.findall(r"^```console\n(.*?)^```", text_of_page, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line, []))
            elif found:
                found[-1][1].append(line)
    return [(line, lines) for line, lines in found if line.startswith("$ cutegen layout '")]


@pytest.mark.parametrize(("line", "wanted"), [*shown("layout.md"), *shown("cli.md")])
def test_the_pages_show_what_is_printed(line: str, wanted: list[str]) -> None:
    found = invoke(*shlex.split(line)[2:])
    assert [x.rstrip() for x in (found.stdout + found.stderr).splitlines()] == wanted


def test_a_layout_is_drawn_as_cute_draws_it() -> None:
    found = invoke("layout", "Swizzle<1,0,1> o (_2,_4):(_4,_1)")
    assert found.stdout.splitlines() == [
        "Sw<1,0,1> o _0 o (_2,_4):(_4,_1)",
        "      0   1   2   3 ",
        "    +---+---+---+---+",
        " 0  | 0 | 1 | 3 | 2 |",
        "    +---+---+---+---+",
        " 1  | 4 | 5 | 7 | 6 |",
        "    +---+---+---+---+",
    ]
    assert invoke("layout", "print_layout(Swizzle<1,0,1> o (_2,_4):(_4,_1))").stdout == found.stdout


def test_tables_are_drawn_when_they_are_small_or_asked_for() -> None:
    assert invoke("layout", "(_17,_2):(_2,_1)").stdout == "(_17,_2):(_2,_1)\n"
    assert len(invoke("layout", "(_17,_2):(_2,_1)", "--table").stdout.splitlines()) == 37
    assert invoke("layout", "(_2,_2):(_2,_1)", "--no-table").stdout == "(_2,_2):(_2,_1)\n"
    assert len(invoke("layout", "_4:_2").stdout.splitlines()) == 5
    for expression, need in (("3", "needs a layout"), ("(_1024,_1024):(_1,_1024)", "at most 65536 cells")):
        found = invoke("layout", expression, "--table")
        assert found.exit_code == 2
        assert need in found.stderr


def test_the_table_of_a_tensor_has_its_offset_in_it() -> None:
    assert invoke("layout", "make_tensor((_4,_2):(_2,_1))(1, _)").stdout.splitlines() == [
        "counting_iter(2) o (_2):(_1)",
        "      0   1 ",
        "    +---+---+",
        " 0  | 2 | 3 |",
        "    +---+---+",
    ]


def test_offsets_that_do_not_fit_into_32_bits_are_not_drawn() -> None:
    assert invoke("layout", "_4:1000000000").stdout == "_4:1000000000\n"
    found = document("layout", "_4:1000000000", "--json")
    assert (found["cosize"], found["table"]) == (3000000001, None)


def test_prints() -> None:
    for program, printed in (
        ('print("a "); print(_8:_1); print("\\n"); print(3)', "a _8:_1\n3\n"),
        ("print(1); print((2,3)); 4", "1\n(2,3)\n4\n"),
        ('print("a\\tb")', "a\tb\n"),
    ):
        assert invoke("layout", program).stdout == printed


def test_documents() -> None:
    found = document("layout", "auto L = Swizzle<1,0,1> o (2,_4):(_4,_1); print(1); L", "--json")
    assert found["text"] == "Sw<1,0,1> o _0 o (2,_4):(_4,_1)"
    assert (found["kind"], found["shape"], found["stride"]) == ("composed", [2, 4], [4, 1])
    assert (found["swizzle"], found["offset"], found["size"], found["cosize"]) == ([1, 0, 1], 0, 8, 8)
    assert found["table"] == [[0, 1, 3, 2], [4, 5, 7, 6]]
    assert found["printed"] == "1"
    found = document("layout", "make_tensor((_2,(_2,_2),_2):(_4,(_1,_2),_8))(_,_,1)", "--json")
    assert (found["kind"], found["offset"], found["table"]) == (
        "tensor",
        8,
        [[8, 9, 10, 11], [12, 13, 14, 15]],
    )
    found = document("layout", "(_2,_2,_2):(_1,_2,_4)", "--json")
    assert found["table"] == list(range(8))
    for expression, kind in (
        ("3", "integer"),
        ("(1,_2)", "tuple"),
        ("Swizzle<2,0,3>", "swizzle"),
        ("SM80_16x8x16_F32BF16BF16F32_TN{}", "mma_atom"),
        ("make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{})", "tiled_mma"),
        ("LayoutLeft{}", "other"),
    ):
        found = document("layout", expression, "--json")
        assert (found["ok"], found["kind"], found["table"]) == (True, kind, None)
    found = document("layout", "(6,2):(8,2) o (5,3):(3,1)", "--json")
    assert found["ok"]
    assert "5 % 2 is 1" in found["notices"][0]
    found = document("layout", "(4,2):(2", "--json")
    assert not found["ok"]
    assert (found["exit_code"], found["error"], found["line"], found["column"]) == (
        2,
        "ExpressionError",
        1,
        9,
    )


def test_static() -> None:
    assert invoke("layout", "(8,2):(2,1)", "--static", "--no-table").stdout == "(_8,_2):(_2,_1)\n"
    dynamic = error("complement((8,2):(4,1), 64)")
    assert "--static" in dynamic.fix
    assert text(evaluate("complement((8,2):(4,1), 64)", static=True).value) == "(_2,_2):(_2,_32)"


def test_errors_show_their_place() -> None:
    found = invoke("layout", "auto L = (8,4):(4,1);\n  coalesc(L)")
    assert found.exit_code == 2
    assert found.stderr.splitlines() == [
        "error: line 2: coalesc is not known here",
        "    coalesc(L)",
        "    ^~~~~~~",
        "  fix: did you mean coalesce?",
    ]
    again = pickle.loads(pickle.dumps(error("(1,2")))
    assert (again.line, again.column, str(again)) == (1, 5, str(error("(1,2")))


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        ("", 1, "an expression is needed (got nothing)"),
        ("(8,4", 5, "')' must follow here (got the end)"),
        ("8 8", 3, "';' or the end must follow an expression (got '8')"),
        ("_8 ? 1", 4, "'?' has no meaning here"),
        ('print("a)', 7, "a text must end with a quote"),
        ("_8 : * 2", 6, "an expression must stand here (got '*')"),
        ("(_8,_4):_4", 1, "shape and stride must be nested alike (got (_8,_4) and _4)"),
        ("3; size(_8:_1, 2)", 4, "size: there must be 1 argument (got 2)"),
        ("get(_8:_1)", 1, "get: there must be at least 1 template arguments (got 0)"),
        ("coalesce", 1, "coalesce is a function and needs arguments in parentheses"),
        ("Shape", 1, "Shape needs template arguments, as Shape<...>"),
        ("Shape<_8>(2)", 1, "a type is made a value with braces: Shape<...>{}"),
        ("Shape<8,_4>{}", 1, "Shape: the elements must be types, as _8 or Int<8> (got 8)"),
        ("Swizzle<3,0,1>{}", 1, "Swizzle: B >= 0, M >= 0 and abs(S) >= B must hold (got 3,0,1)"),
        ("_8{3}", 1, "braces must be empty here"),
        ("(_8:_1).shap()", 1, "shap is not known here"),
        ("(_8:_1).shape", 1, "shape needs parentheses: shape()"),
        ("3(4)", 1, "only functions, layouts and tensors can be called (got 3)"),
        ("2 + (_8:_1)", 5, "the operands of + must be integers (got _8:_1)"),
        ("3 / 0", 1, "the divisor must not be 0 (got 0)"),
        ("70000 * 70000", 1, "every number must fit into 32 bits, as CuTe's int (got 4900000000)"),
        ("coalesce(8)  o (_8:_1)", 1, "a layout is needed here (got 8)"),
        ("zipped_divide((8,4), _2)", 1, "zipped_divide: a layout is needed here (got (8,4))"),
        ("get<2>((_8,_4):(_4,_1))", 1, "get: the mode must be 0 to 1 (got 2)"),
        ("((_8,_4):(_4,_1))(1,2,3)", 1, "the coordinate must have rank 2 (got 3)"),
        ("logical_divide(_8:_1, make_tile(_2,_2))", 1, None),
        ("tile_to_shape(_8:_1, Shape<_12>{})", 1, None),
        ("complement((_4,_4):(_1,_2), _64)", 1, None),
        ("left_inverse((_4,_2):(_2,_3))", 1, None),
        ("make_tiled_copy(UniversalCopy<uint128_t>, _8:_1)", 1, None),
        ("(" * 100 + "1" + ")" * 100, 61, None),
    ],
)
def test_errors(expression: str, column: int, message: str | None) -> None:
    found = error(expression)
    assert found.column == column
    assert message is None or found.message == message
    assert found.exit_code == 2


def test_whatever_is_put_together_is_a_value_or_an_error_with_a_place() -> None:
    rng = random.Random(0)
    leaves = [
        "_8",
        "4",
        "_",
        "()",
        "(_2,(3,_4))",
        "(8,4):(4,1)",
        "(_8,_4):(_4,_1)",
        "LayoutRight{}",
        "half_t",
        '"x"',
    ]
    leaves += ["Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", "make_tensor((_64,_64):(_64,_1))", "Swizzle<2,0,3>"]
    leaves += [
        "make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{})",
        "(_2,_2):(_-2,_1)",
        "UniversalCopy<uint128_t>",
    ]

    def make(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(leaves)
        table = rng.choice((FUNCTIONS, FUNCTIONS, METHODS))
        name = rng.choice(list(table))
        count = rng.randint(table[name].arguments[0], min(table[name].arguments[1], 3))
        templates = [rng.choice(("0", "1", "-1", "_2", "1025")) for _ in range(table[name].templates[0])]
        call = f"{name}<{','.join(templates)}>" if templates else name
        arguments = [make(depth - 1) for _ in range(count)]
        if table is METHODS:
            return f"({arguments[0]}).{call}({', '.join(arguments[1:])})"
        return f"{call}({', '.join(arguments)})"

    values, places = 0, []
    for _ in range(1500):
        expression = make(2)
        try:
            text(evaluate(expression).value)
            values += 1
        except ExpressionError as found:
            places.append((found.column, len(expression)))
    assert values > 200
    assert all(1 <= column <= length + 1 for column, length in places)
