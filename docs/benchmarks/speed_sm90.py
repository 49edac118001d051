"""Speed of ``tma_wgmma`` against torch.mm over shapes of language models, in one run, on a Hopper GPU.

    python docs/benchmarks/speed_sm90.py [--only 4096x4096x4096,...] [--rounds N] [--json FILE]

Every kernel is first checked on integers, at sizes with partial tiles. Then torch.mm, at the first and at
the last place, and all kernels are timed in turn, each launch after a flush of the L2 cache: ``hot`` back to
back, ``cool`` after an idle pause. Printed are medians, and for each shape the best kernel and its ratio to
the last torch.mm.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path

import torch
from speed_sm80 import measure

import cutegen

SHAPES = (  # M, N, K
    (8192, 8192, 8192),
    (4096, 4096, 4096),
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (4096, 7168, 2048),
    (4096, 2112, 7168),
    (4096, 24576, 1536),
    (4096, 7168, 16384),
    (2048, 8192, 28672),
    (512, 10240, 8192),
    (128, 7168, 16384),
    (64, 24576, 1536),
    (64, 2112, 7168),
    (64, 7168, 2048),
    (16, 8192, 8192),
    (16, 57344, 8192),
    (1, 8192, 8192),
)
Run = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]


def config(tile: tuple[int, int, int], **fields: object) -> cutegen.GemmConfig:
    """A bf16 config of ``tma_wgmma``."""
    operand = {"dtype": "bf16"}
    return cutegen.GemmConfig(arch="sm_90a", mainloop="tma_wgmma", a=operand, b=operand, tile=tile, **fields)  # type: ignore[arg-type]


def own_configs() -> dict[str, cutegen.GemmConfig]:
    """The kernels that take part."""
    found = {
        f"pingpong 128x{n}": config((128, n, 64), schedule="pingpong") for n in (64, 128, 160, 176, 192, 208)
    }
    found |= {
        "cooperative 128x256": config((128, 256, 64), schedule="cooperative"),
        "cooperative 128x256, cluster 2x1": config((128, 256, 64), schedule="cooperative", cluster=(2, 1, 1)),
        "cooperative 128x256, group 16": config(
            (128, 256, 64), schedule="cooperative", scheduler={"group": 16}
        ),
        "cooperative 256x128, cluster 1x2": config((256, 128, 64), cluster=(1, 2, 1)),
        "cooperative 256x160": config((256, 160, 64)),
        "cooperative 192x176": config((192, 176, 64)),
        "pingpong 64x64": config((64, 64, 64), schedule="pingpong"),
        "pingpong 64x128": config((64, 128, 64), schedule="pingpong"),
        "pingpong 64x256": config((64, 256, 64), schedule="pingpong"),
        "cooperative 64x64, BLK_K 128": config((64, 64, 128), schedule="cooperative"),
    }
    return found


def build() -> dict[str, Run]:
    """Build all in parallel."""
    items = own_configs()
    kernels = cutegen.build_many(list(items.values()))

    def run(kernel: cutegen.Kernel, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> object:
        return kernel(a, b, out=d, b_is="nk")

    return {name: partial(run, kernel) for name, kernel in zip(items, kernels, strict=True)}


def check(name: str, run: Run) -> None:
    """Exact on small integers, over an output of NaN."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    for m, n, k in ((256, 512, 64), (1000, 1064, 200), (300, 2112, 512)):
        a, b = (torch.randint(-2, 3, (x, k), device="cuda", generator=generator).bfloat16() for x in (m, n))
        d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        run(a, b, d)
        if not torch.equal(d, (a.double() @ b.double().t()).bfloat16()):
            raise SystemExit(f"{name} is wrong at {m}x{n}x{k}")


def main() -> None:
    """Build, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="MxNxK,...")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shapes = [tuple(map(int, s.split("x"))) for s in options.only.split(",") if s] or SHAPES

    own = build()
    for name, run in own.items():
        check(name, run)
    torch_run: Run = lambda a, b, d: torch.mm(a, b.t(), out=d)  # noqa: E731
    runs: dict[str, Run] = {"torch.mm first": torch_run, **own, "torch.mm": torch_run}
    print(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}")
    print("empty event pair: {:.1f} us".format(measure({"empty": lambda: None}, 9, False)["empty"]))
    results: dict[str, dict[str, float]] = {}
    table = []
    for m, n, k in shapes:
        a, b = torch.randn(m, k, device="cuda").bfloat16(), torch.randn(n, k, device="cuda").bfloat16()
        d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        bound = {name: partial(run, a, b, d) for name, run in runs.items()}
        row = [f"{m}x{n}x{k}"]
        for cool in (True, False):
            times = measure(bound, options.rounds, cool)
            results[f"{m}x{n}x{k} {'cool' if cool else 'hot'}"] = times
            best = min(own, key=times.__getitem__)
            rate = 2 * prod((m, n, k)) / times[best] / 1e6
            row += [f"{times['torch.mm']:.1f}", f"{times[best]:.1f}", f"{rate:.0f}"]
            row += [f"{times['torch.mm'] / times[best]:.3f}", best]
        table.append(row)
        print("  ".join(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    columns = ["torch us", "ours us", "TFLOP/s", "ratio", "kernel"]
    head = [f"{column}, {state}" for state in ("cool", "hot") for column in columns]
    print(f"\n| shape | {' | '.join(head)} |")
    print("|" + "---|" * 11)
    for row in table:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
