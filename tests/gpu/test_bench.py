"""Measuring on a real GPU: times are plausible, peers are right, and a late host spoils nothing."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.bench.contestants import PEERS, Asked, Contestant, own, peers
from cutegen.bench.gpu import TorchDevice
from cutegen.bench.operands import Operands, random_tensors
from cutegen.bench.proof import prove
from cutegen.bench.session import run_session
from cutegen.bench.shapes import Shape
from cutegen.bench.timing import STATES, Case, measure
from tests.support.cli import document
from tests.support.gpu import Pool

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIG = cutegen.load(EXAMPLES / "ampere_bf16.yaml")
SCALED = cutegen.load(EXAMPLES / "hopper" / "fp8_small_m.yaml").replace(
    epilogue={"scale_a": "row", "scale_b": "column"}
)
SHAPE = Shape(1024, 1024, 1024)

pytestmark = pytest.mark.kernels(CONFIG)


@pytest.fixture(scope="module")
def device() -> TorchDevice:
    return TorchDevice()


def test_holding_takes_as_long_as_it_should(device: TorchDevice) -> None:
    for microseconds in (100.0, 1000.0):
        begin = device.mark()
        device.hold(microseconds)
        end = device.mark()
        device.wait()
        assert 0.8 * microseconds <= begin.microseconds_to(end) <= 4 * microseconds


def test_facts(device: TorchDevice) -> None:
    facts = device.facts()
    assert facts.copy_gbps > 100
    assert facts.multiprocessors > 0


@pytest.mark.parametrize("state", ["cool", "hot", "chain"])
def test_the_host_is_no_part_of_a_time(device: TorchDevice, kernel_of: Pool, state: Any) -> None:
    """A launch that the host dawdles over takes no longer on the GPU's clock."""
    kernel = kernel_of(CONFIG)
    operands = Operands.of(kernel.config)
    tensors = random_tensors(operands, SHAPE)
    launch = kernel.plan(tensors.a, tensors.b, out=tensors.d, b_is="nk")

    def dawdling() -> None:
        until = time.perf_counter() + 200e-6
        while time.perf_counter() < until:
            pass
        launch()

    cases = [Case(name="prompt", launches=(launch,)), Case(name="late", launches=(dawdling,))]
    found = measure(cases, device, STATES[state], rounds=9, rng=random.Random(0))
    assert found["late"].median == pytest.approx(found["prompt"].median, rel=0.1)
    assert found["late"].median < 200


@pytest.mark.parametrize(
    ("a", "d", "accumulator"),
    [("bf16", "bf16", "f32"), ("tf32", "f32", "f32"), ("s8", "s32", "s32"), ("f64", "f64", "f64")],
)
def test_torch_is_right(a: Any, d: Any, accumulator: str) -> None:
    operands = Operands(a=a, b=a, d=d, a_major="k", b_major="k", d_major="n")
    (peer,) = PEERS["torch"](Asked(operands=operands))
    prove(peer, Shape(256, 512, 384))


def test_torch_multiplies_8_bit_floats(device: TorchDevice) -> None:
    import torch

    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("no 8-bit floats on this GPU")
    operands = Operands(a="e4m3", b="e4m3", d="bf16", a_major="k", b_major="k", d_major="n")
    (peer,) = PEERS["torch"](Asked(operands=operands))
    prove(peer, Shape(256, 512, 384))


def test_torch_scales_rows_and_columns(device: TorchDevice) -> None:
    import torch

    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("no 8-bit floats on this GPU")
    operands = Operands.of(cutegen.resolve(SCALED))
    (peer,) = PEERS["torch"](Asked(operands=operands))
    prove(peer, Shape(256, 512, 384))


@pytest.mark.kernels(SCALED)
def test_scales_take_part(device: TorchDevice, kernel_of: Pool) -> None:
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("wgmma needs compute capability 9.0")
    mine = own("ours", kernel_of(SCALED))
    found, notes = peers(["torch"], [mine])
    results = run_session([*found, mine], [Shape(16, 1024, 1024)], device, rounds=3, states=("hot",))
    assert not notes
    assert {row.name for row in results.rows} == {"torch.mm", "ours"}


def test_triton_is_right() -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    operands = Operands(a="bf16", b="bf16", d="bf16", a_major="k", b_major="k", d_major="n")
    (peer,) = PEERS["triton"](Asked(operands=operands))
    for shape in (Shape(256, 512, 64), Shape(1000, 1064, 200), Shape(1, 72, 136)):
        prove(peer, shape)


def test_reading_is_quicker_than_multiplying_and_not_beyond_the_memory(
    device: TorchDevice, kernel_of: Pool
) -> None:
    mine = own("ours", kernel_of(CONFIG))
    found, _ = peers(["read"], [mine])
    shape = Shape(16, 16384, 8192)
    results = run_session([*found, mine], [shape], device, rounds=7, states=("hot",))
    read, ours = results.select(shape, "hot")
    assert read.name == "read of B"
    assert read.us < ours.us
    assert 0.5 * results.facts.copy_gbps < read.gbps < 1.5 * results.facts.copy_gbps


def test_a_session_with_all_states(device: TorchDevice, kernel_of: Pool) -> None:
    mine: Contestant = own("ours", kernel_of(CONFIG))
    others, notes = peers(["torch", "read"], [mine])
    assert not notes
    results = run_session([*others, mine], [SHAPE], device, rounds=5, states=("cool", "hot", "chain"))
    assert len(results.rows) == 9
    assert all(0.2 < us < 20 for us in results.empty_us.values())
    assert all(0.05 < row.ratio < 5 for row in results.rows if row.own and row.ratio is not None)


def test_the_command(tmp_path: Path) -> None:
    found = document(
        "bench", str(EXAMPLES / "ampere_bf16.yaml"), "--shapes", "1024x1024x1024,100x72x136", "--rounds", "3",
        "--csv", str(tmp_path / "r.csv"), "--plot", str(tmp_path / "r.svg"), "--json",
    )  # fmt: skip
    assert found["ok"], found
    assert len(found["rows"]) == 8
    assert (tmp_path / "r.svg").read_text().startswith("<svg ")
