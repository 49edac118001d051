"""What the choice without a measured table loses against the quickest kernel of each shape.

    python docs/benchmarks/default_choice.py hopper_kernels.yaml=speed.csv few_rows.yaml=few.csv

Each argument is a matrix file and the CSV that ``cutegen bench`` made of it. The config that
``cutegen.choose.config_for(..., tuned=False)`` takes for a shape must be among its cases. Needs no GPU.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

from cutegen.choose import Card, Problem, config_for
from cutegen.config import GemmConfig
from cutegen.matrix import load_files
from cutegen.resolve import resolve

H200 = Card(cc=90, multiprocessors=132)
Key = tuple[int, int, int, str]


def kernels(path: Path) -> dict[GemmConfig, str]:
    """The name in a CSV of each resolved config of a matrix file."""
    cases = load_files([path]).cases
    return {plain(case.loaded.config): case.short for case in cases}


def plain(config: GemmConfig) -> GemmConfig:
    """The resolved config; a hint to L2 that is left out is the normal one."""
    full = resolve(config)
    hints = {w: full.operand(w).replace(cache=full.operand(w).cache or "normal") for w in ("a", "b")}
    return full.replace(**hints)


def times(path: Path) -> dict[Key, dict[str, float]]:
    """Microseconds by kernel of cutegen for each shape and state."""
    found: dict[Key, dict[str, float]] = defaultdict(dict)
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["own"] == "True":
                key = (int(row["m"]), int(row["n"]), int(row["k"]), row["state"])
                found[key][row["name"]] = float(row["us"])
    return found


def main() -> int:
    """Print the loss of each shape and state, and the means."""
    losses: dict[str, dict[tuple[int, int, int], float]] = defaultdict(dict)
    missing: set[Key] = set()
    for argument in sys.argv[1:]:
        matrix, _, measured = argument.partition("=")
        names = kernels(Path(matrix))
        element = next(iter(names)).a.dtype
        for (m, n, k, state), by_name in times(Path(measured)).items():
            problem = Problem(m=m, n=n, k=k, a=element, b=element)
            name = names.get(plain(config_for(problem, H200, tuned=False)), "")
            if name not in by_name:
                missing.add((m, n, k, state))
                continue
            best = min(by_name, key=lambda other: by_name[other])
            loss = by_name[name] / by_name[best]
            losses[state][m, n, k] = min(loss, losses[state].get((m, n, k), math.inf))
            print(f"{m}x{n}x{k} {state}: {name} {by_name[name]:.1f} us, {loss:.3f} of {best}")
    for state, found in losses.items():
        mean = math.exp(sum(map(math.log, found.values())) / len(found))
        worst = max(found.values())
        print(f"{state}: {mean:.3f} of the quickest on the mean of {len(found)} shapes, at most {worst:.3f}")
    missing -= {(*shape, state) for state, found in losses.items() for shape in found}
    for m, n, k, state in sorted(missing):
        print(f"{m}x{n}x{k} {state}: the choice was not measured")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
