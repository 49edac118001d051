"""``cutegen layout`` prints what CuTe prints, and refuses what CuTe's static assertions refuse.

``CUTEGEN_LAYOUT_EXPRESSIONS=2000 CUTEGEN_LAYOUT_SEED=7 pytest tests/emulated/test_layout_parity.py`` tries
others.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from cutegen.atoms import MMA_ATOMS
from cutegen.errors import ExpressionError
from cutegen.playground import evaluate, text
from cutegen.toolchain import find_toolchain
from tests.support.layout_expressions import Expressions

COUNT = int(os.environ.get("CUTEGEN_LAYOUT_EXPRESSIONS", "130"))
SEED = int(os.environ.get("CUTEGEN_LAYOUT_SEED", "0"))
REFUSED = int(os.environ.get("CUTEGEN_LAYOUT_REFUSED", "24"))
CHOSEN = Path(__file__).parents[1] / "data/layout_expressions.txt"

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"


@dataclass(frozen=True)
class Expectation:
    """Expressions with what ``cutegen layout`` makes of each: a text, or the reason for refusing it."""

    accepted: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]
    operations: frozenset[str]


def _kind(reason: str) -> str:
    """A reason without its plain numbers: CuTe compiles a function once for all of them."""
    return re.sub(r"(?<![\w-])\d+", "N", reason.partition(": ")[2])


@cache
def expectation() -> Expectation:
    source = Expressions(SEED)
    accepted: list[tuple[str, str]] = []
    refused: dict[str, tuple[str, str]] = {}
    operations = set()
    while len(accepted) < COUNT:
        operation, expression = source.one()
        try:
            accepted.append((expression, text(evaluate(expression).value)))
            operations.add(operation)
        except ExpressionError as error:
            # The compiler lets a division by 0 pass; the program would die.
            if "must not be 0" not in error.message:
                refused.setdefault(_kind(error.message), (expression, error.message))
    return Expectation(tuple(accepted), tuple(refused.values())[:REFUSED], frozenset(operations))


def compile_program(source: str, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("g++")
    assert compiler is not None
    toolchain = find_toolchain()
    includes = [toolchain.cutlass.include, *toolchain.nvcc.includes]
    includes += [path / "cccl" for path in toolchain.nvcc.includes if (path / "cccl").is_dir()]
    path = directory / "layouts.cpp"
    path.write_text(source)
    command = [compiler, "-std=c++17", "-w", *options, *(f"-I{i}" for i in includes), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def printed_by_cute(shared: str, expressions: list[str], directory: Path) -> list[str]:
    """What ``cute::print`` prints of each; one program, one function for each expression."""
    functions = "".join(
        f'void f{i}() {{ print({e}); printf("%c", 0); }}\n' for i, e in enumerate(expressions)
    )
    calls = "".join(f"  f{i}();\n" for i in range(len(expressions)))
    program = directory / "layouts"
    # -O1 compiles quicker than -O0: less code is written out.
    source = f"{HEAD}{shared}{functions}int main() {{\n{calls}}}\n"
    done = compile_program(source, directory, "-O1", "-o", str(program))
    errors = [line for line in done.stderr.splitlines() if "error:" in line or "layouts.cpp:" in line]
    assert done.returncode == 0, "\n".join(errors[:20])
    ran = subprocess.run([program], capture_output=True, text=True, check=True)
    return ran.stdout.split("\0")[:-1]


def chosen() -> tuple[str, list[str]]:
    """Definitions, and expressions that use them."""
    lines = CHOSEN.read_text().splitlines()
    shared = [line for line in lines if line.startswith("auto ")]
    expressions = [line for line in lines if line and not line.startswith(("auto ", "//"))]
    return "\n".join(shared) + "\n", expressions + [f"MMA_Atom<{name}>{{}}" for name in MMA_ATOMS]


def differences(found: list[str], wanted: list[tuple[str, str]]) -> list[str]:
    assert len(found) == len(wanted)
    return [
        f"{expression}\n  CuTe:    {cute}\n  cutegen: {own}"
        for cute, (expression, own) in zip(found, wanted, strict=True)
        if cute != own
    ]


def test_the_expressions_use_every_operation() -> None:
    found = expectation()
    assert len(found.accepted) == COUNT
    if COUNT >= 130:
        assert found.operations == {
            name.removeprefix("op_") for name in dir(Expressions) if name[:3] == "op_"
        }


def test_it_prints_what_cute_prints(tmp_path: Path) -> None:
    shared, expressions = chosen()
    wanted = [*expectation().accepted, *((e, text(evaluate(shared + e).value)) for e in expressions)]
    tables = [
        "Layout<Shape<_4,_8>,Stride<_8,_1>>{}",
        "composition(Swizzle<2,0,3>{}, Layout<Shape<_8,_8>,Stride<_8,_1>>{})",
        "make_layout(make_shape(make_shape(2, 3), 12), make_stride(make_stride(100, 1), 3))",
    ]
    # print_layout prints by itself, so its value is printed in place of another expression's.
    calls = [f'(print_layout({t}), "")' for t in tables]
    wanted += [(c, evaluate(f"print_layout({t})").printed) for c, t in zip(calls, tables, strict=True)]
    found = printed_by_cute(shared, [expression for expression, _ in wanted], tmp_path)
    wrong = differences(found, wanted)
    assert not wrong, f"{len(wrong)} of {len(wanted)} differ\n" + "\n".join(wrong[:10])

    # The comparison can fail: one character more is seen.
    spoiled = [(expression, own + "0") for expression, own in wanted]
    assert len(differences(found, spoiled)) == len(wanted)


def test_it_refuses_what_cute_refuses(tmp_path: Path) -> None:
    refused = expectation().refused
    if not refused:
        pytest.skip("no expression was refused")
    lines = [f"void f{i}() {{ print({expression}); }}\n" for i, (expression, _) in enumerate(refused)]
    lines.append("void fine() { print(Layout<Shape<_4,_8>>{}); }\n")
    done = compile_program(HEAD + "".join(lines), tmp_path, "-fsyntax-only", "-fmax-errors=0")
    named = {int(line) for line in re.findall(r"layouts\.cpp:(\d+):", done.stderr)}
    first = HEAD.count("\n") + 1
    accepted = [
        f"{e}\n  cutegen: {reason}" for i, (e, reason) in enumerate(refused) if first + i not in named
    ]
    assert not accepted, f"CuTe compiles {len(accepted)} of {len(refused)}\n" + "\n".join(accepted)
    assert first + len(refused) not in named
