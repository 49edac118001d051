"""``cutegen run`` and ``cutegen matrix`` on the CPU."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cutegen.emulator.host import find_cuda_headers, find_cxx
from cutegen.errors import LaunchError
from cutegen.install import install_command
from cutegen.render import RenderedKernel
from tests.support.cli import document, invoke

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "ampere_bf16.yaml")
SMALL = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\ntile: [64, 64, 32]\nstages: 3\n"


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return str(path)


@pytest.fixture
def racing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are rendered without their barriers."""
    from cutegen import render as module

    def broken(*args: object, **options: object) -> RenderedKernel:
        import dataclasses

        rendered = original(*args, **options)
        text = rendered.text.replace("__syncthreads();", "__syncwarp();")
        assert text != rendered.text
        return dataclasses.replace(rendered, text=text)

    original = module
    monkeypatch.setattr("cutegen.building.render", broken)
    monkeypatch.setattr("cutegen.matrix.prove.render", broken)


def test_run_is_on_the_cpu_where_there_is_no_gpu() -> None:
    found = invoke("run", EXAMPLE)
    assert found.exit_code == 0, found.output
    assert "CPU, emulating sm_80" in found.stdout
    rows = re.findall(
        r"ok +M (\d+), N (\d+), K (\d+) +all (\d+) elements right, bit for bit  no findings", found.stdout
    )
    assert [int(m) * int(n) for m, n, _, _ in rows] == [int(total) for *_, total in rows]
    assert rows[0][:3] == ("256", "256", "160")
    assert any(int(m) % 2 and int(k) % 32 for m, _, k, _ in rows)
    for kind in ("G2S A", "G2S B", "S2R A", "S2R B", "R2S", "S2G", "R2G"):
        assert re.search(rf"^ +{kind} +\d+ +\d+ +1\.00x", found.stdout, flags=re.MULTILINE), found.stdout
    assert "wavefronts  ideal" in found.stdout
    assert "sectors  ideal" in found.stdout


def test_run_json(small: str) -> None:
    options = ("--m", "70", "--beta", "0.5", "--alpha", "2", "--schedules", "2", "--processes", "1")
    found = document("run", small, "--device", "cpu", *options, "--json")
    assert found["ok"]
    assert found["device"] == "cpu"
    assert [run["problem"]["seed"] for run in found["runs"]] == [0, 1]
    for run in found["runs"]:
        assert run["problem"] | {"seed": 0} == {
            "m": 70, "n": 128, "k": 160, "alpha": 2.0, "beta": 0.5, "seed": 0
        }  # fmt: skip
        assert run["elements"] == 70 * 128
        assert run["exact"]
        assert run["clean"]
        assert run["findings"] == []
        s2r = run["traffic"]["shared"]["S2R A"]
        assert s2r["degree"] == s2r["wavefronts"] / s2r["ideal"]
        assert run["traffic"]["global"]["G2S A"]["sectors"] > 0


def test_the_documents_are_as_described(small: str) -> None:
    from tests.unit.test_cli_documents import OUTER, check, listed

    found = document("run", small, "--m", "64", "--json")
    check(found, "`run` on the CPU", OUTER)
    (case,) = document("matrix", small, "--device", "cpu", "--json")["cases"]
    assert set(case["trials"][0]) == listed("`run` on the CPU")["runs"]


def test_run_without_the_sanitizer(small: str) -> None:
    found = invoke("run", small, "--no-sanitize", "--alpha", "0.3", "--m", "64")
    assert found.exit_code == 0
    assert "within the tolerance" in found.stdout
    assert "not checked" in found.stdout
    assert "wavefronts" not in found.stdout


@pytest.mark.usefixtures("racing")
def test_run_with_findings_fails_and_names_them(small: str) -> None:
    found = invoke("run", small)
    assert found.exit_code == 1
    assert "FAIL" in found.stdout
    assert re.search(r"gemm_\w+\.cu:\d+: .*\[(race|uninitialised|async)-[\w-]+\]", found.stdout)
    assert re.search(r"first by thread \d+ of CTA \(\d+,0,0\)", found.stdout)
    assert "fix: " in found.stdout
    assert f"cutegen run {small} --device cpu --m " in found.stdout
    parsed = document("run", small, "--json")
    assert parsed["error"] == "SanitizerError"
    finding = parsed["runs"][0]["findings"][0]
    assert finding["place"]["line"] > 0
    assert finding["hint"]
    assert Path(parsed["source"]).name == finding["place"]["file"]


def test_run_with_a_wrong_result_names_the_first(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.kernel import Kernel

    original = Kernel.emulate

    def spoiled(self: Kernel, a: object, b: object, c: object, out: object, *rest: object, **options: object):
        report = original(self, a, b, c, out, *rest, **options)
        out[-1, -1] ^= 0x40  # type: ignore[index]
        return report

    monkeypatch.setattr(Kernel, "emulate", spoiled)
    found = invoke("run", small, "--m", "200", "--n", "200", "--k", "16")
    assert found.exit_code == 1
    assert "1 of 40000 elements wrong" in found.stdout
    assert "D(199, 199) must be" in found.stdout
    assert "CTA tile (3, 3), warp" in found.stdout
    assert document("run", small, "--k", "16", "--json")["error"] == "CheckFailedError"


def test_run_refuses_what_does_not_fit(small: str) -> None:
    found = invoke("run", small, "--k", "100")
    assert found.exit_code == 2
    assert "--k: must be a multiple of 8" in found.stderr
    assert "take 104" in found.stderr
    found = invoke("run", small, "--device", "cpu", "--target", "native")
    assert found.exit_code == 2
    assert "--target goes with --device cuda" in found.stderr
    assert invoke("run", small, "--device", "cuda", "--schedules", "2").exit_code == 2
    found = invoke("run", small, "--m", "10000000", "--n", "10000000")
    assert found.exit_code == LaunchError.exit_code
    assert "GiB of memory" in found.stderr


def test_run_without_elements(small: str) -> None:
    for options in (["--m", "0"], ["--k", "0"], ["--k", "0", "--beta", "1"], ["--n", "0", "--k", "0"]):
        found = invoke("run", small, *options)
        assert found.exit_code == 0, found.stdout


def test_run_says_how_to_get_headers_and_compiler(
    small: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTEGEN_CUDA_INCLUDE", str(tmp_path))
    found = invoke("run", small)
    assert found.exit_code == 3
    assert install_command("emulator") in found.stderr
    monkeypatch.setenv("CUTEGEN_CXX", "no-such-compiler")
    found = invoke("run", small)
    assert found.exit_code == 3
    assert "install g++" in found.stderr
    assert document("run", small, "--json")["error"] == "ToolchainError"


def test_doctor_says_what_the_emulator_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = document("doctor", "--json")
    assert found["can_emulate"]
    needed = {f["name"] for f in found["findings"] if f["needed_for"] == "emulate"}
    assert needed == {"C++ compiler", "emulator headers", "addr2line", "numpy"}
    assert "run on the CPU  yes" in invoke("doctor").stdout
    monkeypatch.setenv("CUTEGEN_CUDA_INCLUDE", str(tmp_path))
    text = invoke("doctor").stdout
    assert "run on the CPU  no" in text
    assert install_command("emulator") in text


def test_the_progress_bar_is_on_stderr(small: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cutegen", "run", small, "--device", "cpu", "--processes", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert b"running on the CPU [" in shown
    assert b"no findings" in out
    assert b"[###" not in out


def tools_only(directory: Path) -> Path:
    """A PATH with Python and the C++ compiler, and nothing else."""
    directory.mkdir()
    (directory / "python3").symlink_to(sys.executable)
    (directory / "g++").symlink_to(find_cxx()[0].resolve())
    return directory


def test_a_bare_machine_needs_python_and_a_compiler_only(tmp_path: Path) -> None:
    config = tmp_path / "other.yaml"
    config.write_text(SMALL.replace("stages: 3", "stages: 5"))
    env = {
        "PATH": str(tools_only(tmp_path / "bin")),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        "HOME": str(tmp_path),
        "CUTEGEN_CACHE_DIR": os.environ["CUTEGEN_CACHE_DIR"],
        "CUTEGEN_CUDA_INCLUDE": str(find_cuda_headers()[0][0]),
    }
    command = [str(tmp_path / "bin" / "python3"), "-m", "cutegen", "run", str(config)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compiled in" in done.stdout


MATRIX = SMALL + "matrix: {stages: [2, 3], a.major: [k, m]}\n"


def test_matrix_proves_every_case(tmp_path: Path, small: str) -> None:
    path, report = tmp_path / "kernels.yaml", tmp_path / "report.xml"
    path.write_text(MATRIX.replace("stages: 3\n", ""))
    options = ("--device", "cpu", "--jobs", "2", "--junit", str(report))
    found = invoke("matrix", str(path), small, *options)
    assert found.exit_code == 0, found.output
    assert (
        len(re.findall(r"^ok  kernels:stages=\d,a.major=[km] .* right  0 findings", found.stdout, re.M)) == 4
    )
    assert re.search(r"^ok  small  ", found.stdout, re.M)
    assert "5 passed" in found.stderr
    suite = ET.parse(report).getroot()[0]
    assert suite.get("tests") == "5"
    assert suite.get("failures") == "0"
    assert all(float(case.get("time", 0)) > 0 for case in suite.iter("testcase"))
    parsed = document("matrix", str(path), "--device", "cpu", "--shard", "2/4", "--schedules", "2", "--json")
    (case,) = parsed["cases"]
    assert case["id"] == "stages=2,a.major=m"
    assert case["runs"] == 6
    assert {t["problem"]["beta"] for t in case["trials"]} == {0.0, 1.0}


@pytest.mark.usefixtures("racing")
def test_matrix_writes_findings_to_junit(tmp_path: Path, small: str) -> None:
    report = tmp_path / "report.xml"
    found = invoke("matrix", small, "--device", "cpu", "--junit", str(report))
    assert found.exit_code == 1
    assert "first by thread" in found.stderr
    (failure,) = ET.parse(report).getroot().iter("failure")
    assert failure.get("type") == "finding"
    assert "hint:" in (failure.text or "")
    assert document("matrix", small, "--device", "cpu", "--json")["error"] == "SanitizerError"


def test_matrix_needs_its_tools_only_when_it_runs(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CUDA_INCLUDE", "/nowhere")
    assert invoke("matrix", small, "--device", "cpu", "--check-only").exit_code == 0
    found = invoke("matrix", small, "--device", "cpu")
    assert found.exit_code == 3
    assert install_command("emulator") in found.stderr
    assert invoke("matrix", small, "--schedules", "2").exit_code == 2


def test_matrix_of_files_of_one_name(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c.yaml").write_text(SMALL if name == "x" else "arch: sm_80\nnothing: 1\n")
    files = [str(tmp_path / name / "c.yaml") for name in ("x", "y")]
    found = invoke("matrix", *files, "--check-only")
    assert found.exit_code == 2
    assert "c.yaml:2:1" in found.stderr
    (tmp_path / "y" / "c.yaml").write_text(SMALL + "matrix: {illegal: skip, tile: [[64, 64, 5]]}\n")
    parsed = document("matrix", *files, "--check-only", "--json")
    assert [c["id"] for c in parsed["cases"]] == [files[0], f"{files[1]}:tile=64x64x5"]
    assert parsed["counts"] == {"passed": 1, "failed": 0, "skipped": 1}
