"""Launch kernels of every mainloop on awkward shapes, for compute-sanitizer to watch.

    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck --error-exitcode 9 \\
        python -m tests.gpu.sanitize [--all] [--mainloop NAME...] [--variant GLOB...] [--shard i/n] \\
            [--cache DIR] [--build-only]

Tools: memcheck, racecheck, initcheck, synccheck. Each tensor is an allocation of its own, so that a read
past its end shows.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

import torch

from cutegen.building import build_many
from cutegen.cache import open_cache
from cutegen.resolve import resolve
from tests.support.gpu import all_cases, fits, gemm_config, run_exact, runs_wgmma
from tests.support.wgmma_variants import VARIANTS

SHAPES = [
    (136, 136, 72),
    (10, 24, 40),
    (128, 128, 128),
    (1, 1, 1),
    (7, 100, 16),
    (130, 66, 200),
    (65, 129, 0),
    (304, 208, 176),  # rows of 16 bytes, for bulk copies
]


def main() -> int:
    """Build, launch and compare; the comparison also keeps the results from being optimised away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every type and layout, not one of each mainloop")
    parser.add_argument("--cache", help="cache of kernels that are built already")
    parser.add_argument("--mainloop", nargs="*", help="kernels of these mainloops alone")
    parser.add_argument("--variant", nargs="*", help="only these of tests/support/wgmma_variants.py")
    parser.add_argument("--shard", default="1/1", metavar="i/n", help="every n-th kernel, from the i-th")
    parser.add_argument("--build-only", action="store_true", help="fill the cache, and launch nothing")
    options = parser.parse_args()
    configs = [
        gemm_config("f16", d="f16", mainloop=mainloop, align=align, majors=majors, **fields)
        for mainloop in ("multistage", "direct", "simt")
        for align, majors in ((16, "kkn"), (2, "mnm"))
        for fields in ({}, {"epilogue": {"store": "direct"}})
    ]
    configs += [gemm_config("f16", d="f16", stages=stages, align=2) for stages in (1, 2, 4)]
    configs += [gemm_config("f16", d="f16", arch="sm_75", align=2), gemm_config("s8", align=4)]
    if runs_wgmma():
        configs += VARIANTS.values()
    if options.all:
        configs += [case.config for case in all_cases()]
    if options.variant:
        configs = [c for name, c in VARIANTS.items() if any(fnmatch(name, glob) for glob in options.variant)]
    if options.mainloop:
        configs = [c for c in configs if resolve(c).mainloop in options.mainloop]
    index, count = map(int, options.shard.split("/"))
    configs = configs[index - 1 :: count]
    kernels = build_many(configs, cache=open_cache(Path(options.cache)) if options.cache else None)
    if options.build_only:
        return 0
    launches = 0
    for kernel in kernels:
        for shape in SHAPES:
            if fits(kernel.config, *shape):
                for beta in (0, 1):
                    run_exact(kernel, *shape, beta=beta)
                    launches += 1
        torch.cuda.synchronize()
        print(f"{kernel.name}: right", flush=True)  # noqa: T201  # what was seen when time runs out
    sys.stdout.write(f"{len(kernels)} kernels, {launches} launches, all right\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
