"""A whole run on a GPU that is not there: who takes part, what is proved, what follows from the times."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import cutegen
from cutegen.bench.contestants import PEERS, Asked, Contestant, peers, unique_names
from cutegen.bench.cutlass_peer import collectives
from cutegen.bench.operands import Operands, Tensors, random_tensors
from cutegen.bench.plot import plot
from cutegen.bench.proof import prove
from cutegen.bench.report import csv_text, facts_lines, row_cells, summary_rows
from cutegen.bench.results import Floor, Results
from cutegen.bench.session import run_session, weights_of_a_chain
from cutegen.bench.shapes import Shape
from cutegen.bench.timing import StateName
from cutegen.cards import peak_tflops
from cutegen.errors import ArgumentError, CheckFailedError
from tests.support.fake_gpu import FakeGpu

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

SMALL, ODD = Shape(64, 96, 32), Shape(8, 40, 56)


def config(**fields: Any) -> cutegen.GemmConfig:
    operand = {"dtype": "bf16"}
    return cutegen.resolve(cutegen.GemmConfig(arch="sm_80", a=operand, b=operand, **fields))


def contestant(
    gpu: FakeGpu,
    name: str,
    us: float,
    *,
    own: bool = True,
    fault: Callable[[Any], None] | None = None,
    **more: Any,
) -> Contestant:
    """One that really computes, on the CPU, and takes so long on the fake GPU."""

    def bind(t: Tensors) -> Callable[[], object]:
        enqueue = gpu.kernel(name, us)

        def launch() -> None:
            enqueue()
            t.d.copy_((t.a.double() @ t.b.double().t()).to(t.d.dtype))
            if fault is not None:
                fault(t.d)

        return launch

    settled = config() if own else None
    return Contestant(name=name, operands=Operands.of(config()), bind=bind, config=settled, **more)


def run(gpu: FakeGpu, contestants: list[Contestant], **options: Any) -> Results:
    return run_session(contestants, [SMALL, ODD], gpu, place="cpu", rounds=3, **options)


def results(states: tuple[StateName, ...] = ("cool", "hot"), kernels: int = 2) -> Results:
    gpu = FakeGpu()
    own = [contestant(gpu, f"kernel {i}", 30.0 + 6 * i) for i in range(kernels)]
    others = [
        contestant(gpu, "torch.mm", 33.0, own=False, reference=True),
        contestant(gpu, "slow & plain", 60.0, own=False),
    ]
    return run(gpu, [*others, *own], states=states)


def test_rows_ratios_and_floors() -> None:
    found = results()
    assert found.shapes() == [SMALL, ODD]
    assert found.states() == ["cool", "hot"]
    assert len(found.rows) == 16
    names = [row.name for row in found.select(SMALL, "hot")]
    assert names == ["kernel 0", "torch.mm", "kernel 1", "slow & plain"]
    best = found.select(SMALL, "hot")[0]
    assert (best.us, best.ratio) == pytest.approx((40.0, 1.1))
    assert best.tflops == pytest.approx(2 * 64 * 96 * 32 / 40e-6 / 1e12)
    moved = 2 * (64 * 32 + 96 * 32 + 64 * 96)
    assert best.gbps == pytest.approx(moved / 40e-6 / 1e9)
    assert (best.floor.by, best.floor.us) == ("bytes", pytest.approx(moved / 4000e9 * 1e6))
    assert found.empty_us == pytest.approx({"cool": 2.5, "hot": 2.5})
    assert found.peaks == {"bf16": 989.4}


def test_a_floor_is_the_larger_of_bytes_and_flop() -> None:
    large = Shape(8192, 8192, 8192)
    floor = Floor.of(large, 3 * 2 * 8192**2, copy_gbps=4000, tflops=989.4)
    assert (floor.by, floor.us) == ("flop", pytest.approx(1111.3, rel=1e-3))
    assert Floor.of(large, 3 * 2 * 8192**2, copy_gbps=4000, tflops=None).by == "bytes"


def test_a_wrong_kernel_is_found_before_anything_is_timed() -> None:
    gpu = FakeGpu()

    def fault(d: Any) -> None:
        d[3, 7] += 1

    with pytest.raises(
        CheckFailedError, match=r"bad is wrong at 64x96x32: 1 of 6144 elements are wrong; .*D\(3, 7\)"
    ):
        run(gpu, [contestant(gpu, "good", 10.0), contestant(gpu, "bad", 10.0, fault=fault)])
    assert "mark" not in gpu.log


def test_a_kernel_that_writes_nothing_is_found() -> None:
    gpu = FakeGpu()
    lazy = Contestant(
        name="lazy", operands=Operands.of(config()), bind=lambda t: gpu.kernel("lazy", 1.0), config=config()
    )
    with pytest.raises(CheckFailedError, match="lazy is wrong at 64x96x32: 6144 of 6144"):
        run(gpu, [lazy])


def test_peers_may_round_as_they_like_but_not_be_wrong() -> None:
    gpu = FakeGpu()

    def last_bit(d: Any) -> None:
        d.copy_((d.float() * (1 + 2**-9)).bfloat16())

    def wrong(d: Any) -> None:
        d[0, 0] += 3

    run(gpu, [contestant(gpu, "peer", 10.0, own=False, fault=last_bit)], states=("hot",))
    with pytest.raises(CheckFailedError, match="peer is wrong"):
        run(gpu, [contestant(gpu, "peer", 10.0, own=False, fault=wrong)])


def test_who_cannot_take_a_shape_is_left_out_there() -> None:
    gpu = FakeGpu()
    usual = contestant(gpu, "choosy", 10.0)

    def choosy(t: Tensors) -> Callable[[], object]:
        if t.a.shape[0] < 16:
            raise ArgumentError("a: too few rows")
        return usual.bind(t)

    picky = Contestant(name="choosy", operands=usual.operands, bind=choosy, config=usual.config)
    found = run(gpu, [contestant(gpu, "other", 10.0), picky], states=("hot",))
    assert found.notes == ["choosy cannot take 8x40x56: a: too few rows"]
    assert [row.name for row in found.select(ODD, "hot")] == ["other"]
    with pytest.raises(ArgumentError, match="choosy can take none of the shapes: a: too few rows"):
        run_session([picky], [ODD], gpu, place="cpu")


def test_a_peer_that_refuses_is_a_note() -> None:
    gpu = FakeGpu()

    def refuse(t: Tensors) -> Callable[[], object]:
        raise RuntimeError("self.size(0) needs to be greater than 16\nmore")

    peer = Contestant(name="peer", operands=Operands.of(config()), bind=refuse)
    found = run(gpu, [peer, contestant(gpu, "k", 10.0)], states=("hot",))
    assert found.notes[0] == "peer cannot take 64x96x32: self.size(0) needs to be greater than 16"
    assert {row.name for row in found.rows} == {"k"}


def test_a_chain_has_weights_beyond_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = Operands.of(config())
    assert weights_of_a_chain(operands, Shape(64, 7168, 2048)) == 7
    assert weights_of_a_chain(operands, Shape(16, 57344, 8192)) == 2
    monkeypatch.setattr("cutegen.bench.session._CHAIN_BYTES", 20_000)
    bound: list[int] = []
    gpu = FakeGpu()
    tiny = contestant(gpu, "k", 10.0)

    def bind(t: Tensors) -> Callable[[], object]:
        bound.append(t.b.data_ptr())
        return tiny.bind(t)

    one = Contestant(name="k", operands=operands, bind=bind, config=tiny.config)
    run_session([one], [ODD], gpu, place="cpu", rounds=1, states=("chain",))
    assert len(set(bound[1:])) == len(bound[1:]) == 5  # the first is that of the proof


def test_kernels_of_other_types_have_a_reference_of_their_own() -> None:
    gpu = FakeGpu()
    half = cutegen.resolve(cutegen.GemmConfig(arch="sm_80", a={"dtype": "f16"}, b={"dtype": "f16"}))
    members = [
        contestant(gpu, "torch.mm, bf16", 20.0, own=False, reference=True),
        contestant(gpu, "ours", 10.0),
    ]
    for name, us, own in (("torch.mm, f16", 30.0, False), ("ours, f16", 10.0, True)):
        base = contestant(gpu, name, us)
        members.append(
            Contestant(
                name=name,
                operands=Operands.of(half),
                bind=base.bind,
                config=half if own else None,
                reference=not own,
            )
        )
    ratios = {row.name: row.ratio for row in run(gpu, members, states=("hot",)).select(SMALL, "hot")}
    assert ratios["ours"] == pytest.approx(2.0)
    assert ratios["ours, f16"] == pytest.approx(3.0)


def test_progress_reaches_its_end() -> None:
    gpu, seen = FakeGpu(), []
    run(gpu, [contestant(gpu, "k", 10.0)], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, seen[0][1]) for i in range(1, seen[0][1] + 1)]


def test_csv_has_a_line_for_each_row() -> None:
    found = results()
    rows = list(csv.DictReader(io.StringIO(csv_text(found.rows))))
    assert len(rows) == 16
    assert rows[0] | {"m": "64", "n": "96", "k": "32", "state": "cool", "name": "torch.mm"} == rows[0]
    assert {float(row["ratio"]) for row in rows if row["name"] == "kernel 0"} == {1.1}
    assert csv_text([]) == ""


def test_the_report_says_what_the_figures_mean() -> None:
    found = results()
    text = "\n".join(facts_lines(found))
    assert "a launch that does nothing: 2.5 us cool, 2.5 us hot" in text
    assert "4000 GB/s of a copy here, or FLOP at 989.4 TFLOP/s for bf16 (data sheet, dense)" in text
    assert [row[:3] for row in summary_rows(found)] == [
        [str(shape), state, "kernel 0"] for shape in (SMALL, ODD) for state in ("cool", "hot")
    ]
    cells = row_cells(found.select(SMALL, "hot")[0])
    assert cells[:2] == ["kernel 0", "40.0"]
    assert cells[-1] == "1.100"


@pytest.mark.parametrize("kernels", [1, 2, 9])
def test_the_plot_is_svg_with_text(kernels: int) -> None:
    found = results(kernels=kernels)
    root = ET.fromstring(plot(found))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text or "" for element in root.iter(f"{space}text")]
    assert texts[0] == "Speed against torch.mm"
    assert texts.count(str(SMALL)) == 2  # once a state
    assert texts.count("1.10") == 4
    assert sum("slow & plain" in text for text in texts) == 4
    shown = {text.split(",")[0] for text in texts if re.match(r"kernel \d", text)}
    assert len(shown) == (kernels if kernels <= 4 else 1)
    style = next(root.iter(f"{space}style")).text or ""
    assert "prefers-color-scheme: dark" in style
    width = float(root.attrib["width"])
    for element in root.iter(f"{space}path"):
        numbers = list(map(float, re.findall(r"-?\d+\.?\d*", element.attrib["d"])))
        assert numbers[0] + numbers[2] < width


def test_a_plot_without_a_reference_is_empty_and_whole() -> None:
    gpu = FakeGpu()
    ET.fromstring(plot(run(gpu, [contestant(gpu, "k", 10.0)])))


def test_peers_that_there_are_not_are_said() -> None:
    def mine(d: str = "bf16", a: str = "bf16", major: str = "k") -> Contestant:
        operand = {"dtype": a, "major": major}
        settled = cutegen.resolve(
            cutegen.GemmConfig(arch="sm_80", a=operand, b={"dtype": a}, d={"dtype": d})  # type: ignore[arg-type]
        )
        return Contestant(
            name="x", operands=Operands.of(settled), bind=lambda t: lambda: None, config=settled
        )

    found, notes = peers(["torch"], [mine(d="f32")])
    assert not found
    assert notes == ["no torch for bf16 to f32: torch has no product of these types"]
    names = [peer.name for peer in peers(["torch"], [mine(), mine("f16", "f16", "m"), mine()])[0]]
    assert names == ["torch.mm, bf16", "torch.mm, f16, majors m, k, n"]


def test_a_peer_is_told_the_configs_of_its_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, asked = FakeGpu(), []

    def make(wanted: Asked) -> list[Contestant]:
        asked.append(wanted)
        return [contestant(gpu, f"of {wanted.configs[0].stages}", 1.0, own=False)]

    monkeypatch.setitem(PEERS, "other", make)
    one, two = contestant(gpu, "one", 1.0), contestant(gpu, "two", 1.0)
    (peer,), _ = peers(["other"], [one, two])
    assert peer.name == "of 4"
    assert asked[0].configs == (one.config, two.config)


@pytest.mark.parametrize(
    ("a", "b", "d", "majors", "there"),
    [
        ("tf32", "tf32", "f32", "kkn", True),
        ("s8", "s8", "s32", "kkn", True),
        ("e4m3", "e5m2", "bf16", "kkn", True),
        ("e4m3", "e4m3", "bf16", "mkn", False),
        ("e5m2", "e5m2", "bf16", "kkn", False),
        ("f64", "f64", "f64", "mnm", True),
        ("u8", "u8", "s32", "kkn", False),
    ],
)
def test_types_that_torch_multiplies(a: Any, b: Any, d: Any, majors: str, there: bool) -> None:
    operands = Operands(a=a, b=b, d=d, a_major=majors[0], b_major=majors[1], d_major=majors[2])
    assert isinstance(PEERS["torch"](Asked(operands=operands)), list) == there


def test_torch_peers_compute_what_is_asked() -> None:
    torch.set_float32_matmul_precision("medium")
    for a, d in (
        ("f32", "f32"),
        ("tf32", "f32"),
        ("bf16", "bf16"),
        ("f64", "f64"),
        ("s8", "s32"),
        ("e4m3", "bf16"),
    ):
        operands = Operands(a=a, b=a, d=d, a_major="k", b_major="k", d_major="n")  # type: ignore[arg-type]
        (peer,) = PEERS["torch"](Asked(operands=operands))
        assert isinstance(peer, Contestant)
        prove(peer, Shape(32, 48, 64), device="cpu")
        assert torch.get_float32_matmul_precision() == "highest"


def scaled(a: str = "e4m3", d: str = "bf16", **vectors: str) -> Operands:
    config = cutegen.GemmConfig(
        arch="sm_90a", a={"dtype": a}, b={"dtype": a}, d={"dtype": d}, mainloop="tma_wgmma", epilogue=vectors
    )
    return Operands.of(cutegen.resolve(config))


BOTH = {"scale_a": "row", "scale_b": "column"}


def test_torch_scales_rows_and_columns_of_fp8() -> None:
    for operands in (scaled(**BOTH), scaled(**BOTH, bias="column")):
        (peer,) = PEERS["torch"](Asked(operands=operands))
        assert isinstance(peer, Contestant)
        prove(peer, Shape(32, 48, 64), device="cpu")


def test_torch_sums_8_bit_floats_as_the_kernels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(torch, "_scaled_mm", lambda *_, **options: asked.append(options["use_fast_accum"]))
    for operands in (scaled(**BOTH), scaled()):
        for promoted in (False, True):
            (peer,) = PEERS["torch"](Asked(operands=replace(operands, promoted=promoted)))
            assert isinstance(peer, Contestant)
            peer.bind(random_tensors(operands, SMALL, device="cpu"))()
    assert asked == [True, False, True, False]


@pytest.mark.parametrize(
    "operands",
    [scaled("bf16", **BOTH), scaled("s8", **BOTH), scaled(d="f16", **BOTH), scaled(scale_a="row")],
    ids=["bf16", "s8", "f16 out", "rows alone"],
)
def test_other_scales_have_no_peer(operands: Operands) -> None:
    assert isinstance(PEERS["torch"](Asked(operands=operands)), str)


def test_cutlass_takes_part_where_its_builders_have_the_types() -> None:
    bf16 = Operands(a="bf16", b="bf16", d="bf16", a_major="k", b_major="k", d_major="n")
    names = [name for name, _ in collectives(bf16)]
    assert len(names) == len(set(names)) == 16
    assert {"cutlass pingpong 64x128 2x1", "cutlass stream-k 128x256 2x1"} <= set(names)
    for operands in (scaled(**BOTH), scaled(**BOTH, bias="column"), scaled("s8", scale_b="tensor")):
        configs = [made for _, made in collectives(operands)]
        assert len(configs) == 16
        assert {Operands.of(cutegen.resolve(made)) for made in configs} == {operands}
    made = PEERS["cutlass"](Asked(operands=replace(bf16, a="f64", b="f64")))
    assert isinstance(made, str)
    assert "no kernel of these types" in made


def test_vectors_of_a_run() -> None:
    operands = scaled(**BOTH, bias="column")
    assert str(operands) == "e4m3 to bf16, scale_a by row, scale_b by column, bias by column"
    vectors = random_tensors(operands, SMALL, device="cpu").vectors
    assert {name: tuple(v.shape) for name, v in vectors.items()} == {
        "scale_a": (64,),
        "scale_b": (96,),
        "bias": (96,),
    }
    assert vectors["bias"].dtype == torch.bfloat16
    assert vectors["scale_a"].dtype == torch.float32
    assert 0.5 <= vectors["scale_a"].min() < vectors["scale_a"].max() <= 1


def test_random_operands_are_as_the_operands_say() -> None:
    for a, majors in (("bf16", "kkn"), ("s8", "mnm"), ("e4m3", "mkn"), ("tf32", "knm")):
        operands = Operands(a=a, b=a, d="f32", a_major=majors[0], b_major=majors[1], d_major=majors[2])  # type: ignore[arg-type]
        t = random_tensors(operands, SMALL, device="cpu")
        assert [tuple(x.shape) for x in (t.a, t.b, t.d)] == [(64, 32), (96, 32), (64, 96)]
        unit = [x.stride().index(1) for x in (t.a, t.b, t.d)]
        assert unit == ["mk".index(majors[0]), "nk".index(majors[1]), "mn".index(majors[2])]
        assert (t.a.double() != 0).double().mean() > 0.9
        again = random_tensors(operands, SMALL, device="cpu")
        assert torch.equal(t.b.double(), again.b.double())


def test_rates_of_cards() -> None:
    assert peak_tflops("NVIDIA H200", "bf16") == 989.4
    assert peak_tflops("NVIDIA H100 PCIe", "f16") == 756
    assert peak_tflops("NVIDIA H100 80GB HBM3", "e4m3") == 1978.9
    assert peak_tflops("NVIDIA A100-SXM4-80GB", "tf32") == 156
    assert peak_tflops("NVIDIA A100-SXM4-80GB", "e4m3") is None
    assert peak_tflops("NVIDIA H100 NVL", "bf16") is None
    assert peak_tflops("NVIDIA GeForce RTX 4090", "bf16") is None


def test_names_are_made_unique() -> None:
    assert unique_names(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
