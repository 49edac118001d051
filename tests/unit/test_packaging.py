"""What is shipped: the wheel works without the checkout, and the metadata says what is true."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def build(target: str, directory: Path) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed; install cutegen[dev]")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = directory.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def test_wheel_has_templates_types_and_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    templates = {p.relative_to(ROOT).as_posix() for p in (ROOT / "templates").rglob("*") if p.is_file()}
    assert templates
    assert {f"cutegen/{name}" for name in templates} <= names
    files = (p for p in (ROOT / "cutegen").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert {p.relative_to(ROOT).as_posix() for p in files} <= names
    assert "cutegen/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "templates", "docs"))]


def test_wheel_renders_without_the_checkout(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    home = tmp_path / "new env"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    # The dependencies come from here; a path in a .pth file does not bring the .pth files in it along.
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    config = tmp_path / "c.yaml"
    config.write_text("arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n")
    script = home / "bin" / "cutegen"
    done = subprocess.run([str(script), "render", str(config)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "__global__" in done.stdout
    where = [str(python), "-c", "from cutegen.render import template_root; print(template_root())"]
    found = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found) == site / "cutegen" / "templates"
    where[2] = "from cutegen.install import install_command; print(install_command('cuda13'))"
    found = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found.startswith("pip install nvidia-cuda-")
    assert " nvidia-cuda-nvcc==13" in found
    assert len(found.split()) == 7


def test_checkout_uses_its_own_templates() -> None:
    from cutegen.render import template_root

    assert template_root() == ROOT / "templates"


def test_sdist_can_build_the_wheel(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "sdist")) as archive:
        names = {"/".join(Path(name).parts[1:]) for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "cutegen/py.typed"} <= names
    assert any(name.startswith("templates/parts/") for name in names)


def test_one_version() -> None:
    from importlib.metadata import version

    from cutegen.version import __version__

    assert version("cutegen") == __version__
    assert f"## {__version__}" in read("CHANGELOG.md")


def test_constraints_satisfy_the_requirements() -> None:
    from packaging.requirements import Requirement

    pins = dict(re.findall(r"^([A-Za-z0-9_-]+)==(\S+)$", read("constraints.txt"), flags=re.MULTILINE))
    text = read("pyproject.toml")
    wanted = [
        Requirement(r)
        for r in re.findall(r'"([a-zA-Z0-9_-]+(?:[<>=][^"]*)?)"', text)
        if re.search("[<>=]", r)
    ]
    assert len(wanted) > 10
    for requirement in wanted:
        if requirement.name in pins:
            assert requirement.specifier.contains(pins[requirement.name]), requirement
    assert {"torch", "ruff", "mypy", "pytest"} <= set(pins)


def test_readme_and_ci_run_the_same_tests() -> None:
    assert "python -m pytest -n 2" in read("README.md")
    assert "python -m pytest -n 2" in read(".ci/run")


def test_ci_runs_the_first_command_of_the_readme() -> None:
    first = re.findall(r"```console\n(.*?)```", read("README.md"), flags=re.DOTALL)[0]
    command = re.search(r"cutegen run .*", first)
    assert command is not None
    assert command[0] in read(".ci/run")
    extra = re.search(r"-e ('\.\[\w+\]')", first)
    assert extra is not None
    assert f"pip_install {extra[1]}\n" in read(".ci/run")


def test_readme_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # code has brackets of its own
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_readme_config_is_short_and_legal() -> None:
    from cutegen import check, loads

    (block,) = re.findall(r"```yaml\n(.*?)```", read("README.md"), flags=re.DOTALL)
    assert len(block.splitlines()) <= 11
    assert check(loads(block)) == []


def test_yaml_in_the_docs_loads() -> None:
    from cutegen.matrix import expand
    from cutegen.yamlread import parse

    first, workflow = re.findall(r"```yaml\n(.*?)```", read("docs/ci.md"), flags=re.DOTALL)
    assert len(expand(parse(first, "ci.md")).cases) == 7
    assert set(parse(workflow, "ci.md").data["jobs"]) == {"plan", "build"}
