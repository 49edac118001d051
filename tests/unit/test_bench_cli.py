"""``cutegen bench`` as a command: options, output, exit codes."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cutegen
from cutegen.bench.contestants import PEERS
from cutegen.bench.gpu import Facts
from cutegen.bench.results import Floor, Results, Row
from cutegen.bench.shapes import Shape
from cutegen.bench.timing import STATES
from cutegen.cli import bench
from cutegen.errors import CheckFailedError, CompileError
from tests.support.cli import document, invoke

SHAPES = "64x64x64,128x64x64"


def row(shape: Shape, state: Any, name: str, us: float, *, own: bool) -> Row:
    return Row(
        shape=shape,
        state=state,
        name=name,
        own=own,
        reference=not own,
        operands="bf16",
        us=us,
        low=us,
        high=us,
        samples=3,
        repeated=1,
        tflops=shape.flop / us / 1e6,
        gbps=10.0,
        floor=Floor(us=1.0, by="bytes"),
        ratio=20 / us,
    )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A GPU that everything is patched to see; ``asked`` has what the session was given."""
    pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    seen = SimpleNamespace(asked={}, error=None, built=[])

    def session(contestants: Any, shapes: Any, device: Any, **options: Any) -> Results:
        seen.asked = {"names": [c.name for c in contestants], "shapes": shapes, **options}
        if seen.error:
            raise seen.error
        rows = []
        for shape in shapes:
            for state in options["states"]:
                group = [
                    row(shape, state, c.name, 20.0 - 2 * i, own=c.is_own) for i, c in enumerate(contestants)
                ]
                options["on_shape"](group)
                rows += group
        facts = Facts(gpu="NVIDIA H200", multiprocessors=132, cuda="13.0", torch="2.11", copy_gbps=4000.0)
        empty = dict.fromkeys(options["states"], 2.5)
        return Results(
            facts=facts, empty_us=empty, peaks={"bf16": 989.4}, rows=rows, notes=["x cannot take y"]
        )

    def build(configs: Any, *_: Any, **__: Any) -> list[Any]:
        seen.built = list(configs)
        return [SimpleNamespace(config=cutegen.resolve(c), plan=None) for c in configs]

    monkeypatch.setattr("cutegen.cli.bench.require_gpu", lambda command: "NVIDIA H200")
    monkeypatch.setattr("cutegen.toolchain.find_toolchain", lambda nvcc=None: None)
    monkeypatch.setattr("cutegen.building.try_build_many", build)
    monkeypatch.setattr("cutegen.bench.gpu.TorchDevice", lambda: None)
    monkeypatch.setattr("cutegen.bench.session.run_session", session)
    return seen


def test_the_choices_are_those_of_the_library() -> None:
    assert tuple(PEERS) == bench.PEERS
    assert tuple(STATES) == bench.STATES


def test_without_a_gpu_it_says_so(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    found = invoke("bench", good, "--shapes", SHAPES)
    assert (found.exit_code, found.stderr) == (
        3,
        "error: bench needs a GPU and its driver, which are not here\n",
    )
    assert document("bench", good, "--shapes", SHAPES, "--json")["error"] == "ToolchainError"


def test_mistakes_come_before_the_gpu(good: str, bad: str, illegal: str) -> None:
    for arguments in (
        [good],
        [good, "--shapes", "64x64"],
        [good, "--shapes", "no/such.yaml"],
        [bad, "--shapes", SHAPES],
        [illegal, "--shapes", SHAPES],
        [good, "--shapes", SHAPES, "--vs", "cublas"],
        [good, "--shapes", SHAPES, "--state", "warm"],
        [good, "--shapes", SHAPES, "--state", ""],
        [good, "--shapes", SHAPES, "--rounds", "0"],
    ):
        assert invoke("bench", *arguments).exit_code == 2, arguments


def test_tables_and_files(good: str, tmp_path: Path, machine: SimpleNamespace) -> None:
    csv_file, plot_file = tmp_path / "r.csv", tmp_path / "r.svg"
    found = invoke(
        "bench", good, "--shapes", SHAPES, "--csv", str(csv_file), "--plot", str(plot_file), "--rounds", "3"
    )
    assert found.exit_code == 0, found.output
    assert machine.asked["names"] == ["torch.mm", "good"]
    assert machine.asked["rounds"] == 3
    assert machine.asked["states"] == ("cool", "hot")
    assert [line for line in found.stdout.splitlines() if re.fullmatch(r"\d+x\d+x\d+  \w+", line)] == [
        f"{shape}  {state}" for shape in SHAPES.split(",") for state in ("cool", "hot")
    ]
    assert "1.111" in found.stdout
    assert "a launch that does nothing: 2.5 us cool, 2.5 us hot" in found.stdout
    assert "8 samples were taken again because the host was late" in found.stdout
    assert "warning: x cannot take y" in found.stderr
    assert len(csv_file.read_text().splitlines()) == 9
    assert plot_file.read_text().startswith("<svg ")


def test_json_is_one_document(good: str, machine: SimpleNamespace) -> None:
    found = document("bench", good, "--shapes", SHAPES, "--json", "--state", "hot,chain", "--vs", "")
    assert machine.asked["names"] == ["good"]
    assert machine.asked["states"] == ("hot", "chain")
    assert (found["gpu"], found["copy_gbps"], len(found["rows"])) == ("NVIDIA H200", 4000.0, 4)
    assert found["rows"][0]["ratio"] == 1.0
    assert found["notes"] == ["x cannot take y"]


def test_a_matrix_file_and_equal_names(tmp_path: Path, good: str, machine: SimpleNamespace) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(
        "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nmatrix: {stages: [2, 3], tile: [[128, 128, 32]]}\n"
    )
    assert invoke("bench", str(path), good, "--shapes", SHAPES).exit_code == 0
    assert machine.asked["names"] == ["torch.mm", "m:stages=2 128x128x32", "m:stages=3 128x128x32", "good"]


@pytest.mark.parametrize(
    ("error", "code"), [(CheckFailedError("it is wrong"), 1), (CompileError("k.cu", ["nvcc"], "error: x"), 4)]
)
def test_failures_have_their_exit_codes(
    good: str, machine: SimpleNamespace, error: Exception, code: int, tmp_path: Path
) -> None:
    machine.error = error
    found = invoke("bench", good, "--shapes", SHAPES)
    assert found.exit_code == code
    assert str(error).splitlines()[0] in found.stderr


def test_too_little_memory_is_a_sentence(good: str, machine: SimpleNamespace) -> None:
    import torch

    machine.error = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has ...")
    found = invoke("bench", good, "--shapes", SHAPES)
    assert found.exit_code == 5
    assert "the GPU has too little memory for the shapes: CUDA out of memory" in found.stderr
    machine.error = RuntimeError("CUDA error: an illegal memory access was encountered\nfurther words")
    found = invoke("bench", good, "--shapes", SHAPES)
    assert found.exit_code == 5
    assert found.stderr.endswith("failed on the GPU: CUDA error: an illegal memory access was encountered\n")


def test_a_place_that_cannot_be_written_is_found_first(
    good: str, tmp_path: Path, machine: SimpleNamespace
) -> None:
    found = invoke("bench", good, "--shapes", SHAPES, "--plot", str(tmp_path / "none" / "r.svg"))
    assert found.exit_code == 2
    assert "cannot be written" in found.stderr
    assert not machine.asked
