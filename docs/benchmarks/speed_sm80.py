"""Speed of the sm_80 mainloops against torch.mm, CUTLASS 2.x and any peer, in one run.

    python docs/benchmarks/speed_sm80.py [--peer NAME=FILE.cu ...] [--shapes 4096x4096x4096,...] [--json FILE]

A peer is a CUDA file with ``extern "C" int launch(void* d, void const* a, void const* b, int m, int n,
int k, void* stream)`` that computes D = A * B^T in bf16, all row-major. It is proved and measured as
``cutegen bench`` does it; in the end, the same kernels on shapes that end inside a tile, and on rows with a
pitch that is an odd multiple of 16 bytes. Ratios, not times, carry over.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import random
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch

import cutegen
from cutegen.bench.contestants import Contestant, own, peers
from cutegen.bench.gpu import TorchDevice
from cutegen.bench.operands import Operands, Tensors
from cutegen.bench.report import facts_lines, row_cells
from cutegen.bench.results import Row
from cutegen.bench.session import run_session
from cutegen.bench.shapes import read_shapes
from cutegen.bench.timing import STATES, Case, measure

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
ODD = ("128x128x64 s3", "256x128x64 s3")  # kernels that are measured on odd shapes


def config(**fields: object) -> cutegen.GemmConfig:
    """A bf16 config of feature level sm_80."""
    operand = {"dtype": "bf16"}
    return cutegen.GemmConfig(arch="sm_80", a=operand, b=operand, **fields)


def own_kernels() -> dict[str, cutegen.Kernel]:
    """The kernels of cutegen that take part, by name."""
    base = config(tile=(128, 128, 32), stages=3)
    resolved = {
        "resolved 128x128x32 s3": base,
        "128x128x64 s3": config(tile=(128, 128, 64), stages=3),
        "256x128x64 s3": config(tile=(256, 128, 64), stages=3),
        "128x256x64 s3": config(tile=(128, 256, 64), stages=3),
        "ampere_bf16": cutegen.load(ROOT / "examples/ampere_bf16.yaml"),
    }
    kernels = dict(zip(resolved, cutegen.build_many(list(resolved.values())), strict=True))
    return kernels | {"idiomatic 128x128x32 s3": cutegen.build(base, style="idiomatic")}


def compiled(files: dict[str, Path], operands: Operands, scratch: Path) -> list[Contestant]:
    """CUTLASS's tiles and the given files, compiled with nvcc, in parallel."""
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
    jobs |= {name: [str(path)] for name, path in files.items()}

    def compile_one(item: tuple[int, list[str]]) -> Path:
        index, arguments = item
        library = scratch / f"peer{index}.so"
        command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-std=c++17", "-O3", "--expt-relaxed-constexpr"]
        command += ["-gencode", "arch=compute_80,code=sm_90", f"-I{include}", *arguments, "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        return library

    with ThreadPoolExecutor(16) as pool:
        libraries = list(pool.map(compile_one, enumerate(jobs.values())))
    return [
        Contestant(name=name, operands=operands, bind=partial(bind, library))
        for name, library in zip(jobs, libraries, strict=True)
    ]


def bind(library: Path, t: Tensors) -> Callable[[], None]:
    """A launch of a peer."""
    function = ctypes.CDLL(str(library)).launch
    function.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int] * 3 + [ctypes.c_void_p]
    function.restype = ctypes.c_int
    m, k = t.a.shape
    stream = torch.cuda.current_stream().cuda_stream
    arguments = (t.d.data_ptr(), t.a.data_ptr(), t.b.data_ptr(), m, t.b.shape[0], k, stream)

    def launch() -> None:
        status = function(*arguments)
        if status:
            raise SystemExit(f"{library.name} returned {status}")

    return launch


def odd_tensors(size: int) -> dict[str, Tensors]:
    """Operands of shapes that end inside a tile, and with a padded row pitch."""

    def made(m: int, n: int, k: int, pad: int) -> Tensors:
        a = torch.randn(m, k + pad, device="cuda").bfloat16()[:, :k]
        b = torch.randn(n, k + pad, device="cuda").bfloat16()[:, :k]
        return Tensors(a=a, b=b, d=torch.empty(m, n + pad, device="cuda", dtype=torch.bfloat16)[:, :n])

    return {
        f"{size}^3": made(size, size, size, 0),
        f"{size}^3, rows padded by 8": made(size, size, size, 8),
        f"{size - 8}x{size - 24}x{size - 8}": made(size - 8, size - 24, size - 8, 0),
    }


def show(rows: Sequence[Row]) -> None:
    """One shape in one state."""
    print(f"\n{rows[0].shape} {rows[0].state}: us, TFLOP/s, GB/s, of floor, torch.mm / this")
    for row in sorted(rows, key=lambda row: row.us):
        print("  {:28s} {:>8} {:>6} {:>6} {:>12} {:>6}".format(*row_cells(row)))


def main() -> None:
    """Build, prove, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=FILE.cu")
    parser.add_argument("--shapes", default="4096x4096x4096,8192x8192x8192")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = {name: Path(path) for name, path in (item.split("=", 1) for item in options.peer)}

    kernels = own_kernels()
    mine = [own(name, kernel) for name, kernel in kernels.items()]
    operands = mine[0].operands
    device = TorchDevice()
    with tempfile.TemporaryDirectory() as scratch:
        others = compiled(files, operands, Path(scratch))
        contestants = [*peers(["torch"], mine)[0], *others, *mine]
        shapes = read_shapes(options.shapes)
        results = run_session(contestants, shapes, device, rounds=options.rounds, on_shape=show)
    print()
    for line in facts_lines(results):
        print(line)
    odd: dict[str, dict[str, float]] = {}
    for name in ODD:
        cases = [
            Case(name=what, launches=(kernels[name].plan(t.a, t.b, out=t.d, b_is="nk"),))
            for what, t in odd_tensors(4096).items()
        ]
        taken = measure(cases, device, STATES["hot"], rounds=options.rounds, rng=random.Random(0))
        odd[name] = {what: samples.median for what, samples in taken.items()}
        print(f"\nodd shapes, {name}: us")
        for what, us in odd[name].items():
            print(f"  {what:28s} {us:8.1f}")
    if options.json:
        options.json.write_text(json.dumps({**results.to_dict(), "odd": odd}, indent=1) + "\n")


if __name__ == "__main__":
    main()
