"""Speed of the sm_80 mainloops against torch.mm, CUTLASS 2.x and any peer, in one run.

    python docs/benchmarks/speed_sm80.py [--peer NAME=FILE.cu ...] [--sizes 4096,8192] [--json FILE]

A peer is a CUDA file with ``extern "C" int launch(void* d, void const* a, void const* b, int m, int n,
int k, void* stream)`` that computes D = A * B^T in bf16, all row-major. Every kernel is first checked on
integers. Then all are timed in turn, each launch after a flush of the L2 cache and (``cool``) an idle
pause; the medians are printed, and the cost of an empty event pair. Ratios, not times, carry over.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch

import cutegen

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CUTLASS_TILES = (  # threadblock, warp, stages: the tiles of CUTLASS's own sm_80 library
    (256, 128, 32, 64, 64, 3),
    (128, 256, 32, 64, 64, 3),
    (256, 128, 64, 64, 64, 3),
    (128, 256, 64, 64, 64, 3),
    (128, 128, 32, 64, 64, 4),
    (128, 128, 64, 64, 64, 3),
    (256, 64, 64, 64, 64, 4),
    (128, 128, 32, 64, 64, 5),
)
Run = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]


def config(**fields: object) -> cutegen.GemmConfig:
    """A bf16 config of feature level sm_80."""
    operand = {"dtype": "bf16"}
    return cutegen.GemmConfig(arch="sm_80", a=operand, b=operand, **fields)  # type: ignore[arg-type]


def own_configs() -> dict[str, tuple[cutegen.GemmConfig, str]]:
    """The kernels of cutegen that take part: name to config and style."""
    base = config(tile=(128, 128, 32), stages=3)
    return {
        "resolved 128x128x32 s3": (base, "resolved"),
        "idiomatic 128x128x32 s3": (base, "idiomatic"),
        "128x128x64 s3": (config(tile=(128, 128, 64), stages=3), "resolved"),
        "256x128x64 s3": (config(tile=(256, 128, 64), stages=3), "resolved"),
        "128x256x64 s3": (config(tile=(128, 256, 64), stages=3), "resolved"),
        "ampere_bf16": (cutegen.load(ROOT / "examples/ampere_bf16.yaml"), "resolved"),
    }


def build_own() -> dict[str, Run]:
    """Build all of them in parallel."""
    runs: dict[str, Run] = {}
    items = own_configs()

    def build(item: tuple[cutegen.GemmConfig, str]) -> cutegen.Kernel:
        return cutegen.build(item[0], style=item[1])  # type: ignore[arg-type]

    with ThreadPoolExecutor(8) as pool:
        kernels = list(pool.map(build, items.values()))
    for name, kernel in zip(items, kernels, strict=True):
        runs[name] = lambda a, b, d, kernel=kernel: kernel(a, b.t(), out=d)  # type: ignore[misc]
    return runs


def build_peers(peers: dict[str, Path], scratch: Path) -> dict[str, Run]:
    """Compile CUTLASS's tiles and the given files with nvcc, in parallel."""
    spec = importlib.util.find_spec("cutlass_library")
    if spec is None or spec.origin is None:
        raise SystemExit("install nvidia-cutlass")
    include = Path(spec.origin).parent / "source" / "include"
    jobs: dict[str, list[str]] = {}
    for tile in CUTLASS_TILES:
        names = ("TB_M", "TB_N", "TB_K", "WARP_M", "WARP_N", "STAGES")
        defines = [f"-D{name}={value}" for name, value in zip(names, tile, strict=True)]
        label = "cutlass {}x{}x{} s{}".format(*tile[:3], tile[5])
        jobs[label] = [*defines, str(HERE / "cutlass_sm80.cu")]
    jobs |= {name: [str(path)] for name, path in peers.items()}

    def compile_one(item: tuple[int, list[str]]) -> Path:
        index, arguments = item
        library = scratch / f"peer{index}.so"
        command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-std=c++17", "-O3", "--expt-relaxed-constexpr"]
        command += ["-gencode", "arch=compute_80,code=sm_90", f"-I{include}", *arguments, "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        return library

    with ThreadPoolExecutor(16) as pool:
        libraries = list(pool.map(compile_one, enumerate(jobs.values())))
    return {name: _bind(library) for name, library in zip(jobs, libraries, strict=True)}


def _bind(library: Path) -> Run:
    launch = ctypes.CDLL(str(library)).launch
    launch.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int] * 3 + [ctypes.c_void_p]
    launch.restype = ctypes.c_int

    def run(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
        m, k = a.shape
        stream = torch.cuda.current_stream().cuda_stream
        status = launch(d.data_ptr(), a.data_ptr(), b.data_ptr(), m, b.shape[0], k, stream)
        if status:
            raise SystemExit(f"{library.name} returned {status}")

    return run


def check(name: str, run: Run) -> None:
    """Exact on small integers, over an output of NaN."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    a, b = (torch.randint(-1, 2, (512, 256), device="cuda", generator=generator).bfloat16() for _ in "ab")
    d = torch.full((512, 512), float("nan"), device="cuda", dtype=torch.bfloat16)
    run(a, b, d)
    if not torch.equal(d.double(), a.double() @ b.double().t()):
        raise SystemExit(f"{name} is wrong")


def measure(runs: dict[str, Callable[[], object]], rounds: int, cool: bool) -> dict[str, float]:
    """Median microseconds of each, interleaved."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            flush.zero_()
            if cool:
                torch.cuda.synchronize()
                time.sleep(0.008)
            torch.cuda._sleep(300_000)  # hides the host's launch latency
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in "be")
            begin.record()
            run()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1e3)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def odd_shapes(size: int) -> dict[str, tuple[int, int, int, int]]:
    """(M, N, K, row padding): shapes that end inside a tile, and a padded row pitch."""
    return {
        f"{size}^3": (size, size, size, 0),
        f"{size}^3, rows padded by 8": (size, size, size, 8),
        f"{size - 8}x{size - 24}x{size - 8}": (size - 8, size - 24, size - 8, 0),
    }


def tensors(m: int, n: int, k: int, pad: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random A, B and an output."""
    a = torch.randn(m, k + pad, device="cuda").bfloat16()[:, :k]
    b = torch.randn(n, k + pad, device="cuda").bfloat16()[:, :k]
    return a, b, torch.empty(m, n + pad, device="cuda", dtype=torch.bfloat16)[:, :n]


def main() -> None:
    """Build, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=FILE.cu")
    parser.add_argument("--sizes", default="4096,8192")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--scratch", type=Path, default=Path("/tmp"))
    options = parser.parse_args()
    peers = dict(item.split("=", 1) for item in options.peer)

    runs: dict[str, Run] = {"torch.mm": lambda a, b, d: torch.mm(a, b.t(), out=d)}
    with ThreadPoolExecutor(2) as pool:
        own = pool.submit(build_own)
        others = pool.submit(build_peers, {name: Path(path) for name, path in peers.items()}, options.scratch)
        runs |= own.result() | others.result()
    for name, run in runs.items():
        check(name, run)

    print(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}")
    print("empty event pair: {:.1f} us".format(measure({"empty": lambda: None}, 9, False)["empty"]))
    results: dict[str, dict[str, float]] = {}
    for size in (int(s) for s in options.sizes.split(",")):
        a, b, d = tensors(size, size, size, 0)
        for cool in (False, True):
            bound = {name: partial(run, a, b, d) for name, run in runs.items()}
            results[f"{size} {'cool' if cool else 'hot'}"] = measure(
                bound, options.rounds if size < 8000 else options.rounds // 2, cool
            )
    for column, times in results.items():
        size = int(column.split()[0])
        print(f"\n{column}: us, TFLOP/s, torch.mm / this")
        for name, us in sorted(times.items(), key=lambda item: item[1]):
            rate = 2 * size**3 / us / 1e6
            print(f"  {name:28s} {us:8.1f} {rate:6.0f} {times['torch.mm'] / us:6.3f}")
    for size in (4096,):
        cases = {name: tensors(*shape) for name, shape in odd_shapes(size).items()}
        for own in ("128x128x64 s3", "256x128x64 s3"):
            bound = {name: partial(runs[own], *t) for name, t in cases.items()}
            times = measure(bound, options.rounds, False)
            results[f"odd {own}"] = times
            print(f"\nodd shapes, {own}: us")
            for name, us in times.items():
                print(f"  {name:28s} {us:8.1f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
