"""What the CPU emulator costs: headers, cache, compilation against nvcc, runs, memory.

    python docs/benchmarks/emulator_cost.py [CONFIG.yaml ...] [--repeat 3] [--json FILE]

From an empty cache. Compilers run in turn, alone; of the repeats the smallest counts, in seconds of the clock
and of the processor (their own and their children's), of which the latter says more on a busy machine. nvcc
is left out where there is none. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cutegen
from cutegen import emulator
from cutegen.emulator.host import HostToolchain, find_host_toolchain
from cutegen.emulator.prepare import prepare
from cutegen.emulator.rewrite.tree import rewrite_tree
from cutegen.errors import ToolchainError
from cutegen.reference import check, exact_inputs
from cutegen.toolchain import find_toolchain

ROOT = Path(__file__).parent.parent.parent
DEFAULT = ("multistage", "ampere_bf16", "sm80_bf16", "sm80_tf32")
RUNS = (("multistage", 256, 256, 128), ("ampere_bf16", 1024, 1024, 512))


def processor_seconds() -> float:
    """Processor time of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds of the clock and of the processor that something takes."""
    clock, processor = time.perf_counter(), processor_seconds()
    work()
    return {"clock": time.perf_counter() - clock, "processor": processor_seconds() - processor}


def least(trials: list[dict[str, float]]) -> dict[str, float]:
    """The smallest of each kind of seconds."""
    return {kind: round(min(t[kind] for t in trials), 3) for kind in ("clock", "processor")}


def rewriting(host: HostToolchain) -> dict[str, float]:
    """Rewriting all of CUTLASS's headers."""
    with tempfile.TemporaryDirectory() as scratch:
        return least([timed(lambda: rewrite_tree(host.cutlass, Path(scratch)))])


def megabytes(directory: Path) -> float:
    """What the files below a directory take."""
    return round(sum(p.stat().st_size for p in directory.rglob("*") if p.is_file()) / 1e6, 1)


def compiling(path: Path, repeat: int, scratch: Path) -> dict[str, Any]:
    """A resolved kernel through the emulator's compiler, everything else being ready, and through nvcc."""
    rendered = cutegen.render(cutegen.plan(cutegen.load(path)))
    emulated, compiled = [], []
    try:
        nvcc = find_toolchain()
    except ToolchainError:
        nvcc = None
    for number in range(repeat):
        other = replace(rendered, text=f"{rendered.text}\n// {number} {os.getpid()}\n")
        emulated.append(timed(partial(emulator.compile, other)))
        if nvcc is None:
            continue
        source = scratch / "kernel.cu"
        source.write_text(other.text, encoding="utf-8")
        code = rendered.arch.replace("sm_", "")
        command = [str(nvcc.nvcc.path), "-cubin", "-std=c++17", "--expt-relaxed-constexpr"]
        command += [f"-I{nvcc.cutlass.include}", *(f"-I{p}" for p in nvcc.nvcc.extra_includes)]
        command += ["-gencode", f"arch=compute_{code},code=sm_{code}", str(source), "-o", f"{source}bin"]
        compiled.append(timed(partial(subprocess.run, command, check=True)))
    found: dict[str, Any] = {"emulator": least(emulated)}
    if compiled:
        found["nvcc"] = least(compiled)
        found["ratio"] = {k: round(found["emulator"][k] / found["nvcc"][k], 2) for k in found["nvcc"]}
    return found


def running(name: str, m: int, n: int, k: int, repeat: int) -> dict[str, Any]:
    """A checked run in a process of its own, so that the largest memory is that of the run."""
    cutegen.build(ROOT / "examples" / f"{name}.yaml", device="cpu")  # so that no compiler runs in there
    words = [sys.executable, __file__, "--one", name, str(m), str(n), str(k), "--repeat", str(repeat)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def one_run(name: str, m: int, n: int, k: int, repeat: int) -> dict[str, Any]:
    """See :func:`running`."""
    kernel = cutegen.build(ROOT / "examples" / f"{name}.yaml", device="cpu")
    inputs = exact_inputs(kernel.config, m, n, k, with_c=False)
    found: dict[str, Any] = {"config": name, "m": m, "n": n, "k": k}
    for what, options in (
        ("sanitizer, all cores", {}),
        ("sanitizer, 1 process", {"processes": 1}),
        ("only computing, 1 process", {"processes": 1, "sanitize": False}),
    ):
        trials = []
        call = partial(kernel.emulate, inputs.a, inputs.b, b_is="nk", **options)
        for _ in range(repeat):
            trials.append(timed(call))
            if kernel.last_report is None or not kernel.last_report.clean:
                raise SystemExit(f"{name} is not clean")
        found[what] = least(trials)
    if not check(kernel.config, kernel(inputs.a, inputs.b, b_is="nk"), inputs.a, inputs.b).ok:
        raise SystemExit(f"{name}: wrong result")
    for whose, who in (("the emulator", resource.RUSAGE_CHILDREN), ("Python", resource.RUSAGE_SELF)):
        found[f"largest process of {whose}, MB"] = round(resource.getrusage(who).ru_maxrss / 1e3)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        name, *extents = words.one
        print(json.dumps(one_run(name, *map(int, extents), words.repeat)))
        return
    configs = words.configs or [ROOT / "examples" / f"{name}.yaml" for name in DEFAULT]
    host = find_host_toolchain()
    results: dict[str, Any] = {"compiler": host.version, "cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"
        os.environ["CUTEGEN_CACHE_DIR"] = str(cache)
        results["rewriting the headers"] = rewriting(host)
        for family, arch in (("sm_75 to sm_89", "sm_80"), ("sm_90 and later", "sm_90a")):
            results[f"preparing {family}"] = least([timed(partial(prepare, host, arch))])
        results["cache of all architectures, MB"] = megabytes(cache / "emulator")
        results["compiling"] = {p.stem: compiling(p, words.repeat, Path(scratch)) for p in configs}
        results["running"] = [running(*run, words.repeat) for run in RUNS]
    results["load"] = [round(x, 1) for x in os.getloadavg()]
    text = json.dumps(results, indent=2)
    print(text)
    if words.json is not None:
        words.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
