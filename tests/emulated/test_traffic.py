"""The costs that ``cutegen explain`` predicts from layouts are what the emulator counts from addresses.

``CUTEGEN_TRAFFIC_CONFIGS=300 pytest tests/emulated/test_traffic.py`` compares so many random configs, from
seed ``CUTEGEN_TRAFFIC_SEED`` on.
"""

from __future__ import annotations

import os
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import pytest

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.emulator import EmulatorReport
from cutegen.fuzz.generate import PARTITIONED, odd_config
from cutegen.layout.banks import cp_async_ca_wavefronts
from cutegen.lint.traffic import accesses, targets, warps
from cutegen.loader import load
from cutegen.plan import KernelPlan, plan
from cutegen.rules import check
from cutegen.vectors import vectors_of
from tests.support.cases import config
from tests.support.emulated import Problem, kernel_of
from tests.support.wgmma_variants import VARIANTS

pytestmark = pytest.mark.emulated

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [path.stem for path in sorted(EXAMPLES.glob("*.yaml")) if "matrix" not in path.stem]
COUNT = int(os.environ.get("CUTEGEN_TRAFFIC_CONFIGS", "4"))
SEED = int(os.environ.get("CUTEGEN_TRAFFIC_SEED", "0"))
Costs = dict[tuple[str, str, str, int], tuple[int, int, int]]


def counted(report: EmulatorReport, planned: KernelPlan) -> Costs:
    """Requests, cost and ideal cost by space, kind, tensor where it is known, and width.

    Where the compiler loads neighbouring elements of a vector at once, they count one by one.
    """
    vectors = {vector.name: vector.element.bytes for vector in vectors_of(planned.config)}
    sums: Costs = defaultdict(lambda: (0, 0, 0))
    for t in report.traffic:
        kind, _, operand = t.kind.partition(" ")
        tensor = operand or (t.tensor if t.space == "global" else "D")
        width = vectors.get(tensor, t.bytes)
        times = t.bytes // width
        key = (t.space, kind, tensor, width)
        have = sums[key]
        sums[key] = (have[0] + times * t.requests, have[1] + times * t.cost, have[2] + times * t.ideal)
    return dict(sums)


def predicted(
    planned: KernelPlan, leading: dict[str, int], m_tiles: int, n_tiles: int, k_tiles: int
) -> Costs:
    """All costs of a launch: the sum over its tiles and, of the loads, over their k-tiles."""
    blk_m, blk_n, blk_k = planned.tile
    sums: Costs = defaultdict(lambda: (0, 0, 0))
    for i, j, t in product(range(m_tiles), range(n_tiles), range(k_tiles)):
        found = of_a_tile(planned, leading, (i * blk_m, j * blk_n, t * blk_k), first=t == 0)
        for key, costs in found.items():
            sums[key] = tuple(map(sum, zip(sums[key], costs, strict=True)))  # type: ignore[assignment]
    return dict(sums)


def of_a_tile(
    planned: KernelPlan, leading: dict[str, int], origin: tuple[int, int, int], *, first: bool
) -> Costs:
    """What one k-tile costs; the first one with what its output tile costs."""
    sums: Costs = {}
    for access in accesses(planned, leading, origin):
        kind, tensor = access.name.split()
        if access.space == "global" and not access.op.startswith("cp.async"):
            kind = "R2G" if access.op == "store" else "G2R"
        times = Fraction(first or access.per == "k-tile")
        if (
            kind == "S2R" and planned.double_buffer and first
        ):  # the last turn fetches the k-block of a next one
            times += Fraction(1, planned.a.fragments.k_blocks)
        sum_of = [int(times * one) for one in (access.requests, access.cost, access.ideal)]
        if kind == "G2S" and access.space == "shared" and first:  # the last turns fill the ring with zeros
            turns = (planned.config.stages or 1) - 1
            cost, ideal = access.cost, access.ideal
            if access.op == "cp.async.ca":
                cost, ideal = zeros(planned, tensor)
            filled = (access.requests, cost, ideal)
            sum_of = [one + turns * more for one, more in zip(sum_of, filled, strict=True)]
        if times:
            sums[access.space, kind, tensor, access.bytes] = (sum_of[0], sum_of[1], sum_of[2])
    return sums


def zeros(planned: KernelPlan, tensor: str) -> tuple[int, int]:
    """Wavefronts of a k-tile of cp.async.ca that reads nothing: its lanes have no line to differ by."""
    operand = planned.a if tensor == "A" else planned.b
    assert operand.copy.view is not None
    width = operand.copy.vector * dtype(planned.config.operand(operand.which).dtype).bytes
    requests = warps(targets(planned, operand, operand.copy.view))
    cost = sum(cp_async_ca_wavefronts(request, [0] * len(request), width) for request in requests)
    return cost, sum(-(-len(request) * width // 128) for request in requests)


def compare(given: GemmConfig, k_tiles: int = 6) -> None:
    planned = plan(given)
    m, n, k = planned.tile
    problem = Problem(given, 2 * m, 3 * n, k_tiles * k)
    report = problem.run(kernel_of(given))
    assert problem.exact
    leading = {
        name: max(s // x.itemsize for s in x.strides)
        for name, x in (("a", problem.a), ("b", problem.b), ("d", problem.d))
    }
    assert predicted(planned, leading, 2, 3, k_tiles) == counted(report, planned)


PLAIN = {"shape": [8, 32], "stride": [32, 1]}
CONFLICTS = {
    "no swizzle, copies down the rows": {
        "tile": [64, 128, 32],
        "smem.a": PLAIN,
        "g2s.b": {"threads": {"shape": [128, 1]}, "values": {"shape": [1, 8]}, "bits": 128},
    },
    "narrow copies through L1, plain loads": {
        "smem.a": {**PLAIN, "swizzle": [1, 3, 3]},
        "g2s": {"a": {"bits": 64}, "b": {"bits": 32}},
        "s2r": {"a": "UniversalCopy", "b": "UniversalCopy"},
        "epilogue.store": "direct",
    },
    "copies through registers, f32 by columns": {
        "g2s.a": {"atom": "UniversalCopy", "bits": 32},
        "smem.a": {"shape": [8, 32], "stride": [40, 1]},
        "d": {"dtype": "f32", "major": "m"},
        "epilogue.store": "smem",
    },
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicts(name: str) -> None:
    given = config({"tile": [64, 64, 32], "tiled_mma.layout": [2, 2, 1], "stages": 2} | CONFLICTS[name])
    assert any(access.degree > 1 for access in accesses(plan(given))) or "registers" in name
    compare(given)


@pytest.mark.parametrize("name", ["registers_along_n", "registers_atoms", "swapped_registers_pingpong"])
def test_loads_into_registers_of_tma_wgmma(name: str) -> None:
    planned = plan(VARIANTS[name])
    m, n, k = planned.tile
    problem = Problem(VARIANTS[name], 2 * m, 4 * n, 5 * k)
    report = problem.run(kernel_of(VARIANTS[name]))
    (access,) = accesses(planned)
    found = [t for t in report.traffic if t.kind == access.name]
    times = 2 * 4 * 5
    assert sum(t.requests for t in found) == times * access.requests > 0
    assert sum(t.cost for t in found) == times * access.cost
    assert sum(t.ideal for t in found) == times * access.ideal


def test_vectors() -> None:
    vectors = {"scale_a": "row", "scale_b": "tensor", "bias": "column"}
    compare(config({"tile": [64, 64, 32], "tiled_mma.layout": [2, 2, 1], "stages": 2, "epilogue": vectors}))


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    compare(load(EXAMPLES / f"{name}.yaml"))


@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_random_configs(seed: int) -> None:
    rng = Random(seed)
    while check(given := odd_config(rng, mainloops=PARTITIONED)):
        pass
    compare(given, k_tiles=4)
