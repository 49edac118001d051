from __future__ import annotations

import time
from pathlib import Path

import pytest

from cutegen.errors import ToolchainError
from cutegen.toolchain.process import Children, parallel_jobs, run

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
    assert run(["/bin/sleep", "30"], children=children).returncode == -9
    assert run(["/bin/sleep", "30"], children=children).describe_end().startswith("ended by SIGKILL")


def test_how_a_process_ended() -> None:
    assert run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]).output == "out\nerr\n"
    assert run(["/bin/sh", "-c", "exit 3"]).describe_end() == "exit status 3"
    assert run(["/bin/sh", "-c", "kill -SEGV $$"]).describe_end() == "ended by SIGSEGV"
    with pytest.raises(ToolchainError, match="/no/such cannot be run: No such file"):
        run(["/no/such"])


def test_free_memory_bounds_jobs_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import process

    monkeypatch.setattr(process, "_usable_cores", lambda: 16)
    for free, requested, expected in (
        (None, None, 16),
        (64 * 2**30, None, 16),
        (3 * 2**30, None, 3),
        (3 * 2**30, 2, 2),
        (64 * 2**30, 40, 40),
        (0, None, 1),
        (0, 8, 8),
    ):
        monkeypatch.setattr(process, "_free_memory", lambda free=free: free)
        assert parallel_jobs(requested) == expected


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
