"""``docs/python.md``: its blocks run in order; those that need a GPU use names that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import cutegen
from tests.support.pages import blocks, gpu_blocks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


#: What the names of the page's blocks are.
OWNERS: dict[str, Any] = {
    "cutegen": cutegen,
    "kernel": cutegen.Kernel,
    "launch": cutegen.PreparedLaunch,
}


def readme_config() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return str(re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)[0])


def test_the_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed; install cutegen[test]")
    (tmp_path / "my_gemm.yaml").write_text(readme_config())
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    for line, code in blocks(PAGE):
        exec(compile("\n" * line + code, "docs/python.md", "exec"), namespace)  # the page's own code
    printed = capsys.readouterr().out
    for said in re.findall(r"print\(\w+\)  # (.*)", PAGE):  # a comment says what is printed, ... leaves out
        pattern = ".*".join(re.escape(part) for part in said.split("..."))
        assert re.search(f"^{pattern}", printed, flags=re.MULTILINE), said


def test_blocks_for_a_gpu_use_what_is_there() -> None:
    found = gpu_blocks(PAGE)
    assert len(found) == 3
    for _, code in found:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = OWNERS.get(node.value.id)
                assert owner is None or hasattr(owner, node.attr), node.attr


def test_every_error_and_function_is_on_the_page() -> None:
    for name in cutegen.__all__:
        if name not in ("__version__", "CutegenError", "Violation"):
            assert f"`{name}" in PAGE or f"cutegen.{name}" in PAGE, name
