"""Tiles, waves and bounds of a problem, against figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.plan import plan
from cutegen.workload import Workload, smem_intensity, workload
from tests.support.cases import base
from tests.support.cli import GOOD, document, invoke

pytestmark = pytest.mark.unit


def hopper(**fields: Any) -> GemmConfig:
    data = {"arch": "sm_90a", "mainloop": "tma_wgmma", "a": {"dtype": "bf16"}, "b": {"dtype": "bf16"}}
    return GemmConfig.model_validate(data | fields)


def found(config: GemmConfig, *shape: int) -> Workload:
    result = workload(plan(config), *shape)
    assert result is not None
    return result


def test_tiles_and_waves() -> None:
    square = found(base(min_blocks=2), 4096, 4096, 4096)
    assert (square.tiles, square.k_tiles, square.ctas_per_sm, square.useful) == (1024, 128, 2, 1.0)
    assert square.waves == 1024 / (108 * 2)
    assert square.wave_share == square.waves / 5
    ragged = found(base(min_blocks=2), 129, 1, 33)
    assert (ragged.tiles, ragged.k_tiles) == (2, 2)
    assert ragged.useful == 129 * 33 / (256 * 128 * 64)
    assert ragged.bound_by == "waves and padding"


def test_split_k_has_more_tiles() -> None:
    split = hopper(tile=[128, 128, 64], scheduler={"split_k": 2})
    assert found(split, 256, 256, 4096).tiles == 2 * found(hopper(tile=[128, 128, 64]), 256, 256, 4096).tiles


def test_stream_k_fills_its_last_wave() -> None:
    tile, shape = [128, 128, 64], (128 * 12, 128 * 12, 4096)  # 144 tiles
    plain = found(hopper(tile=tile), *shape)
    streamed = found(hopper(tile=tile, scheduler={"kind": "stream_k"}), *shape)
    assert plain.wave_share < 0.6
    assert (streamed.wave_share, streamed.tiles, streamed.waves) == (1.0, plain.tiles, plain.waves)


def test_bytes_of_hbm() -> None:
    one_row = found(hopper(tile=[64, 64, 64]), 1, 4096, 4096)
    hbm = one_row.bounds[0]
    assert hbm.intensity == 2 * 4096 * 4096 / (2 * (4096 + 4096 * 4096 + 4096))
    assert hbm.balance == 989.4e3 / 4800
    assert one_row.bound_by == "HBM"
    assert found(hopper(tile=[64, 64, 64]), 64, 132 * 64, 4096).bound_by == "HBM"


def test_bytes_of_shared_memory() -> None:
    # ldmatrix brings A to each of 2 warps along N, and B to each of 2 along M: 2 x (128 + 128) x 32 halves.
    assert smem_intensity(plan(base())) == 2 * 128 * 128 * 32 / (2 * (128 + 128) * 32 * 2)
    conflicts = base({"smem.a": {"shape": [8, 32], "stride": [32, 1]}})  # A takes 4 times as long
    assert smem_intensity(plan(conflicts)) == 2 * 128 * 128 * 32 / ((4 + 1) * 2 * 128 * 32 * 2)
    # m64n256k16: 64 + 256 rows of 32 bytes for 2 x 64 x 256 x 16 FLOP.
    wide = hopper(tile=[128, 256, 64], tiled_mma={"atom": "SM90_64x256x16_F32BF16BF16_SS"})
    assert smem_intensity(plan(wide)) == 2 * 64 * 256 * 16 / ((64 + 256) * 32)
    assert smem_intensity(plan(base(mainloop="direct", stages=None, smem={}, g2s={}, s2r={}))) is None


def test_explain_shape(tmp_path: Any) -> None:
    path = tmp_path / "k.yaml"
    path.write_text(GOOD)
    text = invoke("explain", str(path), "--shape", "1000x1000x1000").stdout
    assert "64 CTA tiles of 32 k-tiles" in text
    assert "limited by waves and padding" in text
    data = document("explain", str(path), "--shape", "1000,1000,1000", "--json")["configs"][0]["workload"]
    assert (data["tiles"], data["card"], data["shape"]) == (64, "A100", [1000, 1000, 1000])
    assert document("explain", str(path), "--json")["configs"][0]["workload"] is None


@pytest.mark.parametrize("text", ["1,2", "1,2,0", "a,b,c", "1,2,3,4", ""])
def test_a_shape_that_is_none(text: str, tmp_path: Any) -> None:
    path = tmp_path / "k.yaml"
    path.write_text(GOOD)
    refused = invoke("explain", str(path), "--shape", text)
    assert refused.exit_code == 2
    assert "must be three integers of at least 1" in refused.stderr


@pytest.mark.parametrize(("config", "flop_of_a_clock"), [(base(), 2048), (hopper(tile=[128, 128, 64]), 4096)])
def test_rate_and_clock_of_a_card_agree(config: GemmConfig, flop_of_a_clock: int) -> None:
    """An SM of an A100 does 1024 f16 FMAs in a clock, one of an H200 2048; shared memory gives 128 bytes."""
    smem = next(b for b in found(config, 4096, 4096, 4096).bounds if b.level == "shared memory")
    assert smem.balance == pytest.approx(flop_of_a_clock / 128, rel=0.01)
