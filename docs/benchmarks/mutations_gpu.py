"""Whether the mutations of ``tests/mutations`` give right numbers on this GPU.

    python docs/benchmarks/mutations_gpu.py [--runs 20] [--jobs 8] [--only NAME...] [--build-only]

Each mutation is built with nvcc and run in processes of its own, since a fault may hang a kernel or spoil the
CUDA context: a hang, an error of the driver and a wrong element all count as not right. What was seen goes to
``docs/benchmarks/results/mutations_gpu.json``; ``python -m tests.mutations --page`` then puts it into the
table of ``docs/mutations.md``. Needs a GPU, nvcc and torch; the Hopper tutorials need sm_90.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cutegen.build import compile_kernel  # noqa: E402
from cutegen.errors import CutegenError  # noqa: E402
from cutegen.kernel import Kernel as CudaKernel  # noqa: E402
from cutegen.plan import plan  # noqa: E402
from cutegen.reference import check, exact_inputs  # noqa: E402
from cutegen.render import render  # noqa: E402
from cutegen.toolchain import find_toolchain  # noqa: E402
from tests.mutations.model import KERNELS, Kernel, Mutation, mutated, source_of  # noqa: E402
from tests.mutations.page import GPU_RESULTS  # noqa: E402
from tests.mutations.table import MUTATIONS  # noqa: E402

_SECONDS = 60.0
_CLEAN = "clean "  # kernels without a fault are run too: all of their runs must be right


def build_program(kernel: Kernel, text: str, directory: Path) -> Path:
    """A tutorial as a program; its main returns 0 when all numbers are right."""
    tools = find_toolchain()
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


def run_rendered(mutation: Mutation, text: str, build_only: bool) -> bool:
    """Whether a rendered kernel computes right in one run."""
    planned = plan(KERNELS[mutation.kernel].config())
    rendered = render(planned, style=KERNELS[mutation.kernel].style)  # type: ignore[arg-type]
    artifact = compile_kernel(dataclasses.replace(rendered, text=text))
    if build_only:
        return True
    import torch

    (m, n, k), config = mutation.shape, planned.config
    inputs = exact_inputs(config, m, n, k, with_c=True, device="cuda:0")
    out = torch.full((m, n), float("nan"), device="cuda:0").to(inputs.c.dtype)
    out = out if config.d.major == "n" else out.t().contiguous().t()
    kernel = CudaKernel(config, artifact)
    kernel(inputs.a, inputs.b, inputs.c, out, 1.0, mutation.beta, b_is="nk")
    torch.cuda.synchronize()
    return check(config, out, inputs.a, inputs.b, inputs.c, beta=mutation.beta).ok


def run_one(name: str, build_only: bool) -> int:
    """One run of one mutation, or of a kernel without a fault; 0 when its numbers are right."""
    if name.startswith(_CLEAN):
        key = name.removeprefix(_CLEAN)
        mutation = Mutation(name=name, kernel=key, fault="none", old="", new="", kinds=())
        text = source_of(KERNELS[key])
    else:
        mutation = next(m for m in MUTATIONS if m.name == name)
        text = mutated(mutation)
    kernel = KERNELS[mutation.kernel]
    if not kernel.tutorial:
        return 0 if run_rendered(mutation, text, build_only) else 1
    with tempfile.TemporaryDirectory() as directory:
        program = build_program(kernel, text, Path(directory))
        if build_only:
            return 0
        return subprocess.run([str(program)], timeout=_SECONDS, check=False, capture_output=True).returncode


def attempt(name: str, build_only: bool = False) -> bool:
    """One run in a process of its own."""
    argv = [sys.executable, __file__, "--one", name, *(["--build-only"] if build_only else [])]
    try:
        done = subprocess.run(argv, timeout=4 * _SECONDS, check=False, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return False
    if "nvcc failed" in done.stderr:
        raise SystemExit(done.stderr)
    if build_only and done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    return done.returncode == 0


def main() -> int:
    """Build side by side, run one after another, and keep what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        try:
            return run_one(options.one, options.build_only)
        except (CutegenError, RuntimeError, subprocess.TimeoutExpired) as exc:
            sys.stderr.write(f"{exc}\n")
            return 1
    names = [_CLEAN + key for key in KERNELS] + [m.name for m in MUTATIONS]
    names = [n for n in names if options.only is None or n in options.only]
    gpu = "none"
    if not options.build_only:
        import torch

        gpu = torch.cuda.get_device_name(0)
        kernels = {m.name: m.kernel for m in MUTATIONS}
        major = torch.cuda.get_device_capability(0)[0]
        if major != 9:
            hopper = {k for k, v in KERNELS.items() if v.arch == "sm_90a"}
            names = [n for n in names if kernels.get(n, n.removeprefix(_CLEAN)) not in hopper]
    # Rendered kernels are in the cache after this; programs are built by each run.
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda name: attempt(name, build_only=True), names))
    if options.build_only:
        print(f"{len(names)} built")
        return 0
    right: dict[str, int] = {}
    for name in names:
        right[name] = sum(attempt(name) for _ in range(options.runs))
        print(f"{name}: {right[name]} of {options.runs} right", flush=True)
    broken = [n for n in right if n.startswith(_CLEAN) and right[n] != options.runs]
    if broken:
        print(f"not right without a fault: {', '.join(broken)}")
        return 1
    GPU_RESULTS.write_text(json.dumps({"gpu": gpu, "runs": options.runs, "right": right}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
