"""Partitions as CuTe prints them, against what the articles print that this project started from."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from random import Random

import pytest

from cutegen.cli.explain_layouts import instructions
from cutegen.config import GemmConfig
from cutegen.fuzz.generate import PARTITIONED, odd_config
from cutegen.loader import dump, load
from cutegen.partitions import Partition, partitions
from cutegen.plan import KernelPlan, plan
from cutegen.rules import check
from tests.support.cli import document, invoke

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [path.stem for path in sorted(EXAMPLES.glob("*.yaml")) if "matrix" not in path.stem]


def kernel(config: GemmConfig) -> KernelPlan:
    found = plan(config)
    assert isinstance(found, KernelPlan)
    return found


def printed(config: GemmConfig, k: int | None = None) -> dict[str, Partition]:
    return {p.name: p for p in partitions(kernel(config), k)}


def test_the_kernel_with_shared_memory() -> None:
    found = printed(load(EXAMPLES / "smem.yaml"), k=128)
    assert {name: p.layout for name, p in found.items()} | {"tCgD": ""} == {
        "tAgA": "((_8,_1),_4,_1,4):((_1,_0),4096,_0,_32)",
        "tAsA": "((_8,_1),_4,_1):((_1,_0),_1024,_0)",
        "tCrA": "((_2,_2,_2),_4,_2):((_1,_2,_4),_8,_32)",
        "tCrA of gA": "((_2,_2,_2),_4,_2):((_1,_2,_4),_16,_8)",
        "tXsA": "((_8,_1),_4,_2):((_1,_0),_1024,16)",
        "tXrA": "((_8,_1),_4,_2):((_1,_0),_8,_32)",
        "tBgB": "((_8,_1),_4,_1,4):((_1,_0),4096,_0,_32)",
        "tBsB": "((_8,_1),_4,_1):((_1,_0),_1024,_0)",
        "tCrB": "((_2,_2),_8,_2):((_1,_2),_4,_32)",
        "tCrB of gB": "((_2,_2),(_2,_4),_2):((_1,_2),(_8,_16),_4)",
        "tXsB": "((_8,_1),_4,_2):((_1,_0),_1024,16)",
        "tXrB": "((_8,_1),_4,_2):((_1,_0),_8,_32)",
        "tCgD": "",
        "tCrC": "((_2,_2),_4,_8):((_1,_2),_4,_16)",
    }
    assert found["tCrC"].shape == "((_2,_2),_4,_8)"
    assert printed(load(EXAMPLES / "smem.yaml"))["tAgA"].layout == "((_8,_1),_4,_1,k):((_1,_0),32K,_0,_32)"


def test_the_two_views_of_b() -> None:
    """FlashAttention-2's tile of 64 keys, 4 warps along M: an ldmatrix fills B of two MMAs."""
    config = GemmConfig.model_validate(
        {
            "arch": "sm_80",
            "a": {"dtype": "f16"},
            "b": {"dtype": "f16"},
            "accumulator": "f32",
            "tile": [64, 64, 64],
            "tiled_mma": {"layout": [4, 1, 1], "permutation": [64, 16, 16]},
            "smem": {"b": {"shape": [8, 64], "stride": [64, 1], "swizzle": [3, 3, 3]}},
        }
    )
    found = printed(config)
    assert found["tCrB"].merged == "((_2,_2),_8,_4):((_1,_2),_4,_32)"
    assert found["tXrB"].layout == "((_8,_1),_4,_4):((_1,_0),_8,_32)"


def elements(layout: str) -> int:
    return prod(int(n) for n in re.findall(r"_?(\d+)", layout.partition(":")[0]))


def configs() -> list[GemmConfig]:
    found = [load(EXAMPLES / f"{name}.yaml") for name in NAMES]
    random = (odd_config(Random(seed), mainloops=PARTITIONED) for seed in range(16))
    return found + [cfg for cfg in random if not check(cfg)]


def test_every_thread_has_its_share() -> None:
    for config in configs():
        this = kernel(config)
        m, n, k = this.tile
        found = printed(config, k)
        text = dump(config)
        assert elements(found["tCrC"].layout) * this.threads == m * n, text
        for name, rows, beside in (("A", m, 1), ("B", n, 0)):
            warps = (config.tiled_mma.layout or this.config.tiled_mma.layout or (1, 1, 1))[beside]
            assert elements(found[f"tCr{name}"].layout) * this.threads == rows * k * warps, text
            if f"t{name}g{name}" in found:
                assert elements(found[f"t{name}g{name}"].layout) * this.threads == rows * k, text
                assert elements(found[f"t{name}s{name}"].layout) * this.threads == rows * k, text


def test_instructions_do_all_products() -> None:
    for config in configs():
        this = kernel(config)
        atoms = instructions(this)["mma"] * this.threads // this.atom.threads
        assert atoms * prod(this.atom.shape) == prod(this.tile), dump(config)


def test_explain_prints_them() -> None:
    path = str(EXAMPLES / "smem.yaml")
    text = invoke("explain", path, "--shape", "256,256,128").stdout
    assert "# tAgA        ((_8,_1),_4,_1,4):((_1,_0),4096,_0,_32)\n" in text
    assert "# instructions   64 MMAs, 8 copies from global memory, 16 reads of shared memory" in text
    assert "Swizzle<3,3,3> of the offset in elements: bit 3 ^= bit 6, bit 4 ^= bit 7, bit 5 ^= bit 8" in text
    data = document("explain", path, "--json")["configs"][0]
    assert data["partitions"][0]["made"] == "g2s_A.get_slice(0).partition_S(gA)"
    assert data["facts"]["instructions"] == {"mma": 64, "from_global": 8, "from_shared": 16}
