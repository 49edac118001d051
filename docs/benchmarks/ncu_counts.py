"""Whether the emulator counts what a GPU counts: wavefronts of shared memory in whole kernels, against ncu.

    python docs/benchmarks/ncu_counts.py [CONFIG.yaml ...] [--emulated FILE] [--json FILE]

Each kernel runs once on the emulator and once under ``ncu`` (Nsight Compute, with access to the hardware
counters), on the same problem of whole tiles. Compared are wavefronts of loads and stores in shared memory,
and sectors of loads (those of cp.async too) and of stores in global memory. ``--emulated`` keeps the
emulator's counts in a file, or takes them from it if it is there: they can be made on another machine.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cutegen
from cutegen.reference import check, exact_inputs

ROOT = Path(__file__).parent.parent.parent
SHAPE = (384, 512, 128)  # whole tiles of all examples
METRICS = {
    "shared load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "global load": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global store": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}


def examples_here() -> list[Path]:
    """Every example that is one config, and those for Hopper."""
    folders = (ROOT / "examples", ROOT / "examples" / "hopper")
    return sorted(p for folder in folders for p in folder.glob("*.yaml") if "matrix" not in p.stem)


def emulated(path: Path) -> dict[str, int]:
    """The emulator's counts of one run."""
    kernel = cutegen.build(cutegen.load(path), device="cpu")
    run(kernel, None)
    report = kernel.last_report
    if report is None:
        raise SystemExit(f"{path}: no report")
    counts = dict.fromkeys(METRICS, 0)
    for t in report.traffic:
        if t.access != "cp.async":
            counts[f"{t.space} {'store' if t.access in ('stmatrix', 'store') else 'load'}"] += t.cost
        elif t.space == "global":  # the hardware counts what it reads with the loads
            counts["global load"] += t.cost
    return counts


def run(kernel: cutegen.Kernel, device: str | None) -> None:
    """One launch whose result is right."""
    inputs = exact_inputs(kernel.config, *SHAPE, with_c=False, device=device)
    out = kernel(inputs.a, inputs.b, b_is="nk", **inputs.vectors)
    check(kernel.config, out, inputs.a, inputs.b, **inputs.vectors).require()


def measured(paths: list[Path]) -> list[dict[str, int]]:
    """The hardware's counts of one launch of each under ncu."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name", "regex:^gemm_"]
    command += [
        "--metrics",
        ",".join(METRICS.values()),
        sys.executable,
        __file__,
        "--launch",
        *map(str, paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or len(lines) < 3:
        raise SystemExit(f"ncu failed\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    head, _, *launches = csv.reader(lines)
    if len(launches) != len(paths):
        raise SystemExit(f"{len(launches)} launches of {len(paths)} kernels")
    rows = [dict(zip(head, launch, strict=True)) for launch in launches]
    return [
        {name: int(float(row[metric].replace(",", ""))) for name, metric in METRICS.items()} for row in rows
    ]


def main() -> None:
    """Count on both, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--emulated", type=Path)
    parser.add_argument(
        "--only-emulate", action="store_true", help="no GPU: only write the emulator's counts"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--launch", type=Path, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch:
        for path in options.launch:
            run(cutegen.build(cutegen.load(path)), "cuda:0")
        return
    paths = options.configs or examples_here()
    examples = (ROOT / "examples").resolve()
    places = [path.resolve() for path in paths]
    names = {
        str(path.relative_to(examples).with_suffix("")) if path.is_relative_to(examples) else path.stem: path
        for path in places
    }
    kept: dict[str, Any] = {}
    if options.emulated and options.emulated.exists():
        kept = json.loads(options.emulated.read_text())
    ours = {name: kept.get(name) or emulated(path) for name, path in names.items()}
    if options.emulated:
        options.emulated.write_text(json.dumps(ours, indent=1) + "\n")
    if options.only_emulate:
        return
    cutegen.build_many([cutegen.load(path) for path in names.values()])  # side by side
    print(f"| kernel, {'x'.join(map(str, SHAPE))} | " + " | ".join(METRICS) + " |")
    print("|---" * (len(METRICS) + 1) + "|")
    both: dict[str, dict[str, dict[str, int]]] = {}
    for name, theirs in zip(names, measured(list(names.values())), strict=True):
        both[name] = {"emulator": ours[name], "ncu": theirs}
        if options.json:
            options.json.write_text(json.dumps(both, indent=1) + "\n")
        pairs = [(ours[name][m], theirs[m]) for m in METRICS]
        print(f"| {name} | {' | '.join(str(a) if a == b else f'{a} / {b}' for a, b in pairs)} |", flush=True)
    print("\nOne number: both count it. Two: the emulator's, and ncu's.")


if __name__ == "__main__":
    main()
