"""Emulated kernels that are told to stop: no compiler and no emulator is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cutegen.emulator import find_host_toolchain
from cutegen.emulator.prepare import prepare
from tests.support.cli_process import finish, start

SMALL = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\ntile: [64, 64, 32]\nstages: 3\n"


def descendants(pid: int) -> set[int]:
    """The processes below one that are alive."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def named(pids: set[int], word: str) -> set[int]:
    """Those processes in whose command line a word stands."""
    found = set()
    for pid in pids:
        try:
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def wait_for(process: subprocess.Popen[str], word: str) -> set[int]:
    """The descendants once one of them has a word in its command line."""
    for _ in range(6000):
        below = descendants(process.pid)
        if named(below, word):
            return below
        if process.poll() is not None:
            raise AssertionError(finish(process))
        time.sleep(0.01)
    raise AssertionError(f"no process with {word!r} appeared")


def wait_until_gone(pids: set[int]) -> None:
    for _ in range(6000):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
        time.sleep(0.01)
    raise AssertionError(f"{pids} are still there")


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "c.yaml"
    path.write_text(SMALL)
    return str(path)


@pytest.mark.parametrize(
    "command",
    [["run", "{}", "--device", "cpu"], ["matrix", "{}", "--device", "cpu"], ["fuzz", "--count", "4"]],
    ids=lambda words: words[0],
)
def test_compilers_are_killed(command: list[str], config: str, tmp_path: Path) -> None:
    compiler = tmp_path / "slow-g++"
    compiler.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "--version) echo 'g++ (Slow) 12.2.0';;\n-dumpmachine) echo x86_64-linux-gnu;;\n*) sleep 600;;\n"
        "esac\n"
    )
    compiler.chmod(0o755)
    env = {"CUTEGEN_CXX": str(compiler), "CUTEGEN_CACHE_DIR": str(tmp_path / "cache"), "CUTEGEN_JOBS": "2"}
    process = start(*(word.format(config) for word in command), env=env)
    below = wait_for(process, "sleep")
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = finish(process, timeout=180.0)
    assert done.returncode == 130, done.stderr
    assert time.monotonic() - begin < 20
    wait_until_gone(below)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_emulators_are_killed(number: signal.Signals, config: str) -> None:
    host = find_host_toolchain()
    runtime = str(prepare(host, "sm_80").runtimes)
    process = start("matrix", config, "--device", "cpu", "--schedules", "1000000", env=dict(os.environ))
    below = wait_for(process, runtime)
    process.send_signal(number)
    done = finish(process, timeout=180.0)
    assert done.returncode in (128 + number, -number), done.stderr
    wait_until_gone(below)
