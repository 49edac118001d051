"""The shape of the package, kept by reading its source: layers, and who may do what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cutegen"

#: Low to high. A module imports from its own layer, without cycles, and from lower ones.
LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(layer.split())
    for layer in (
        "errors version",
        "settings install dtypes arch cards yamlwrite yamlread",
        "layout atoms wgmma_atoms numerics",
        "problem config schema schema_errors schema_hints loader playground",
        "resolve rules resources operands plan naming lint resources_wgmma plan_wgmma vectors few_rows "
        "resources_collective plan_collective occupancy workload advise",
        "render wgmma_context collective_context idiomatic seal reference exact_inputs launch_spec "
        "tuned choose pictures partitions",
        "toolchain cache launcher build emulator budget",
        "kernel building emulated given host_arrays device binding prepared signature operand_check narrow "
        "guards vector_check ordinal",
        "bench tune matrix report trial fuzz matmul",
        "cli __init__ __main__",
    )
)
LAYER_OF = {name: level for level, names in enumerate(LAYERS) for name in names}

FILES = sorted(PACKAGE.rglob("*.py"))


def unit(path: Path) -> str:
    """The module or subpackage of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The units that a file imports, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: import by the full name"
            names = [node.module or ""]
            if node.module == "cutegen":
                names = [f"cutegen.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "cutegen":
                found = parts[1] if len(parts) > 1 else "__init__"
                known = (PACKAGE / found).is_dir() or (PACKAGE / f"{found}.py").is_file()
                yield (found if known else "__init__"), node.lineno


def edges() -> dict[str, dict[str, str]]:
    graph: dict[str, dict[str, str]] = {}
    for path in FILES:
        for target, line in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if target != unit(path):
                graph.setdefault(unit(path), {})[target] = f"{path.relative_to(ROOT)}:{line}"
    return graph


def test_every_module_has_a_layer() -> None:
    assert len(LAYER_OF) == sum(map(len, LAYERS))
    missing = {unit(path) for path in FILES} - set(LAYER_OF)
    assert not missing, f"give {sorted(missing)} a layer in LAYERS"


def test_modules_import_from_below() -> None:
    wrong = [
        f"{where}: {source} (layer {LAYER_OF[source]}) imports {target} (layer {LAYER_OF[target]})"
        for source, targets in edges().items()
        for target, where in targets.items()
        if LAYER_OF.get(target, 99) > LAYER_OF.get(source, -1)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_cycles_within_a_layer() -> None:
    graph = edges()
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name not in done:
            for target in graph.get(name, {}):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_the_checks_see_what_they_should() -> None:
    source = (
        "from cutegen import settings\nimport cutegen.cli.main\ndef f():\n    from cutegen.plan import plan\n"
    )
    assert [name for name, _ in imported(ast.parse(source))] == ["settings", "cli", "plan"]
    assert set(forbidden(ast.parse("import os\nos.environ['A']\nassert 1\nprint(2)\n"))) == {
        ("environ", 2),
        ("assert", 3),
        ("print", 4),
    }
    assert set(forbidden(ast.parse("from os import getenv\nx(shell=True)\nraise NotImplementedError\n"))) == {
        ("environ", 1),
        ("shell", 2),
        ("stub", 3),
    }


def forbidden(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """What only some modules may do, or none, with the line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Assert):
            yield "assert", line
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            if node.attr in ("environ", "environb", "getenv", "putenv"):
                yield "environ", line
            elif node.attr in ("system", "popen"):
                yield "shell", line
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            if {alias.name for alias in node.names} & {"environ", "environb", "getenv", "putenv"}:
                yield "environ", line
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "print":
                yield "print", line
            if any(k.arg == "shell" for k in node.keywords):
                yield "shell", line
        elif isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield "stub", line


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(PACKAGE)) for p in FILES])
def test_modules_do_only_what_they_may(path: Path) -> None:
    allowed = {"settings": {"environ"}, "cli": {"print"}}.get(unit(path), set())
    found = list(forbidden(ast.parse(path.read_text(encoding="utf-8"))))
    assert not [(what, line) for what, line in found if what not in allowed]


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(PACKAGE)) for p in FILES])
def test_files_are_of_readable_length(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_every_module_has_a_docstring() -> None:
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_test_files_have_names_of_their_own() -> None:
    """Pytest imports them by their base name, so a second one of a name is an error of the whole run."""
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
