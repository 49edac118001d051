"""CTAs of an SM, against the toolkit's own calculation."""

from __future__ import annotations

import pytest

from cutegen.arch import ArchName, arch
from cutegen.budget import over_budget
from cutegen.occupancy import occupancy
from cutegen.plan import plan
from tests.support.cases import base

pytestmark = pytest.mark.unit

# Architecture, threads, registers, bytes of dynamic shared memory, and what cuda_occupancy.h of
# CUDA 13.0 makes of them (random cases; 0: such a kernel cannot be launched).
TOOLKIT: tuple[tuple[ArchName, int, int, int, int], ...] = (
    ("sm_75", 928, 202, 0, 0),
    ("sm_75", 896, 103, 40900, 0),
    ("sm_75", 288, 192, 37456, 0),
    ("sm_75", 128, 116, 18848, 3),
    ("sm_75", 288, 117, 16568, 1),
    ("sm_75", 192, 184, 0, 1),
    ("sm_75", 128, 251, 49968, 1),
    ("sm_75", 320, 44, 32911, 1),
    ("sm_75", 288, 135, 54246, 1),
    ("sm_75", 96, 177, 26793, 2),
    ("sm_75", 160, 137, 4325, 2),
    ("sm_75", 160, 44, 44307, 1),
    ("sm_80", 864, 116, 31094, 0),
    ("sm_80", 384, 240, 94014, 0),
    ("sm_80", 672, 90, 18210, 0),
    ("sm_80", 288, 148, 38478, 1),
    ("sm_80", 160, 238, 28375, 1),
    ("sm_80", 224, 64, 98649, 1),
    ("sm_80", 256, 16, 128999, 1),
    ("sm_80", 64, 71, 55892, 2),
    ("sm_80", 608, 54, 4891, 1),
    ("sm_80", 64, 72, 0, 14),
    ("sm_80", 32, 146, 8916, 12),
    ("sm_80", 96, 131, 736, 4),
    ("sm_86", 704, 139, 39918, 0),
    ("sm_86", 352, 201, 76645, 0),
    ("sm_86", 1024, 155, 6966, 0),
    ("sm_86", 32, 62, 55649, 1),
    ("sm_86", 128, 221, 19232, 2),
    ("sm_86", 160, 128, 13363, 3),
    ("sm_86", 448, 84, 0, 1),
    ("sm_86", 128, 93, 18417, 5),
    ("sm_86", 256, 120, 18736, 2),
    ("sm_86", 352, 24, 0, 4),
    ("sm_86", 32, 93, 0, 16),
    ("sm_86", 192, 132, 0, 2),
    ("sm_89", 384, 175, 59156, 0),
    ("sm_89", 352, 241, 53084, 0),
    ("sm_89", 672, 190, 37034, 0),
    ("sm_89", 416, 89, 45977, 1),
    ("sm_89", 800, 65, 29223, 1),
    ("sm_89", 352, 95, 39767, 1),
    ("sm_89", 480, 75, 18890, 1),
    ("sm_89", 512, 116, 42307, 1),
    ("sm_89", 192, 103, 0, 2),
    ("sm_89", 128, 201, 23088, 2),
    ("sm_89", 256, 178, 25454, 1),
    ("sm_89", 288, 131, 51645, 1),
    ("sm_90a", 768, 254, 0, 0),
    ("sm_90a", 320, 195, 11835, 0),
    ("sm_90a", 704, 94, 46980, 0),
    ("sm_90a", 160, 83, 5899, 4),
    ("sm_90a", 64, 138, 52237, 4),
    ("sm_90a", 64, 162, 0, 6),
    ("sm_90a", 128, 68, 0, 7),
    ("sm_90a", 352, 31, 11366, 5),
    ("sm_90a", 256, 85, 0, 2),
    ("sm_90a", 352, 153, 31892, 1),
    ("sm_90a", 160, 140, 48996, 2),
    ("sm_90a", 288, 19, 38787, 5),
    ("sm_100a", 608, 210, 0, 0),
    ("sm_100a", 736, 197, 3378, 0),
    ("sm_100a", 704, 236, 1386, 0),
    ("sm_100a", 96, 27, 0, 21),
    ("sm_100a", 352, 129, 38167, 1),
    ("sm_100a", 224, 236, 32947, 1),
    ("sm_100a", 64, 125, 214870, 1),
    ("sm_100a", 96, 32, 18869, 11),
    ("sm_100a", 160, 52, 40434, 5),
    ("sm_100a", 384, 119, 8106, 1),
    ("sm_100a", 32, 117, 1370, 16),
    ("sm_100a", 160, 70, 40908, 5),
    ("sm_120a", 640, 246, 0, 0),
    ("sm_120a", 352, 177, 55466, 0),
    ("sm_120a", 896, 141, 42969, 0),
    ("sm_120a", 256, 134, 59033, 1),
    ("sm_120a", 224, 64, 12312, 4),
    ("sm_120a", 128, 135, 0, 3),
    ("sm_120a", 224, 147, 18371, 1),
    ("sm_120a", 32, 53, 26655, 3),
    ("sm_120a", 224, 92, 43087, 2),
    ("sm_120a", 224, 64, 26685, 3),
    ("sm_120a", 96, 162, 49667, 2),
    ("sm_120a", 192, 58, 56143, 1),
)


@pytest.mark.parametrize(("name", "threads", "registers", "smem", "ctas"), TOOLKIT)
def test_as_the_toolkit_counts(name: ArchName, threads: int, registers: int, smem: int, ctas: int) -> None:
    assert occupancy(arch(name), threads=threads, registers=registers, smem=smem).ctas == ctas


def test_what_limits() -> None:
    a100 = arch("sm_80")
    assert occupancy(a100, threads=256, registers=24, smem=0).limited_by == ("threads",)
    assert occupancy(a100, threads=32, registers=32, smem=0).limited_by == ("CTA slots",)
    assert occupancy(a100, threads=256, registers=128, smem=0).limited_by == ("registers",)
    both = occupancy(a100, threads=256, registers=128, smem=81920)
    assert (both.ctas, both.limited_by) == (2, ("shared memory", "registers"))
    assert both.share == 0.25


def fields(**limits: object) -> list[str]:
    return [v.field for v in over_budget(plan(base({f"limits.{k}": v for k, v in limits.items()})))]


def test_budgets_that_the_plan_shows() -> None:
    assert fields(min_ctas_per_sm=3) == []
    assert fields(min_ctas_per_sm=4) == ["limits.min_ctas_per_sm"]  # 48 KiB each, and 1 KiB of the system
    assert fields(max_smem_bytes=49152) == []
    assert fields(max_smem_bytes=49151) == ["limits.max_smem_bytes"]
    assert fields(max_conflict_ways=1) == []


def test_conflicts_over_budget() -> None:
    plain = {"smem.a": {"shape": [8, 32], "stride": [32, 1]}}
    assert over_budget(plan(base({**plain, "limits.max_conflict_ways": 4}))) == []
    (found,) = over_budget(plan(base({**plain, "limits.max_conflict_ways": 3})))
    assert (found.field, found.got) == ("limits.max_conflict_ways", "S2R A: 4-way bank conflicts of ldmatrix")
