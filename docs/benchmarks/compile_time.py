"""Cold compile time: config to ``.so`` in the default style against ``nvcc -shared`` on what it stands for.

    python docs/benchmarks/compile_time.py [CONFIG.yaml ... | --hopper] [--repeat 3] [--first] [--json FILE]

That is the idiomatic text of the same config; with ``--hopper``, for mainloop tma_wgmma, the text of the
collective (CUTLASS) of the same types and schedule.

Both run in turn, alone; the smallest of the repeats counts. No kernel is in the cache, but what it keeps of
compilers and headers once for all kernels is, unless ``--first`` counts that, too. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cutegen
from cutegen.build import compile_kernel
from cutegen.toolchain import find_toolchain

ROOT = Path(__file__).parent.parent.parent
DEFAULT = ("multistage", "ampere_bf16", "sm80_bf16", "sm80_tf32")
HOPPER = ("pingpong", "cooperative", "e4m3")  # examples/hopper and examples/collective have both


def resolved(path: Path, *, first: bool) -> float:
    """Seconds from the config file to the library, in the default style; ``first``: of a new cache."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CUTEGEN_CACHE_DIR"] = cache
        if not first:
            find_toolchain()
        begin = time.perf_counter()
        compile_kernel(cutegen.render(cutegen.plan(cutegen.load(path))))
        return time.perf_counter() - begin


def plain_cute(path: Path) -> float:
    """Seconds of ``nvcc -shared`` on the idiomatic rendering, or on that of a collective."""
    toolchain = find_toolchain()
    config = cutegen.load(path)
    style = "resolved" if config.mainloop == "collective" else "idiomatic"
    kernel = cutegen.render(cutegen.plan(config), style=style)
    code = kernel.arch.replace("sm_", "")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "kernel.cu"
        source.write_text(kernel.text)
        command = [
            str(toolchain.nvcc.path),
            "-shared",
            "-Xcompiler",
            "-fPIC",
            "-std=c++17",
            "--expt-relaxed-constexpr",
        ]
        command += [
            f"-I{toolchain.cutlass.include}",
            *(f"-I{path}" for path in toolchain.nvcc.extra_includes),
        ]
        command += ["-gencode", f"arch=compute_{code},code=sm_{code}", "-lineinfo", "-cudart", "none"]
        begin = time.perf_counter()
        subprocess.run([*command, str(source), "-o", str(source.with_suffix(".so"))], check=True)
        return time.perf_counter() - begin


def main() -> None:
    """Measure and print one row a config."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--hopper", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--first", action="store_true", help="of a new cache, with nothing in it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    configs = options.configs or [ROOT / f"examples/{name}.yaml" for name in DEFAULT]
    pairs = [(path, path) for path in configs]
    if options.hopper:
        folders = [ROOT / "examples" / name for name in ("hopper", "collective")]
        pairs = [(folders[0] / f"{name}.yaml", folders[1] / f"{name}.yaml") for name in HOPPER]
    resolved(pairs[0][0], first=True)  # imports, and files that the system has not read yet
    rows = {}
    other = "collective" if options.hopper else "idiomatic"
    print(f"{'config':24s} {'resolved s':>10s} {f'{other} s':>12s} {'ratio':>6s}")
    for path, peer in pairs:
        own, plain = [], []
        for _ in range(options.repeat):
            own.append(resolved(path, first=options.first))
            plain.append(plain_cute(peer))
        rows[path.stem] = {"resolved": min(own), other: min(plain), "ratio": min(own) / min(plain)}
        print(f"{path.stem:24s} {min(own):10.2f} {min(plain):12.2f} {min(own) / min(plain):6.3f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
