"""Configs for few rows of A: legal for every shape and type, and what was measured to be fast."""

from __future__ import annotations

import pytest

from cutegen.dtypes import DTypeName
from cutegen.errors import ArgumentError
from cutegen.few_rows import MOST_ROWS, small_m_config
from cutegen.plan import WgmmaPlan, plan
from cutegen.rules import check

#: (M, N, K) of bf16 to tile, split, scheduler.
MEASURED = {
    (64, 2112, 7168): ((64, 64, 128), None, 2, "static"),
    (64, 7168, 2048): ((64, 64, 128), None, None, "static"),
    (64, 24576, 1536): ((64, 64, 128), None, None, "persistent"),
    (16, 8192, 8192): ((16, 64, 256), None, None, "static"),
    (1, 8192, 8192): ((8, 64, 256), None, None, "static"),
    (16, 57344, 8192): ((16, 64, 256), None, None, "persistent"),
    (128, 7168, 16384): ((128, 128, 64), 5, 2, "static"),
}


@pytest.mark.parametrize("shape", MEASURED, ids=str)
def test_measured_shapes(shape: tuple[int, int, int]) -> None:
    cfg = small_m_config(*shape, "bf16")
    got = (cfg.tile, cfg.stages, cfg.scheduler.split_k, cfg.scheduler.kind)
    assert got == MEASURED[shape]
    assert cfg.b.cache == (None if shape[1] * shape[2] > 256 << 19 else "evict_first")
    assert (cfg.swap_ab, cfg.pdl, cfg.b.constant) == (True, None, None)


def test_with_dependent_launch_the_ring_is_full() -> None:
    for m, n, k in MEASURED:
        cfg = small_m_config(m, n, k, "bf16", pdl=True)
        assert cfg.pdl is (None if m == 128 else True)
        assert cfg.b.constant is cfg.pdl
        ring = plan(cfg)
        assert isinstance(ring, WgmmaPlan)
        assert m == 128 or ring.smem_bytes > 180 << 10


def test_with_dependent_launch_k_tiles_are_half_as_deep() -> None:
    tiles = {m: small_m_config(m, 8192, 8192, "bf16", pdl=True).tile for m in (8, 16, 64, 128)}
    assert tiles == {8: (8, 64, 128), 16: (16, 64, 128), 64: (64, 64, 64), 128: (128, 128, 64)}


@pytest.mark.parametrize("element", ["bf16", "f16", "tf32", "e4m3", "s8"])
def test_legal_for_every_shape(element: DTypeName) -> None:
    for m in (1, 7, 8, 9, 16, 17, 32, 64, 65, 100, 128):
        for n in (1, 64, 500, 960, 1920, 4224, 4288, 8448, 8512, 100000):
            for k in (1, 16, 100, 512, 8192, 100000):
                cfg = small_m_config(m, n, k, element)
                assert check(cfg) == [], cfg
                split = cfg.scheduler.split_k or 1
                rows, columns, depth = cfg.tile or (0, 0, 0)
                tiles, k_tiles = -(-n // columns), -(-k // depth)
                assert m <= rows
                assert split <= k_tiles
                assert split == 1 or tiles * split <= 132
                assert (cfg.scheduler.kind == "persistent") == (tiles > 132)


def test_few_tiles_split_k_as_far_as_clusters_fit() -> None:
    splits = {960: 8, 1024: 4, 1920: 4, 1984: 2, 4224: 2, 4288: None}
    for n, split in splits.items():
        assert small_m_config(16, n, 16384, "bf16").scheduler.split_k == split


@pytest.mark.parametrize("shape", [(0, 64, 64), (MOST_ROWS + 1, 64, 64), (16, 0, 64), (16, 64, 0)])
def test_other_shapes_are_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ArgumentError, match="m must be 1 to 128"):
        small_m_config(*shape, "bf16")
