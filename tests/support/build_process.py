"""Builds one kernel in a process of its own, for tests of races, kills and full disks.

Usage: ``python build_process.py now|wait``; with ``wait`` the build starts at the first line on stdin.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def start(how: str = "wait", *, prefix: Sequence[str] = (), cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start such a process; it prints ``ready`` once only the build itself is left to do."""
    return subprocess.Popen(
        [*prefix, sys.executable, __file__, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )


def race(count: int) -> list[list[str]]:
    """Let processes build the same kernel at the same moment; returns the words that each printed."""
    processes = [start() for _ in range(count)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * count, outputs
    return [out.split() for out, _ in outputs]


def main() -> None:
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("always")
    from cutegen.build import compile_kernel
    from cutegen.errors import CutegenError
    from cutegen.toolchain import find_toolchain
    from tests.support.build_fakes import kernel

    tools = find_toolchain()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if sys.argv[1] == "wait":
        sys.stdin.readline()
    try:
        built = compile_kernel(kernel("raced"), toolchain=tools)
    except CutegenError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.write(f"{'cached' if built.cached else 'built'} {built.key} {built.so}\n")


if __name__ == "__main__":
    main()
