"""``docs/benchmarks/road.py``: its steps are configs that work, and its table and picture are right."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.bench.gpu import Facts
from cutegen.bench.results import Floor, Results, Row
from cutegen.bench.shapes import Shape

SCRIPT = Path(__file__).parents[2] / "docs" / "benchmarks" / "road.py"
SHAPES = (Shape(2048, 2048, 2048), Shape(4096, 4096, 4096))


@pytest.fixture(scope="module")
def road() -> Any:
    spec = importlib.util.spec_from_file_location("road", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["road"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["road"]


def row(
    shape: Shape, name: str, tflops: float, ratio: float, operands: str, *, reference: bool = False
) -> Row:
    return Row(
        shape=shape,
        state="cool",
        name=name,
        own=not reference,
        reference=reference,
        operands=operands,
        us=shape.flop / tflops / 1e6,
        low=1.0,
        high=2.0,
        samples=9,
        repeated=0,
        tflops=tflops,
        gbps=1000.0,
        floor=Floor(us=1.0, by="flop"),
        ratio=ratio,
    )


def results(road: Any, skip: str = "") -> Results:
    rows = []
    for shape in SHAPES:
        for kind in ("f16", "bf16"):
            rows.append(row(shape, f"torch.mm, {kind}", 700.0, 1.0, kind, reference=True))
        for number, step in enumerate(road.STEPS):
            if step.name != skip:
                kind = "f16" if number < 3 else "bf16"
                rows.append(row(shape, step.name, 60.0 + 90 * number, (60.0 + 90 * number) / 700, kind))
    facts = Facts(gpu="NVIDIA H200", multiprocessors=132, cuda="13.0", torch="2.11", copy_gbps=4000.0)
    return Results(facts=facts, empty_us={"cool": 2.5}, peaks={}, rows=rows)


def test_every_step_is_a_config_that_works(road: Any) -> None:
    for step in road.STEPS:
        assert cutegen.check(cutegen.load(road.EXAMPLES / step.file)) == [], step.name


def test_a_gpu_runs_what_it_has(road: Any) -> None:
    hopper = cutegen.load(road.EXAMPLES / "hopper" / "single.yaml")
    ampere = cutegen.load(road.EXAMPLES / "multistage.yaml")
    assert [road.runs_here(hopper, cc) for cc in (80, 90, 100)] == [False, True, False]
    assert [road.runs_here(ampere, cc) for cc in (75, 80, 90)] == [False, True, True]


def test_the_table(road: Any) -> None:
    lines = road.table(results(road), "cool")
    assert len(lines) == 2 + len(road.STEPS) + 2
    assert lines[2].startswith(
        "| direct | tensor cores fed from global memory | 60 (0.09) | 60 (0.09) | very slow"
    )
    assert lines[-1] == "| torch.mm, bf16 | | 700 (1) | 700 (1) | |"
    assert len(road.table(results(road, skip="direct"), "cool")) == len(lines) - 1


def test_the_picture(road: Any) -> None:
    root = ET.fromstring(road.picture(results(road), "cool"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text or "" for element in root.iter(f"{space}text")]
    for step in road.STEPS:
        assert texts.count(step.name) == 1
    assert texts.count("60") == texts.count("700") == 2
    bars = list(root.iter(f"{space}path"))
    assert len(bars) == 2 * (len(road.STEPS) + 1)
    fewer = ET.fromstring(road.picture(results(road, skip="direct"), "cool"))
    assert float(fewer.attrib["height"]) < float(root.attrib["height"])
