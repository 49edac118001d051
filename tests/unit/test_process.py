from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from cutegen.errors import ToolchainError
from cutegen.toolchain.process import Children, StoppedError, memory_for_jobs, parallel_jobs, run

# ---- processes


def test_a_process_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    start = time.monotonic()
    with pytest.raises(ToolchainError, match=r"did not end within 0\.2 s"):
        run(["/bin/sh", "-c", f'sleep 30 & echo $! > "{pid}"; wait'], timeout=0.2)
    assert time.monotonic() - start < 5
    _wait_until_gone(int(pid.read_text()))


def test_stopping_a_batch_ends_running_and_later_processes() -> None:
    from threading import Timer

    children = Children()
    Timer(0.1, children.stop).start()
    start = time.monotonic()
    for _ in range(2):  # while it runs, and before it starts
        with pytest.raises(StoppedError):
            run(["/bin/sleep", "30"], children=children)
    assert time.monotonic() - start < 5


def test_a_process_that_is_killed_takes_its_compilers_along(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = "import sys; from cutegen.toolchain.process import *; run(sys.argv[1:], children=Children())"
    command = ["/bin/sh", "-c", f'sleep 30 & echo $! > "{pid}.new"; mv "{pid}.new" "{pid}"; wait']
    builder = subprocess.Popen([sys.executable, "-c", code, *command])
    for _ in range(500):
        if pid.exists():
            break
        time.sleep(0.01)
    time.sleep(0.1)
    builder.kill()
    builder.wait()
    _wait_until_gone(int(pid.read_text()))


def test_killed_processes_say_so() -> None:
    assert run(["/bin/sh", "-c", "kill -KILL $$"]).describe_end().startswith("ended by SIGKILL")


def test_how_a_process_ended() -> None:
    assert run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]).output == "out\nerr\n"
    assert run(["/bin/sh", "-c", "exit 3"]).describe_end() == "exit status 3"
    assert run(["/bin/sh", "-c", "kill -SEGV $$"]).describe_end() == "ended by SIGSEGV"
    with pytest.raises(ToolchainError, match="/no/such cannot be run: No such file"):
        run(["/no/such"])


def test_free_memory_bounds_jobs_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import process

    monkeypatch.setattr(process, "usable_cores", lambda: 16)
    for free, requested, expected in (
        (None, None, 16),
        (64 * 2**30, None, 16),
        (3 * 2**30, None, 3),
        (3 * 2**30, 2, 2),
        (64 * 2**30, 40, 40),
        (0, None, 1),
        (0, 8, 8),
    ):
        monkeypatch.setattr(process, "free_memory", lambda free=free: free)
        assert parallel_jobs(requested) == expected


def test_jobs_that_memory_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import process

    monkeypatch.setattr(process, "free_memory", lambda: 3 * 2**30)
    assert memory_for_jobs(3) is None
    assert memory_for_jobs(4) == (4 * 2**30, 3 * 2**30)
    monkeypatch.setattr(process, "free_memory", lambda: None)
    assert memory_for_jobs(1000) is None


def _wait_until_gone(pid: int) -> None:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")
