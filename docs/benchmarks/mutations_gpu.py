"""Whether the mutations of ``tests/mutations`` give right numbers on this GPU.

    python docs/benchmarks/mutations_gpu.py [--runs 20] [--jobs 8] [--only NAME... | --missing] [--build-only]

Each mutation is built with nvcc and runs in processes of its own, since a fault may hang a kernel or spoil
the CUDA context: a hang, an error of the driver and a wrong element all count as not right, and behind one
of the first two a new process goes on. What was seen goes to ``docs/benchmarks/results/mutations_gpu.json``;
``python -m tests.mutations --page`` then puts it into the table of ``docs/mutations.md``. Needs a GPU, nvcc
and torch; Hopper's kernels need compute capability 9.0.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cutegen.build import Artifact, compile_kernel  # noqa: E402
from cutegen.errors import CutegenError  # noqa: E402
from cutegen.kernel import Kernel as CudaKernel  # noqa: E402
from cutegen.plan import plan  # noqa: E402
from cutegen.reference import check, exact_inputs  # noqa: E402
from cutegen.render import render  # noqa: E402
from cutegen.toolchain import find_toolchain  # noqa: E402
from tests.mutations.model import KERNELS, Kernel, Mutation, mutated, source_of  # noqa: E402
from tests.mutations.page import GPU_RESULTS  # noqa: E402
from tests.mutations.table import MUTATIONS  # noqa: E402

_SECONDS = 4.0  # after which a run hangs
_PROCESS_SECONDS = 90.0  # for all runs of one process
_MOST_FAILURES = 2  # hangs and errors after which the other runs count as not right
_CLEAN = "clean "  # kernels without a fault run too: all of their runs must be right


def build_program(kernel: Kernel, text: str, directory: Path) -> Path:
    """A tutorial as a program; its main returns 0 when all numbers are right."""
    tools = find_toolchain()
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / Path(kernel.tutorial).name
    source.write_text(text, encoding="utf-8")
    include = tools.cutlass.include
    includes = (include, include.parent / "tools" / "util" / "include", *tools.nvcc.extra_includes)
    command = [
        str(tools.nvcc.path),
        "-std=c++17",
        "--expt-relaxed-constexpr",
        f"-arch={kernel.arch}",
        *(f"-I{path}" for path in includes),
        str(source),
        "-o",
        str(directory / "program"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{source.name}: nvcc failed\n{done.stdout}{done.stderr}"[:4000])
    return directory / "program"


def build_rendered(mutation: Mutation, text: str) -> Artifact:
    """A rendered kernel's library."""
    kernel = KERNELS[mutation.kernel]
    rendered = render(plan(kernel.config()), style=kernel.style)  # type: ignore[arg-type]
    return compile_kernel(dataclasses.replace(rendered, text=text))


def rendered_runs(mutation: Mutation, artifact: Artifact, count: int) -> Iterator[bool]:
    """Whether a rendered kernel computes right, run by run."""
    import torch

    mutated_kernel = KERNELS[mutation.kernel]
    config, (m, n, k) = plan(mutated_kernel.config()).config, mutated_kernel.gpu_shape or mutation.shape
    inputs = exact_inputs(config, m, n, k, with_c=True, device="cuda:0")
    kernel = CudaKernel(config, artifact)
    for _ in range(count):
        out = torch.full((m, n), float("nan"), device="cuda:0").to(inputs.c.dtype)
        out = out if config.d.major == "n" else out.t().contiguous().t()
        kernel(inputs.a, inputs.b, inputs.c, out, 1.0, mutation.beta, b_is="nk")
        end, deadline = torch.cuda.Event(), time.monotonic() + _SECONDS
        end.record()
        while not end.query():
            if time.monotonic() > deadline:
                print("hang", flush=True)
                os._exit(3)  # a context with a kernel that hangs is not left otherwise
        yield check(config, out, inputs.a, inputs.b, inputs.c, beta=mutation.beta).ok


def one(name: str) -> tuple[Mutation, str]:
    """A mutation and the text with its fault, or a kernel without a fault."""
    if not name.startswith(_CLEAN):
        mutation = next(m for m in MUTATIONS if m.name == name)
        return mutation, mutated(mutation)
    key = name.removeprefix(_CLEAN)
    return Mutation(name=name, kernel=key, fault="none", old="", new="", kinds=()), source_of(KERNELS[key])


def run_one(name: str, scratch: Path, count: int) -> int:
    """Build, then run so often, a line for each run."""
    mutation, text = one(name)
    kernel, directory = KERNELS[mutation.kernel], scratch / name.replace(" ", "_")
    if not kernel.tutorial:
        artifact = build_rendered(mutation, text)
        for right in rendered_runs(mutation, artifact, count) if count else ():
            print("right" if right else "wrong", flush=True)
        return 0
    program = directory / "program"
    if not program.exists():
        build_program(kernel, text, directory)
    for _ in range(count):
        try:
            done = subprocess.run([str(program)], timeout=_SECONDS + 6, check=False, capture_output=True)
        except subprocess.TimeoutExpired:
            print("hang", flush=True)
            return 3
        print("right" if done.returncode == 0 else "wrong", flush=True)
    return 0


def attempt(name: str, scratch: Path, count: int) -> list[str]:
    """What one process that was asked for so many runs prints: right, wrong or hang."""
    argv = [sys.executable, __file__, "--one", name, "--scratch", str(scratch), "--runs", str(count)]
    try:
        limit = _PROCESS_SECONDS if count else None
        done = subprocess.run(argv, timeout=limit, check=False, capture_output=True, text=True)
    except subprocess.TimeoutExpired as exc:
        return [*(exc.stdout or b"").decode().split(), "hang"]
    if done.returncode and not count:
        print(f"{name} was not built: {done.stderr[-2000:]}", flush=True)
        return ["error"]
    seen = done.stdout.split()
    return seen if len(seen) == count or "hang" in seen else [*seen, "error"]


def count_right(name: str, scratch: Path, runs: int) -> int:
    """How many of the runs give right numbers."""
    seen: list[str] = []
    while len(seen) < runs and seen.count("hang") + seen.count("error") < _MOST_FAILURES:
        seen += attempt(name, scratch, runs - len(seen))
    print(f"{name}: {dict(Counter(seen))}", flush=True)
    return seen.count("right")


def results() -> dict[str, int]:
    """What was seen before."""
    right = json.loads(GPU_RESULTS.read_text())["right"] if GPU_RESULTS.exists() else {}
    return {str(name): int(count) for name, count in right.items()}


def selected(only: list[str] | None, missing: bool) -> list[str]:
    """Names of the kernels without and with a fault that are to run."""
    seen = results() if missing else {}
    names = [_CLEAN + key for key in KERNELS] + [m.name for m in MUTATIONS]
    return [name for name in names if name not in seen and (only is None or name in only)]


def main() -> int:
    """Build side by side, run side by side, and keep what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--missing", action="store_true", help="only what the results do not have yet")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        try:
            return run_one(options.one, options.scratch, options.runs)
        except (CutegenError, RuntimeError) as exc:
            sys.stderr.write(f"{exc}\n")
            return 1
    names = selected(options.only, options.missing)
    kept = results() if options.only is not None or options.missing else {}
    gpu = "none"
    if not options.build_only:
        import torch

        gpu = torch.cuda.get_device_name(0)
        if torch.cuda.get_device_capability(0)[0] != 9:
            hopper = {key for key, kernel in KERNELS.items() if kernel.arch == "sm_90a"}
            names = [n for n in names if one(n)[0].kernel not in hopper]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        scratch = Path(folder)
        failed = list(pool.map(lambda name: attempt(name, scratch, 0), names))
        names = [name for name, lines in zip(names, failed, strict=True) if not lines]
        print(f"{len(names)} of {len(failed)} built", flush=True)
        if options.build_only:
            return 0
        right: dict[str, int] = {}
        counts = {pool.submit(count_right, name, scratch, options.runs): name for name in names}
        for done in as_completed(counts):
            right[counts[done]] = done.result()
            everything = {"gpu": gpu, "runs": options.runs, "right": kept | right}
            GPU_RESULTS.write_text(json.dumps(everything, indent=1) + "\n")
    broken = [n for n in right if n.startswith(_CLEAN) and right[n] != options.runs]
    if broken:
        print(f"not right without a fault: {', '.join(broken)}")
    return 1 if broken or len(names) != len(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
