"""The atoms' layouts, against the text of CuTe's traits and against the PTX ISA's own formulas."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cutlass_library
import pytest

from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, MmaAtom
from cutegen.dtypes import dtype
from cutegen.layout import Layout
from cutegen.layout.algebra import IntTuple

INCLUDE = Path(cutlass_library.__file__).parent / "source" / "include"
TENSOR_CORE = [a for a in MMA_ATOMS.values() if not a.is_simt]


def header(atom: MmaAtom) -> str:
    return (INCLUDE / atom.header).read_text()


def parse_tuple(text: str) -> IntTuple:
    """``Shape<Shape<_4,_8>,_2>`` as ((4, 8), 2)."""
    text = re.sub(r"\s|_", "", text)
    value: IntTuple = ast.literal_eval(re.sub(r"(?:Shape|Stride)<", "(", text).replace(">", ",)"))
    return value


def aliases(text: str) -> dict[str, str]:
    return dict(re.findall(r"using (SM80_\w+)\s*=\s*(Layout<[^;]*);", text))


def member(text: str, atom: str, name: str) -> str:
    """A member type of ``MMA_Traits<atom>``, or of the traits that it inherits from."""
    found = re.search(
        rf"struct MMA_Traits<{atom}>\s*(?::\s*MMA_Traits<(\w+)>)?\s*\{{(.*?)\}};", text, re.DOTALL
    )
    assert found, f"no traits of {atom}"
    parent, body = found.groups()
    own = re.search(rf"using {name}\s*=\s*(.*?);", body, re.DOTALL)
    return own.group(1) if own else member(text, parent, name)


def traits_layout(text: str, atom: str, name: str) -> Layout:
    spelled = member(text, atom, name)
    spelled = aliases(text).get(spelled, spelled)
    parts = re.fullmatch(r"Layout<\s*(Shape\s*<.*?>)\s*,\s*(Stride\s*<.*>)\s*>", spelled, re.DOTALL)
    assert parts, spelled
    shape, stride = parts.groups()
    return Layout(parse_tuple(shape), parse_tuple(stride))


@pytest.mark.parametrize("atom", TENSOR_CORE, ids=lambda a: a.name)
def test_layouts_are_those_of_the_traits(atom: MmaAtom) -> None:
    text = header(atom)
    assert parse_tuple(member(text, atom.name, "Shape_MNK")) == atom.shape
    for name, layout in (("ALayout", atom.a_tv), ("BLayout", atom.b_tv), ("CLayout", atom.c_tv)):
        assert traits_layout(text, atom.name, name).table() == layout.table(), name


@pytest.mark.parametrize("atom", TENSOR_CORE, ids=lambda a: a.name)
def test_types_are_those_of_the_traits(atom: MmaAtom) -> None:
    text = header(atom)
    for name, type_ in (
        ("ValTypeA", atom.a),
        ("ValTypeB", atom.b),
        ("ValTypeC", atom.acc),
        ("ValTypeD", atom.acc),
    ):
        assert member(text, atom.name, name).removeprefix("cutlass::") == dtype(type_).cxx


@pytest.mark.parametrize("atom", TENSOR_CORE, ids=lambda a: a.name)
def test_layouts_follow_the_ptx_isa(atom: MmaAtom) -> None:
    """PTX ISA, mma: a register holds 32 bits along K; registers go down 8 rows, then right along K."""
    m, n, k = atom.shape
    piece = max(1, 32 // dtype(atom.a).bits)  # elements of one register
    for rows, values, tv, name in ((m, atom.a_values, atom.a_tv, "A"), (n, atom.b_values, atom.b_tv, "B")):
        table, down = tv.table(), rows // 8
        for lane in range(32):
            for v in range(values):
                register, element = divmod(v, piece)
                row = lane // 4 + 8 * (register % down)
                column = lane % 4 * piece + element + 4 * piece * (register // down)
                assert table[lane + 32 * v] == row + rows * column, f"{name} of lane {lane}, value {v}"
    table = atom.c_tv.table()
    for lane in range(32):
        for v in range(atom.c_values):
            row, column = lane // 4 + 8 * (v // 2), lane % 4 * 2 + v % 2
            assert table[lane + 32 * v] == row + m * column, f"C of lane {lane}, value {v}"
    assert k * m == len(atom.a_tv.table())


@pytest.mark.parametrize("atom", MMA_ATOMS.values(), ids=lambda a: a.name)
def test_each_element_has_one_owner(atom: MmaAtom) -> None:
    m, n, k = atom.shape
    for tv, size in ((atom.a_tv, m * k), (atom.b_tv, n * k), (atom.c_tv, m * n)):
        assert sorted(tv.table()) == list(range(size))
    assert atom.a_values * atom.threads == m * k
    assert atom.b_values * atom.threads == n * k
    assert atom.c_values * atom.threads == m * n


def test_the_operations_exist_in_the_arch_headers() -> None:
    text = "".join(p.read_text() for p in (INCLUDE / "cute" / "arch").glob("*.hpp"))
    traits = (INCLUDE / "cute" / "atom" / "mma_traits_sm90.hpp").read_text()
    for name in (*(a.name for a in TENSOR_CORE), *COPY_S2R, *COPY_G2S):
        alias = re.search(rf"using {name}\s*= SM90::(\w+);", traits)
        if name != "UniversalCopy":
            assert re.search(rf"struct {alias[1] if alias else name}\b", text), name
    assert "struct UniversalCopy" in text
    assert "struct UniversalFMA" in text


def test_cp_async_widths_are_those_that_the_header_asserts() -> None:
    text = (INCLUDE / "cute" / "arch" / "copy_sm80.hpp").read_text()
    for name, atom in COPY_G2S.items():
        if not atom.asynchronous:
            continue
        body = text[text.index(f"struct {name}\n") :]
        sizes = re.findall(r"sizeof\(TS\) == (\d+)", body[: body.index("is not supported")])
        assert sorted(int(s) * 8 for s in sizes) == sorted(atom.bits), name


@pytest.mark.parametrize(
    ("name", "bits", "values"),
    [
        ("SM75_U32x4_LDSM_N", 16, 8),
        ("SM75_U32x1_LDSM_N", 16, 2),
        ("SM75_U32x4_LDSM_N", 8, 16),
        ("SM75_U32x2_LDSM_N", 32, 2),
        ("SM75_U16x8_LDSM_T", 16, 8),
        ("SM75_U16x2_LDSM_T", 16, 2),
    ],
)
def test_values_of_ldmatrix(name: str, bits: int, values: int) -> None:
    assert COPY_S2R[name].values(bits) == values
