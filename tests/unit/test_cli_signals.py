"""Builds that are told to stop: no compiler is left, no half-made directory, and an exit code that tells."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cutegen.cache import Cache
from tests.support.build_fakes import Fakes, make_fakes
from tests.support.cli import GOOD
from tests.support.cli_process import finish, start


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    found = make_fakes(tmp_path, monkeypatch)
    monkeypatch.setenv("FAKE_NVCC_MODE", "wait")
    monkeypatch.setenv("FAKE_NVCC_GATE", str(tmp_path / "gate"))
    return found


def compiling(fakes: Fakes, *options: str, **popen: object) -> subprocess.Popen[str]:
    """A build of which the compilers run now."""
    configs = []
    for stages in (2, 3):
        config = fakes.root / f"s{stages}.yaml"
        config.write_text(GOOD.replace("stages: 3", f"stages: {stages}"))
        configs.append(str(config))
    process = start("build", *configs, "--jobs", "2", *options, **popen)
    wait_for_compilers(fakes, process)
    return process


def wait_for_compilers(fakes: Fakes, process: subprocess.Popen[str]) -> None:
    for _ in range(2000):
        if fakes.runs == 2:
            return
        time.sleep(0.01)
    process.kill()
    raise AssertionError(finish(process))


def wait_until_gone(fakes: Fakes) -> None:
    pids = (fakes.toolkit / "runs").read_text().split()
    for _ in range(500):
        if not any(_alive(pid) for pid in pids):
            return
        time.sleep(0.01)
    raise AssertionError(f"compilers {pids} are still there")


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def leftovers(fakes: Fakes) -> list[Path]:
    store = Cache(fakes.cache).store
    places = (store.work, store.locks, store.failed, store.damaged, store.entries)
    return [p for d in places if d.is_dir() for p in d.iterdir()]


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")],
)
def test_a_build_that_is_told_to_stop(fakes: Fakes, number: signal.Signals, words: str) -> None:
    process = compiling(fakes)
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 128 + number
    assert (done.stdout, done.stderr) == ("", f"{words}\n")
    wait_until_gone(fakes)
    assert leftovers(fakes) == []


def test_a_matrix_that_is_told_to_stop(fakes: Fakes) -> None:
    matrix = fakes.root / "m.yaml"
    matrix.write_text(GOOD.replace("stages: 3", "matrix: {stages: [2, 3, 4]}"))
    process = start("matrix", str(matrix), "--jobs", "2", "--device", "cuda", "--target", "sm_80")
    wait_for_compilers(fakes, process)
    process.send_signal(signal.SIGTERM)
    assert finish(process).returncode == 143
    wait_until_gone(fakes)
    assert leftovers(fakes) == []


def test_one_that_prints_json_prints_a_whole_document(fakes: Fakes) -> None:
    process = compiling(fakes, "--json")
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    parsed = json.loads(done.stdout)
    assert parsed["ok"] is False
    assert parsed["exit_code"] == done.returncode == 143
    assert parsed["error"] == "Stopped"


def test_two_terminations_are_one_wish_to_stop(fakes: Fakes) -> None:
    """As timeout(1) sends them: to the command, and then to its process group."""
    process = compiling(fakes, "--json")
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    done = finish(process)
    assert json.loads(done.stdout)["exit_code"] == done.returncode == 143
    wait_until_gone(fakes)


def test_a_hang_up_is_ignored_where_it_was_before(fakes: Fakes) -> None:
    process = compiling(fakes, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    (fakes.root / "gate").touch()
    assert finish(process).returncode == 0


def test_compilers_do_not_outlive_a_process_that_was_killed(fakes: Fakes) -> None:
    process = compiling(fakes)
    process.kill()
    finish(process)
    wait_until_gone(fakes)


WAITING = """
import signal, threading, time
from cutegen.cli.exits import exit_code_of

def work():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # the kernel gives it to another thread
    print("ready", flush=True)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

raise SystemExit(exit_code_of(work, as_json=False))
"""


def test_a_wait_that_no_signal_interrupts_ends_all_the_same() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(timeout=20) == 143
    finally:
        process.kill()
        process.communicate()
