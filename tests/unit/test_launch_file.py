"""Launches in YAML: every mistake has its place; arrays are filled, expected and compared as said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutegen.emulator.arrays import ELEMENTS, compare, meaning, stored, stored_as
from cutegen.emulator.bound import bind_launch
from cutegen.emulator.expression import FUNCTIONS, evaluate
from cutegen.emulator.kernel import split_options
from cutegen.emulator.program import _kernels
from cutegen.emulator.report import EmulatorReport, Finding, Place
from cutegen.emulator.schedules import merge_reports, run_schedules
from cutegen.emulator.spec import ArraySpec, ScalarSpec, read_launch
from cutegen.errors import ArgumentError, ConfigError

HEAD = "kernel: k\ngrid: 1\nblock: 32\narguments:\n"


def bound(arguments: str, directory: Path = Path()) -> Any:
    return bind_launch(read_launch(HEAD + "".join(f"  - {line}\n" for line in arguments.splitlines())))


def test_short_and_long_forms() -> None:
    launch = read_launch(
        "{kernel: 'k<1>', grid: [2, 3], block: 64, shared: 16, arguments: [1, 2.5, null, true]}"
    )
    assert (launch.kernel, launch.grid, launch.block, launch.shared) == ("k<1>", (2, 3, 1), (64, 1, 1), 16)
    assert [a.value for a in launch.arguments if isinstance(a, ScalarSpec)] == [1, 2.5, None, True]
    launch = read_launch(
        HEAD + "  - {name: x, dtype: int64, shape: [4, 2], order: column, low: 0, high: 9}\n"
    )
    (array,) = launch.arguments
    assert isinstance(array, ArraySpec)
    assert (array.dtype, array.shape, array.column_major, array.output) == ("s64", (4, 2), True, False)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("[1]", "", "must be a mapping"),
        ("{grid: 1, block: 1}", "kernel", "must name a kernel (got null)"),
        ("{kernel: k, block: 1}", "grid", "must be one to three positive integers (got nothing)"),
        ("{kernel: k, grid: 0, block: 1}", "grid", "(got 0)"),
        ("{kernel: k, grid: 3, block: 1, cluster: 2}", "grid", "must be a multiple of the cluster [2, 1, 1]"),
        ("{kernel: k, grid: 1, block: 1, smem: 1}", "smem", "must be a field of a launch"),
        ("{kernel: k, grid: 1, block: 1, arguments: x}", "arguments", "must be a list"),
        (
            "{kernel: k, grid: 1, block: 1, arguments: [x]}",
            "arguments[0]",
            "must be a number, null or a mapping",
        ),
        ("{kernel: k, grid: 1, block: 1, arguments: [{dtype: f32}]}", "arguments[0].shape", "must be given"),
        ("{kernel: k, grid: 1, block: 1, arguments: [{shape: -1}]}", "arguments[0].shape", "must be extents"),
        ("{kernel: k, grid: 1, block: 1, arguments: [{shape: 1, fil: 1}]}", "arguments[0].fil", "mean fill?"),
        (
            "{kernel: k, grid: 1, block: 1, arguments: [{shape: 1, dtype: q}]}",
            "arguments[0].dtype",
            "must be one of",
        ),
        ("{kernel: k, grid: 1, block: 1, arguments: [{shape: 1, file: x}]}", "arguments[0].file", ".npy"),
        ("{kernel: k, grid: 1, block: 1, arguments: [{value: x}]}", "arguments[0].value", "must be a number"),
        ("{kernel: k, grid: 1, block: 1, arguments: [{bytes: zz}]}", "arguments[0].bytes", "hexadecimal"),
        (
            "{kernel: k, grid: 1, block: 1, arguments: [{shape: 1, low: 3}]}",
            "arguments[0].high",
            "at least low",
        ),
        (
            "{kernel: k, grid: 1, block: 1, arguments: [{name: x, shape: 1}, {name: x, shape: 1}]}",
            "arguments[1].name",
            "must be given once",
        ),
    ],
)
def test_a_mistake_has_its_place(text: str, field: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_launch(text if text.startswith("{") else text + "\n")
    assert any(
        v.field == field and message in f"{v.need} (got {v.got}); {v.fix}" for v in caught.value.violations
    )
    assert "<launch>:1:" in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "launch.yaml"
    file.write_text("kernel: k\ngrid: x\nblock: 1\narguments:\n  - {shape: 1, order: up}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_launch(str(file))
    assert [v.position for v in caught.value.violations] == [f"{file}:2:7", f"{file}:5:23"]


def test_no_such_file() -> None:
    with pytest.raises(ConfigError, match=r"nothing\.yaml: no such file"):
        read_launch("nothing.yaml")


class TestArrays:
    def test_fills(self) -> None:
        launch = bound(
            "{name: a, shape: [2, 3], fill: arange}\n"
            "{name: b, shape: [2, 3], dtype: f16, fill: a * 2}\n"
            "{name: c, shape: 4, dtype: u8}\n"
            "{name: d, shape: 2, output: true}\n"
            "{name: e, shape: 2, dtype: s32, output: true}\n"
            "{name: f, shape: 2, fill: zeros}\n"
            "{name: g, shape: 2, fill: 7, dtype: bf16}"
        )
        a, b, c, d, e, f, g = launch.arrays.values()
        assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (b.dtype, b.tolist()) == (np.float16, [[0, 2, 4], [6, 8, 10]])
        assert c.dtype == np.uint8
        assert c.max() <= 2
        assert np.isnan(d).all()
        assert e.tolist() == [123, 123]
        assert f.tolist() == [0, 0]
        assert meaning("bf16", g).tolist() == [7, 7]
        assert launch.launch.outputs == (3, 4)
        assert launch.launch.names == tuple("abcdefg")

    def test_random_elements_depend_on_the_seed_only(self) -> None:
        text = "{kernel: k, grid: 1, block: 1, seed: SEED, arguments: [{shape: 99}, {shape: 99}]}"
        first, again, other = (
            bind_launch(read_launch(text.replace("SEED", s))).arrays for s in ("1", "1", "2")
        )
        assert first[0].tolist() == again[0].tolist()
        assert first[0].tolist() != first[1].tolist()
        assert first[0].tolist() != other[0].tolist()

    def test_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        np.save("x.npy", np.arange(6).reshape(2, 3))
        launch = bound(
            "{name: x, dtype: f16, file: x.npy}\n{shape: [3, 2], expect: x.T, output: true, save: y.npy}"
        )
        launch.arrays[1][...] = launch.arrays[0].T
        assert launch.compare()[0].ok
        assert launch.save() == ["y.npy"]
        assert np.load("y.npy").tolist() == [[0, 3], [1, 4], [2, 5]]
        again = bound("{file: x.npy, expect: x.npy, dtype: s32}")
        assert again.compare()[0].ok
        Path("z.npy").write_text("nothing", encoding="utf-8")
        with pytest.raises(ConfigError, match=r"<launch>:5:12: arguments\[0\].file: z.npy is no .npy file"):
            bound("{file: z.npy}")
        with pytest.raises(ConfigError, match=r"w\.npy: no such file"):
            bound("{file: w.npy}")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("{shape: 4, fill: x + 1}", r"arguments\[0\].fill: 'x \+ 1': nothing is called 'x'"),
            ("{shape: 4, fill: arange(3)}", r"arguments\[0\].fill: .*shape"),
            ("{shape: 4, expect: zeros(3}", r"arguments\[0\].expect: 'zeros\(3' is no expression"),
            ("{shape: 4, dtype: u16, fill: -1}", r"arguments\[0\].fill: must be from 0 to 65535 to be u16"),
            ("{value: 1.5, dtype: s16}", r"arguments\[0\].value: must be a whole number"),
        ],
    )
    def test_what_cannot_be_filled(self, arguments: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            bound(arguments)

    def test_scalars_of_a_type_are_bytes(self) -> None:
        launch = bound(
            "{value: 1, dtype: f32}\n{value: 1, dtype: f16}\n{value: -1, dtype: s16}\n{bytes: 0a0b}\n7"
        )
        assert launch.launch.arguments == (b"\0\0\x80?", b"\0<", b"\xff\xff", b"\n\x0b", 7)

    @pytest.mark.parametrize("element", ELEMENTS)
    def test_small_integers_are_exact_in_every_type(self, element: str) -> None:
        values = np.array([0, 1]) if element == "bool" else np.array([0, 1, 2, 4])
        array = stored(element, values)
        assert array.dtype == stored_as(element)
        assert meaning(element, array).tolist() == values.tolist()


class TestComparison:
    def test_the_first_wrong_element_is_named(self) -> None:
        got = np.array([[1, 2], [3, 5]], np.float32)
        found = compare("y", "f32", got, np.array([[1, 2], [3, 4]]))
        assert (found.ok, found.wrong, found.index, found.got, found.want) == (False, 1, (1, 1), 5, 4)
        assert str(found) == "y: 1 of 4 elements wrong, first [1, 1]: got 5, must be 4"

    def test_what_must_be_is_rounded_to_the_type(self) -> None:
        assert compare("y", "f16", np.array([0.1], np.float16), np.array([0.1])).ok
        assert not compare("y", "f32", np.array([0.1], np.float32) * 1.001, np.array([0.1])).ok
        assert compare("y", "f32", np.array([0.1], np.float32) * 1.001, np.array([0.1]), rtol=0.01).ok
        assert compare("y", "s32", np.array([3], np.int32), 3).ok

    def test_nan_is_only_equal_to_nan(self) -> None:
        nan = np.array([np.nan], np.float32)
        assert compare("y", "f32", nan, nan).ok
        found = compare("y", "f32", nan, 0, rtol=1e9, atol=1e9)
        assert not found.ok
        assert found.to_dict()["got"] == "nan"

    def test_shapes_must_fit(self) -> None:
        with pytest.raises(ArgumentError, match=r"y: .* must have the shape \(2,\) \(got \(3,\)\)"):
            compare("y", "f32", np.zeros(2, np.float32), np.zeros(3))


NAMES = {"x": np.arange(6.0).reshape(2, 3), "n": 3}


class TestExpressions:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("x @ x.T", [[5, 14], [14, 50]]),
            ("x[1, 1:] * n + 1", [13, 16]),
            ("where((x > 1) & (x < 4), x, 0)", [[0, 0, 2], [3, 0, 0]]),
            ("x.sum(axis=0)", [3, 5, 7]),
            ("einsum('ij->ji', x)[0]", [0, 3]),
            ("-maximum(x, 4).max() % 4", 3),
            ("1 / zeros(1)", [np.inf]),
            ("stack((x[0], x[1]))[:, ::2]", [[0, 2], [3, 5]]),
        ],
    )
    def test_values(self, text: str, value: Any) -> None:
        assert np.array_equal(evaluate(text, NAMES), value)

    @pytest.mark.parametrize(
        "text",
        [
            "__import__('os')",
            "x.tofile('f')",
            "x.dtype",
            "(lambda: 1)()",
            "[i for i in x]",
            "x.__class__",
            "n.real",
            "open('f')",
            "x if n else x",
            "f'{x}'",
            "x.sum(out=x)",
            "9**9**9**9",
            "1 << 99999999999",
            "zeros(999999999999)",
            "x + ",
            "0 < n < 4",
            "y",
            "x @ x",
        ],
    )
    def test_what_is_refused(self, text: str) -> None:
        with pytest.raises(ArgumentError):
            evaluate(text, NAMES)

    def test_all_functions_exist(self) -> None:
        assert [name for name in FUNCTIONS if not callable(getattr(np, name, None))] == []


def finding(line: int, kind: str = "race-raw", count: int = 1) -> Finding:
    return Finding(
        kind=kind, place=Place(file="k.cu", line=line), other=None, block=(0, 0, 0), thread=0, tensor="",
        offset=None, bytes=4, message="", count=count,
    )  # fmt: skip


def test_reports_of_several_orders_are_put_together() -> None:
    reports = {
        3: EmulatorReport(kernel="k", findings=(finding(7, count=2),), ctas=4, seconds=1.0),
        4: EmulatorReport(kernel="k", findings=(finding(5), finding(7)), ctas=4, seconds=1.0, status=1),
    }
    merged = merge_reports(reports)
    assert [(f.place.line, f.count) for f in merged.findings] == [(5, 1), (7, 3)]
    assert (merged.ctas, merged.seconds, merged.status) == (4, 2.0, 1)
    assert merged.notes == (
        "2 orders of threads were run",
        "k.cu:5 [race-raw] was found in 1 of 2 orders, first with --seed 4",
    )
    assert merge_reports({3: reports[3]}) is reports[3]


def test_outputs_begin_each_order_as_they_were() -> None:
    out = np.array([1.0, 2.0])
    seen = []

    def run(seed: int) -> EmulatorReport:
        seen.append(out.tolist())
        out[...] = [seed % 2, 0]
        return EmulatorReport(kernel="k")

    after: list[int] = []
    report = run_schedules(run, {"out": out}, range(5, 8), after.append)
    assert seen == [[1, 2]] * 3
    assert after == [5, 6, 7]
    assert "out differs between the orders 5 and 6" in report.notes


@pytest.mark.parametrize(
    ("options", "macros", "others", "usable"),
    [
        (["-DA", "-D", "B=2", "-UC"], "#define A 1\n#define B 2\n#undef C\n", (), True),
        (
            ["-DF(x)=x", "-I", "d", "-isystem", "e", "-w"],
            "#define F(x) x\n",
            ("-Id", "-isystem", "e", "-w"),
            True,
        ),
        ([], "", (), True),
        (["-O2", "-DA"], "#define A 1\n", ("-O2",), False),
        (["-DCUTLASS_DEBUG_TRACE_LEVEL=1"], "", ("-DCUTLASS_DEBUG_TRACE_LEVEL=1",), False),
    ],
)
def test_options_beside_a_precompiled_header(
    options: list[str], macros: str, others: tuple[str, ...], usable: bool
) -> None:
    assert split_options(options) == (macros, others, usable)


def test_kernels_of_a_text() -> None:
    text = """
    // __global__ void no(int);
    template <class T> __global__ void a(T x) {}
    __global__ static void __launch_bounds__(128, 2) b(int* x) {}
    __global__ __launch_bounds__(decltype(size(Mma{}))::value) void c(int* x) {}
    template <class T>
    __global__ void
    d(T x);
    void e(int);
    """
    assert _kernels(text) == ["a", "b", "c", "d"]
