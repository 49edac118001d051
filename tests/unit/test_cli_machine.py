"""The commands about this machine and its GPU: doctor, cache, run."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cutegen.install import install_command
from cutegen.loader import load
from tests.support.cli import GOOD, document, invoke
from tests.unit.test_cli_documents import OUTER, check


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_NVCC", "/nowhere")
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    found = invoke("doctor")
    assert found.exit_code == 3
    row = next(line for line in found.stdout.splitlines() if " nvcc " in line)
    assert row.startswith("missing  nvcc ")
    assert f"needed to build kernels: {install_command('cuda13')}" in row
    assert "tried CUTEGEN_NVCC: /nowhere (no such file)" in found.stdout
    assert "build kernels   no" in found.stdout
    assert "CUTEGEN_NVCC" in invoke("doctor", "-v").stdout
    parsed = document("doctor", "--json")
    assert parsed["ok"] is False
    assert parsed["can_build"] is False
    assert parsed["gpus"] == []
    names = [finding["name"] for finding in parsed["findings"]]
    states = [finding["state"] for finding in parsed["findings"]]
    assert states[names.index("nvcc")] == "missing"
    rows = found.stdout.splitlines()[: len(names)]  # one line each, in columns
    assert [row.split()[0] for row in rows] == states
    assert len({row.index(name) for row, name in zip(rows, names, strict=True)}) == 1
    assert all(f["version"] is None or "(" not in f["version"] for f in parsed["findings"])


def test_cache_commands_on_an_empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "none yet"
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(root))
    assert f"no kernels in {root}" in invoke("cache", "ls").stdout
    assert "not made yet" in invoke("cache", "info").stdout
    assert document("cache", "ls", "--json")["entries"] == []
    assert document("cache", "info", "--json")["root"] == str(root)
    assert "dropped 0 kernels" in invoke("cache", "prune", "--max-age", "30d", "--max-size", "2GiB").stdout
    assert "dropped 0 kernels" in invoke("cache", "clear", "--yes").stdout
    archive = tmp_path / "a.tar.gz"
    assert "wrote 0 kernels" in invoke("cache", "export", str(archive)).stdout
    assert "took 0 kernels" in invoke("cache", "import", str(archive)).stdout
    missing = invoke("cache", "import", str(tmp_path / "no.tar"))
    assert missing.exit_code == 3
    assert missing.stderr.startswith("error: ")
    assert document("cache", "export", str(archive), "abc", "--json")["error"] == "CacheError"


def test_cache_settings_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_SIZE", "lots")
    found = invoke("cache", "info")
    assert found.exit_code == 3
    assert "CUTEGEN_CACHE_SIZE must be a size" in found.stderr


def test_clear_asks_or_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path))
    kept = tmp_path / "v1" / "failed" / "one"
    kept.mkdir(parents=True)
    for args in ([], ["--json"]):
        found = invoke("cache", "clear", *args)
        assert found.exit_code == 2
        assert "--yes" in found.output
        assert kept.exists()
    emulator = tmp_path / "emulator" / "v1"
    emulator.mkdir(parents=True)
    (emulator / "a").write_bytes(bytes(100))
    assert document("cache", "info", "--json")["other_bytes"] == 100
    assert document("cache", "clear", "--yes", "--json")["freed_bytes"] == 100
    assert not kept.exists()
    assert not emulator.exists()


def test_run_without_a_gpu_is_a_sentence(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    for options in (["--device", "cuda"], ["--target", "native"]):
        found = invoke("run", good, *options)
        assert found.exit_code == 3
        assert found.stderr.startswith("error: run --device cuda needs a GPU")
        assert "--device cpu works without" in found.stderr
        assert document("run", good, *options, "--json")["error"] == "ToolchainError"


def test_run_with_a_torch_that_sees_no_gpu(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(name="H200", cc=90),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = invoke("run", good)
    assert found.exit_code == 3
    assert "install a CUDA build of torch" in found.stderr


@pytest.fixture
def host_kernel(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A GPU that is the CPU: the kernel computes with torch, and adds ``error`` to one element."""
    torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    state = SimpleNamespace(error=0, calls=[])

    def build(config: Any, **options: Any) -> Any:
        def call(a: Any, b: Any, c: Any, out: Any, alpha: float, beta: float, b_is: str) -> None:
            assert b_is == "nk"
            assert torch.isnan(out).all()
            state.calls.append((tuple(a.shape), tuple(b.shape), out.stride(), options["target"]))
            value = alpha * (a.double() @ b.double().t())
            out.copy_(value if c is None else value + beta * c.double())
            if out.numel():
                out[-1, -1] += state.error

        kernel = type("Kernel", (), {"__call__": staticmethod(call)})()
        vars(kernel).update(
            config=config,
            name="k",
            artifact=SimpleNamespace(target="sm_90"),
            loaded=lambda device: "cubin",
        )
        return kernel

    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(name="H200", cc=90),))
    monkeypatch.setattr("cutegen.toolchain.find_toolchain", lambda nvcc=None: "toolchain")
    monkeypatch.setattr(importlib.import_module("cutegen.building"), "build", build)
    monkeypatch.setattr("cutegen.cli.run._DEVICE", "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return state


def test_run_reports_what_is_right(good: str, host_kernel: SimpleNamespace) -> None:
    found = invoke("run", good, "--m", "100", "--n", "72", "--k", "40", "--beta", "0.5", "--target", "native")
    assert found.exit_code == 0, found.output
    assert "all 7200 elements are right, bit for bit" in found.stdout
    assert "sm_90, cubin loaded on H200" in found.stdout
    assert host_kernel.calls == [((100, 40), (72, 40), (72, 1), "native")]
    parsed = document("run", good, "--m", "0", "--json")
    check(parsed, "`run` on a GPU", OUTER)
    assert parsed["elements"] == 0


def test_run_with_inexact_factors_uses_a_tolerance(good: str, host_kernel: SimpleNamespace) -> None:
    found = invoke("run", good, "--m", "32", "--n", "32", "--alpha", "0.3")
    assert "within the tolerance" in found.stdout


def test_run_into_a_column_major_output(good: str, host_kernel: SimpleNamespace) -> None:
    Path(good).write_text(GOOD + "d: {major: m}\n")
    assert invoke("run", good, "--m", "64", "--n", "32").exit_code == 0
    assert host_kernel.calls[0][2] == (1, 64)


def test_run_names_the_first_wrong_element(good: str, host_kernel: SimpleNamespace) -> None:
    host_kernel.error = 1000
    found = invoke("run", good, "--m", "200", "--n", "200", "--k", "16")
    assert found.exit_code == 1
    assert "1 of 40000 elements are wrong; the first: D(199, 199) must be" in found.stderr
    assert "CTA tile (1, 1), warp" in found.stderr
    assert "cutegen run" in found.stderr
    assert document("run", good, "--json")["error"] == "CheckFailedError"


def test_threads_of_the_report_are_those_of_the_plan(good: str) -> None:
    from cutegen.plan import plan
    from cutegen.trial import thread_finder

    found = plan(load(good))
    thread_of = thread_finder(found)
    blk_m, blk_n, _ = found.tile
    owners = [thread_of(m, n) for m in range(blk_m) for n in range(blk_n)]
    assert set(owners) == set(range(found.threads))
    assert all(owners.count(t) == blk_m * blk_n // found.threads for t in (0, found.threads - 1))
