"""Cores and memory as control groups leave them, on machines made of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutegen.toolchain.limits import free_memory, usable_cores

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _sixteen_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))


def machine(root: Path, groups: str, files: dict[str, object], available: int = 100 * GIB) -> Path:
    """A root directory with what the kernel says."""
    named = {
        "proc/meminfo": f"MemTotal: 1 kB\nMemAvailable:   {available >> 10} kB\n",
        "proc/self/cgroup": groups,
        **{f"sys/fs/cgroup/{name}": content for name, content in files.items()},
    }
    for name, content in named.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


def test_without_control_groups(tmp_path: Path) -> None:
    assert (usable_cores(tmp_path), free_memory(tmp_path)) == (16, None)
    machine(tmp_path, "", {}, available=3 * GIB)
    assert (usable_cores(tmp_path), free_memory(tmp_path)) == (16, 3 * GIB)


def test_the_second_version_with_limits_on_several_levels(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        "0::/slurm/job_7/step_0",
        {
            "slurm/cpu.max": "1200000 100000",
            "slurm/job_7/cpu.max": "400000 100000",
            "slurm/job_7/step_0/cpu.max": "max 100000",
            "slurm/memory.max": 64 * GIB,
            "slurm/memory.current": 10 * GIB,
            "slurm/job_7/memory.max": 8 * GIB,
            "slurm/job_7/memory.current": 7 * GIB,
            "slurm/job_7/memory.stat": f"anon 1\ninactive_file {5 * GIB}\nactive_file {GIB}",
            "slurm/job_7/step_0/memory.max": "max",
            "slurm/job_7/step_0/memory.current": 7 * GIB,
        },
    )
    assert usable_cores(root) == 4
    assert free_memory(root) == 6 * GIB  # files that were read count as used, and are dropped when needed


def test_the_first_version(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n0::/",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": 250000,  # as a container sees its own group
            "cpu,cpuacct/cpu.cfs_period_us": 100000,
            "memory/memory.limit_in_bytes": 4 * GIB,
            "memory/memory.usage_in_bytes": 3 * GIB,
            "memory/memory.stat": f"inactive_file 0\ntotal_inactive_file {GIB}",
        },
    )
    assert (usable_cores(root), free_memory(root)) == (2, 2 * GIB)
    unlimited = {"memory/memory.limit_in_bytes": (1 << 63) - 4096, "cpu,cpuacct/cpu.cfs_quota_us": -1}
    machine(tmp_path, "5:memory:/\n4:cpu,cpuacct:/", unlimited)
    assert (usable_cores(root), free_memory(root)) == (16, 100 * GIB)


def test_half_a_core_and_no_memory_left(tmp_path: Path) -> None:
    files = {"cpu.max": "50000 100000", "memory.max": GIB, "memory.current": 2 * GIB}
    root = machine(tmp_path, "0::/", files)
    assert (usable_cores(root), free_memory(root)) == (1, 0)


def test_what_is_no_number_is_no_limit(tmp_path: Path) -> None:
    files = {"cpu.max": "what", "memory.max": "", "memory.current": "x"}
    root = machine(tmp_path, "0::/../..\nnonsense\n0::/", files)
    assert (usable_cores(root), free_memory(root)) == (16, 100 * GIB)


def test_this_machine() -> None:
    assert usable_cores() >= 1
    free = free_memory()
    assert free is None or free >= 0
