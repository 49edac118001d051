"""Host time of a warm call against ``torch.mm(out=)``, and of the way to a kernel.

    python docs/benchmarks/host_cost.py [--json FILE]

A small problem, so that the GPU keeps up; batches short enough that the launch queue never fills; all
contestants in turn, medians of many batches. Needs a GPU and torch. Ratios, not times, carry over.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import cutegen

BATCH = 200
ROUNDS = 101
CONFIG = """
arch: sm_80
a: {dtype: bf16}
b: {dtype: bf16}
tile: [64, 64, 32]
"""

PROBE = """
import json, sys, time
start = time.perf_counter()
import cutegen
imported = time.perf_counter() - start
light = "torch" not in sys.modules
import cutegen.building, cutegen.kernel, cutegen.device
start = time.perf_counter()
cutegen.device.gpus()
driver = time.perf_counter() - start
start = time.perf_counter()
kernel = cutegen.build(sys.argv[1])
built = time.perf_counter() - start
print(json.dumps([imported, light, driver, built, kernel.artifact.cached]))
"""


def contestants(kernel: cutegen.Kernel) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    a = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16).t()
    c = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(c)
    other = torch.randn(128, 64, device="cuda", dtype=torch.bfloat16)
    other_out = torch.empty(128, 64, device="cuda", dtype=torch.bfloat16)
    prepared = kernel.plan(a, b, out=out)
    packed = prepared._pack()
    launch = kernel.library.launch
    turn = iter(())

    def alternating() -> None:
        nonlocal turn
        pair = next(turn, None)
        if pair is None:
            turn = iter(((a, out), (other, other_out)))
            pair = next(turn)
        kernel(pair[0], b, out=pair[1])

    return {
        "torch.mm(a, b, out=d)": lambda: torch.mm(a, b, out=out),
        "kernel(a, b, out=d)": lambda: kernel(a, b, out=out),
        "kernel.plan(...)()": prepared,
        "the C launch alone": lambda: launch(packed),
        "kernel, two shapes in turn": alternating,
        "torch.mm(a, b)": lambda: torch.mm(a, b),
        "kernel(a, b)": lambda: kernel(a, b),
        "torch.addmm(c, a, b, out=d)": lambda: torch.addmm(c, a, b, out=out),
        "kernel(a, b, c, d, beta=1)": lambda: kernel(a, b, c, out, 1.0, 1.0),
        "an empty Python function": lambda: None,
    }


def measure(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median host time of one call in microseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(BATCH):
            call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(BATCH):
                call()
            times[name].append((time.perf_counter() - start) / BATCH * 1e6)
    return {name: statistics.median(series) for name, series in times.items()}


def way_to_a_kernel(path: Path) -> dict[str, float | bool]:
    """Seconds from the start to a kernel, in fresh processes with a warm cache: the best of five."""
    best: list[list[float]] = []
    for _ in range(5):
        command = [sys.executable, "-c", PROBE, str(path)]
        best.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return {
        "import cutegen": min(row[0] for row in best),
        "without torch": all(row[1] for row in best),
        "asking the driver for GPUs": min(row[2] for row in best),
        "config file to Kernel": min(row[3] for row in best),
        "from the cache": all(row[4] for row in best),
    }


def main() -> int:
    """Measure and print; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.yaml"
        path.write_text(CONFIG)
        kernel = cutegen.build(path)
        calls = contestants(kernel)
        times = measure(calls)
        way = way_to_a_kernel(path)
    reference = times["torch.mm(a, b, out=d)"]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    for name, value in times.items():
        print(f"{name:30} {value:7.2f} us  {value / reference:5.2f} of torch.mm(out=)")
    for name, value in way.items():
        print(f"{name:30} {value if isinstance(value, bool) else f'{1000 * value:7.2f} ms'}")
    ratio = times["kernel(a, b, out=d)"] / reference
    missed = [
        text
        for text, good in (
            (f"a warm call costs {ratio:.2f} of torch.mm(out=), not 0.6 at most", ratio <= 0.6),
            ("import cutegen takes 0.3 s or more", way["import cutegen"] < 0.3),
            ("import cutegen imports torch", bool(way["without torch"])),
            ("config file to Kernel takes 20 ms or more", way["config file to Kernel"] < 0.020),
        )
        if not good
    ]
    print("\n".join(missed) or "every goal is met")
    if options.json:
        options.json.write_text(json.dumps({"us": times, "way": way, "ratio": ratio}, indent=2))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
