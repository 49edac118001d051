"""The road from a naive tensor-core kernel to the vendor's speed: every step in one run, and a picture of it.

    python docs/benchmarks/road.py [--shapes 2048x2048x2048,...] [--state cool] [--svg FILE] [--json FILE]

The steps are those that tutorials take: fragments straight from global memory, shared memory, a ring of
stages, a well-made Ampere kernel, Hopper's bulk copies and warpgroup MMA. Each is proved, then measured as
``cutegen bench`` measures, with torch.mm on the same types. Needs a GPU; steps that it cannot run are left
out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cutegen
from cutegen.bench.results import Results, Row
from cutegen.pictures import svg

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the road.

    Attributes:
        name: What it is called.
        file: The config, below examples.
        adds: What is new in it.
        claim: What tutorials say of its speed.
    """

    name: str
    file: str
    adds: str
    claim: str


STEPS = (
    Step(
        name="direct",
        file="simple.yaml",
        adds="tensor cores fed from global memory",
        claim="very slow",
    ),
    Step(
        name="shared memory",
        file="smem.yaml",
        adds="one swizzled buffer, cp.async, ldmatrix",
        claim="in the middle",
    ),
    Step(
        name="three stages",
        file="multistage.yaml",
        adds="copies run under the products",
        claim="the quickest of these three",
    ),
    Step(
        name="Ampere bf16",
        file="ampere_bf16.yaml",
        adds="eight warps on a 128x128 tile",
        claim="0.80 to 0.90 of cuBLAS, on an A100",
    ),
    Step(
        name="Ampere, large tile",
        file="sm90_bf16.yaml",
        adds="128x256x64, warps of 64x64",
        claim="",
    ),
    Step(
        name="Hopper, plain",
        file="hopper/single.yaml",
        adds="TMA and wgmma, one consumer warpgroup",
        claim="",
    ),
    Step(
        name="Hopper, cooperative",
        file="hopper/cooperative.yaml",
        adds="two warpgroups share a tile, persistent",
        claim="close to the peak",
    ),
    Step(
        name="Hopper, pingpong",
        file="hopper/pingpong.yaml",
        adds="one stores while the other multiplies",
        claim="close to the peak",
    ),
)
VENDOR = "torch.mm"

_LEFT, _MARGIN, _ROW, _BAR, _GUTTER, _WIDTH = 300.0, 24.0, 40.0, 17.0, 20.0, 1080.0


def vendor_rows(results: Results, shape: object, state: str) -> list[Row]:
    """torch.mm on the types of the steps, bf16 the last."""
    rows = [r for r in results.rows if r.reference and (r.shape, r.state) == (shape, state)]
    return sorted(rows, key=lambda row: row.operands == "bf16")


def rate(results: Results, shape: object, state: str, name: str) -> Row | None:
    """The row of a step, if it took part."""
    return next((r for r in results.rows if (r.shape, r.state, r.name) == (shape, state, name)), None)


def table(results: Results, state: str) -> list[str]:
    """The road in Markdown: TFLOP/s of each step and shape, and the share of torch.mm on the same types."""
    shapes = results.shapes()
    lines = [
        f"| step | adds | {' | '.join(map(str, shapes))} | said of it |",
        "|" + "---|" * (3 + len(shapes)),
    ]
    for step in STEPS:
        cells = []
        for shape in shapes:
            row = rate(results, shape, state, step.name)
            cells.append("" if row is None else f"{row.tflops:.0f} ({row.ratio or 0:.2f})")
        if any(cells):
            lines.append(f"| {step.name} | {step.adds} | {' | '.join(cells)} | {step.claim} |")
    for place, name in enumerate(
        dict.fromkeys(r.name for s in shapes for r in vendor_rows(results, s, state))
    ):
        cells = [f"{vendor_rows(results, shape, state)[place].tflops:.0f} (1)" for shape in shapes]
        lines.append(f"| {name} | | {' | '.join(cells)} | |")
    return lines


def picture(results: Results, state: str) -> str:
    """The road as SVG: a row for each step, a column for each shape, bars of TFLOP/s on one scale."""
    shapes = results.shapes()
    steps = [s for s in STEPS if any(rate(results, shape, state, s.name) for shape in shapes)]
    column = (_WIDTH - _MARGIN - _LEFT - _GUTTER * len(shapes)) / max(len(shapes), 1)
    most = max((row.tflops for row in results.rows if row.state == state), default=1.0)
    scale = (column - 64) / most
    top = 124.0
    bottom = top + _ROW * (len(steps) + 1)
    facts = results.facts
    body = [
        svg.text(_MARGIN, 40, "The road to the vendor's speed", "title"),
        svg.text(
            _MARGIN, 60, "TFLOP/s of each step, and how much that is of torch.mm on the same types", "soft"
        ),
        svg.text(
            _MARGIN, 78, f"{facts.gpu}, CUDA {facts.cuda}, torch {facts.torch}; {state}, medians", "soft"
        ),
    ]
    for number, step in enumerate(steps):
        y = top + number * _ROW
        body.append(svg.text(_MARGIN, y + 10, step.name, "strong"))
        body.append(svg.text(_MARGIN, y + 25, step.adds, "soft"))
    y = top + len(steps) * _ROW
    body.append(svg.text(_MARGIN, y + 10, VENDOR, "strong"))
    body.append(svg.text(_MARGIN, y + 25, "cuBLAS, bf16", "soft"))
    for place, shape in enumerate(shapes):
        x = _LEFT + place * (column + _GUTTER)
        vendor = vendor_rows(results, shape, state)
        body.append(svg.text(x, top - 18, str(shape), "strong"))
        body.append(svg.line(x, top - 8, x, bottom - 6))
        if vendor:
            end = x + vendor[-1].tflops * scale
            body.append(svg.line(end, top - 8, end, bottom - 6, "mark"))
        for number, step in enumerate(steps):
            row = rate(results, shape, state, step.name)
            if row is not None:
                kind = "own" if step.file.startswith("hopper/") else "second"
                body += _bar(x, top + number * _ROW, row, scale, kind)
        if vendor:
            body += _bar(x, y, vendor[-1], scale, "peer")
    names = ", ".join(step.name for step in steps)
    sizes = ", ".join(map(str, shapes))
    described = f"TFLOP/s of {names} and {VENDOR} on {sizes}, on {facts.gpu}."
    return svg.document(_WIDTH, bottom + 24, "The road to the vendor's speed", described, body)


def _bar(x: float, y: float, row: Row, scale: float, kind: str) -> list[str]:
    tip = f"{row.name}, {row.shape}: {row.us:.1f} us, {row.tflops:.0f} TFLOP/s"
    words = f"{row.tflops:.0f}"
    end = x + row.tflops * scale + 6
    parts = [
        svg.bar(x, y, row.tflops * scale, _BAR, kind, tip),
        svg.text(end, y + 13, words, "num strong halo"),
    ]
    if row.ratio is not None and not row.reference:
        parts.append(svg.text(end + svg.text_width(words) + 8, y + 13, f"{row.ratio:.2f}", "num soft halo"))
    return parts


def runs_here(config: cutegen.GemmConfig, cc: int) -> bool:
    """Whether a GPU of this compute capability has the features of a config."""
    from cutegen.arch import arch

    level = arch(config.arch)
    return level.cc == cc if level.name.endswith("a") else level.cc <= cc


def measured(shapes: str, states: Sequence[str], rounds: int) -> Results:
    """Build, prove and time all steps that this GPU runs."""
    from cutegen.bench.contestants import own, peers
    from cutegen.bench.gpu import TorchDevice
    from cutegen.bench.session import run_session
    from cutegen.bench.shapes import read_shapes
    from cutegen.device import gpus

    if not gpus():
        raise SystemExit("road.py needs a GPU")
    configs = {step.name: cutegen.load(EXAMPLES / step.file) for step in STEPS}
    configs = {name: config for name, config in configs.items() if runs_here(config, gpus()[0].cc)}
    kernels = cutegen.build_many(list(configs.values()))
    mine = [own(name, kernel) for name, kernel in zip(configs, kernels, strict=True)]
    others, _ = peers(["torch"], mine)
    return run_session(
        [*others, *mine],
        read_shapes(shapes),
        TorchDevice(),
        states=states,  # type: ignore[arg-type]
        rounds=rounds,
    )


def main() -> None:
    """Measure, print and draw."""
    from cutegen.bench.report import facts_lines

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", default="2048x2048x2048,4096x4096x4096,8192x8192x8192")
    parser.add_argument("--state", default="cool", choices=("cool", "hot"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = measured(options.shapes, [options.state], options.rounds)
    print("\n".join([*table(results, options.state), "", *facts_lines(results)]))
    if options.svg:
        options.svg.write_text(picture(results, options.state), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(results.to_dict(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
