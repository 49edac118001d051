"""Faults of the mainloop ``tma_wgmma``."""

from __future__ import annotations

from functools import partial

from tests.mutations.model import Mutation

__all__ = [
    "ARRIVED",
    "EMPTY_INIT",
    "EXPECT",
    "INIT_FENCE",
    "LOAD",
    "LONG_K",
    "RELEASE",
    "SYNC",
    "WAIT",
    "WGMMA",
    "fault",
]

#: What ``tests/emulated/test_wgmma.py`` runs first: the ring goes round, a CTA has several tiles, and parts.
SHAPE = (304, 528, 208)
#: With more k-tiles than stages.
LONG_K = (304, 528, 400)

#: Lines that findings name.
LOAD = "SM90_TMA_LOAD"
WGMMA = "Config::Mma::fma"
ARRIVED = "arrive_and_expect_tx"

WAIT = "    warpgroup_wait<1>();\n"
RELEASE = "    if (k > 0) {\n      cluster.release(barriers.empty[previous.index]);\n    }\n"
EXPECT = "full.arrive_and_expect_tx(bytes);"
EMPTY_INIT = "barriers.empty[s].init(READERS);"
INIT_FENCE = "    cutlass::arch::fence_barrier_init();\n"
SYNC = "  if constexpr (Cluster::SIZE > 1) {\n    cluster_sync();\n  } else {\n    __syncthreads();\n  }\n"


def _fault(
    kernel: str,
    name: str,
    words: str,
    old: str,
    new: str,
    *kinds: str,
    at: str = "",
    count: int = 1,
    shape: tuple[int, int, int] = SHAPE,
    beta: float = 0.0,
    seed: int = 0,
    unfound: str = "",
    gap: bool = False,
) -> Mutation:
    return Mutation(
        name=f"{kernel}-{name}",
        kernel=kernel,
        fault=words,
        old=old,
        new=new,
        kinds=kinds,
        at=at,
        count=count,
        shape=shape,
        beta=beta,
        seed=seed,
        unfound=unfound,
        gap=gap,
    )


def fault(kernel: str) -> partial[Mutation]:
    """Makes faults of one of the Hopper kernels: name, words, old, new, kinds."""
    return partial(_fault, kernel)
