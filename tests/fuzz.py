"""Compile random legal configs: an accepted config must never fail in nvcc.

    python -m tests.fuzz --count 300 --seed 0

Half of the configs leave most fields to cutegen, half spell out every field. Each failure prints the
config and a one-line repro. ``tests/gpu/test_fuzz.py`` runs configs of the same kinds on a GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from random import Random

import cutegen
from cutegen.build import Artifact, compile_many
from cutegen.config import GemmConfig
from cutegen.loader import dump
from tests.support.config_gen import explicit_config, legal_config


def accepted(seed: int) -> GemmConfig:
    """The legal config of a seed: even seeds leave fields out, odd ones spell them out."""
    rng = Random(seed)
    if seed % 2 == 0:
        return legal_config(rng)
    while True:
        config = explicit_config(rng)
        if not cutegen.check(config):
            return config


def compile_seeds(seeds: range, jobs: int | None = None) -> list[tuple[int, Artifact | Exception]]:
    """Compile the config of each seed for its own architecture."""
    kernels = [cutegen.render(cutegen.plan(accepted(seed))) for seed in seeds]
    return list(zip(seeds, compile_many(kernels, jobs=jobs), strict=True))


def main() -> int:
    """Compile and report; 1 when a config failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    begin = time.perf_counter()
    failures = spilled = 0
    for seed, outcome in compile_seeds(range(options.seed, options.seed + options.count), options.jobs):
        if isinstance(outcome, Artifact):
            spilled += outcome.resources.spill_stores > 0
            continue
        failures += 1
        print(f"--- seed {seed}: {outcome}\n{dump(accepted(seed))}")
        print(f"repro: python -m tests.fuzz --count 1 --seed {seed}")
    seconds = time.perf_counter() - begin
    print(f"{options.count} configs, {failures} failed, {spilled} spill registers, {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
