"""The reference, the exactness of its inputs, its tolerance and what a failed check says (G04, G06)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.config import GemmConfig
from cutegen.dtypes import DTYPES, dtype
from cutegen.errors import CheckFailedError
from cutegen.numerics import FORMATS, decode, encode, round_to, storage, unit_roundoff
from cutegen.reference import check, exact_inputs, operand_values, reference, tolerance, value_range

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed; install cutegen[torch]")
KINDS = [
    ("f16", "f32", "f16"),
    ("f16", "f16", "f16"),
    ("bf16", "f32", "bf16"),
    ("tf32", "f32", "f32"),
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("s8", "s32", "s32"),
    ("u8", "s32", "s32"),
    ("e4m3", "f32", "bf16"),
    ("e5m2", "f32", "f16"),
]


def config(a="f16", acc="f32", d=None, *, b=None, majors="kkn", tile=(16, 8, 16)):
    output = {"dtype": d or acc, "major": majors[2]}
    return GemmConfig(
        arch="sm_80",
        a={"dtype": a, "major": majors[0]},
        b={"dtype": b or a, "major": majors[1]},
        c=output,
        d=output,
        accumulator=acc,
        tile=tile,
    )


class TestRounding:
    @pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2"])
    def test_every_code_is_a_fixed_point(self, name):
        bits = dtype(name).bits
        codes = np.arange(2**bits).astype(f"uint{bits}")
        stored = codes.view(np.float16) if name == "f16" else codes
        values = decode(name, stored)
        finite = np.isfinite(values)
        np.testing.assert_array_equal(round_to(name, values)[finite], values[finite])
        again = encode(name, values)
        np.testing.assert_array_equal(again.view(codes.dtype)[finite], codes[finite])

    @pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2"])
    @given(data=st.data())
    def test_to_the_nearest_and_ties_to_even(self, name, data):
        fmt = FORMATS[name]
        bits = dtype(name).bits
        codes = np.arange(2 ** (bits - 1)).astype(f"uint{bits}")
        values = decode(name, codes.view(np.float16) if name == "f16" else codes)
        grid = values[np.isfinite(values)]
        i = data.draw(st.integers(0, len(grid) - 2))
        share = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.4999999]))
        x = grid[i] + share * (grid[i + 1] - grid[i])
        got = float(round_to(name, np.array([-x]))[0])
        if share == 0.5:
            assert -got in (grid[i], grid[i + 1])
            unit = math.ldexp(1.0, max(math.frexp(x)[1] - 1, fmt.min_exponent) - fmt.precision + 1)
            assert (-got / unit) % 2 == 0
        else:
            assert -got == (grid[i] if share < 0.5 else grid[i + 1])

    @pytest.mark.parametrize(
        ("name", "value", "stored"),
        [
            ("f16", 65472.0, 65472.0),
            ("f16", 65519.0, 65504.0),
            ("f16", 65520.0, np.inf),
            ("f16", -70000.0, -np.inf),
            ("bf16", 65536.0, 65536.0),
            ("bf16", 3.4e38, np.inf),
            ("f32", 3.5e38, np.inf),
            ("e4m3", 1000.0, 448.0),
            ("e4m3", -np.inf, -448.0),
            ("e5m2", 1e9, 57344.0),
            ("s8", 200.0, 127.0),
            ("s8", -200.0, -128.0),
            ("s8", 2.5, 2.0),
            ("u8", -3.0, 0.0),
            ("s32", 3e9, 2.0**31 - 1),
            ("s32", np.nan, 0.0),
        ],
    )
    @pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=needs_torch)])
    def test_out_of_range(self, name, value, stored, library):
        values = np.array([value])
        got = round_to(name, torch.from_numpy(values) if library == "torch" else values)
        assert float(got[0]) == stored

    @pytest.mark.parametrize("name", FORMATS)
    def test_nan_stays_nan(self, name):
        assert np.isnan(round_to(name, np.array([np.nan]))).all()
        if name not in ("tf32", "f32", "f64"):
            assert np.isnan(decode(name, encode(name, np.array([np.nan])))).all()

    @needs_torch
    @pytest.mark.parametrize("name", DTYPES)
    def test_numpy_and_torch_store_the_same_bits(self, name):
        rng = np.random.default_rng(7)
        scale = 100.0 if dtype(name).kind == "int" else 2.0 ** rng.integers(-6, 7, 1000)
        values = np.round(rng.standard_normal(1000) * scale, 4).astype(np.float32).astype(np.float64)
        ours = encode(name, values)
        theirs = encode(name, torch.from_numpy(values))
        size = dtype(name).bytes
        assert theirs.dtype is storage(name, torch=torch)
        np.testing.assert_array_equal(
            ours.view(f"uint{8 * size}"), theirs.view(torch.uint8).numpy().view(f"uint{8 * size}")
        )
        np.testing.assert_array_equal(decode(name, ours), decode(name, theirs).numpy())

    def test_tf32_operands_are_truncated(self):
        values = np.array([1 + 2.0**-10 + 2.0**-11, -(1 + 2.0**-11), 3.0], np.float32)
        want = [1 + 2.0**-10, -1.0, 3.0]
        np.testing.assert_array_equal(operand_values("tf32", values), want)
        if torch is not None:
            assert operand_values("tf32", torch.from_numpy(values)).tolist() == want
        assert operand_values("f32", values)[1] == values[1]

    @pytest.mark.parametrize("name", [name for name in DTYPES if name != "tf32"])
    def test_largest_exact_integer(self, name):
        """``exact_int`` of the type table is what the format says."""
        exact = float(DTYPES[name].exact_int)
        assert round_to(name, np.array([exact - 1, exact])).tolist() == [exact - 1, exact]
        assert round_to(name, np.array([exact + 1.0]))[0] != exact + 1.0 or name == "f64"


class TestExactInputs:
    @pytest.mark.parametrize("k", [0, 1, 7, 36, 128, 1000, 4097])
    @pytest.mark.parametrize(("a", "acc", "d"), KINDS)
    def test_every_order_of_summation_is_exact(self, a, acc, d, k):
        cfg = config(a, acc, d)
        made = exact_inputs(cfg, 24, 16, k, seed=k)
        x, y = operand_values(a, made.a), operand_values(a, made.b)
        assert (x == np.rint(x)).all()
        bound = np.abs(x) @ np.abs(y).T  # no partial sum is larger, whatever the order
        assert bound.max(initial=0) <= dtype(acc).exact_int
        if k >= 36:
            assert len(np.unique(x)) >= (2 if a == "u8" else 3)
            assert (x[:, -1] != 0).any()
            assert (y[:, -1] != 0).any()
        assert np.abs(decode(d, made.c)).max() <= 4

    @pytest.mark.parametrize(("a", "acc", "d"), [k for k in KINDS if k[2] not in ("s8", "u8")])
    def test_the_output_shows_every_unit_at_common_sizes(self, a, acc, d):
        cfg = config(a, acc, d)
        for k in (7, 128, 1000):
            made = exact_inputs(cfg, 64, 64, k)
            value = reference(cfg, made.a, made.b)
            if a != "u8":
                assert np.abs(value).max() <= dtype(d).exact_int

    def test_magnitude_falls_as_k_grows(self):
        cfg = config("f16", "f32", "f16")
        assert [value_range(cfg, k)[0] for k in (1, 1000, 100_000)] == [4, 4, 1]
        assert value_range(config("f16", "f16"), 16384) == (1, pytest.approx(0.32, abs=0.01))

    def test_f16_accumulator_at_large_k_stays_exact(self):
        cfg = config("f16", "f16")
        made = exact_inputs(cfg, 64, 64, 16384, seed=3)
        x, y = made.a.astype(np.float64), made.b.astype(np.float64)
        assert 1000 < (np.abs(x) @ np.abs(y).T).max() <= 2048

    @pytest.mark.parametrize("majors", ["kkn", "mnm", "knm", "mkn"])
    @pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=needs_torch)])
    def test_layouts_follow_the_config(self, majors, library):
        cfg = config("f32", "f32", majors=majors)
        made = exact_inputs(cfg, 6, 5, 7, device=None if library == "numpy" else "cpu")
        assert made.a.shape == (6, 7)
        assert made.b.shape == (5, 7)
        assert made.c.shape == (6, 5)
        strides = [
            tuple(s // t.itemsize for s in t.strides) if library == "numpy" else t.stride()
            for t in (made.a, made.b, made.c)
        ]
        assert strides[0] == ((7, 1) if majors[0] == "k" else (1, 6))
        assert strides[1] == ((7, 1) if majors[1] == "k" else (1, 5))
        assert strides[2] == ((5, 1) if majors[2] == "n" else (1, 6))

    def test_seeds(self):
        cfg = config()
        one, same, other = (exact_inputs(cfg, 8, 8, 8, seed=s) for s in (1, 1, 2))
        np.testing.assert_array_equal(one.a, same.a)
        assert (one.a != other.a).any()
        assert exact_inputs(cfg, 8, 8, 8, with_c=False).c is None

    @needs_torch
    @pytest.mark.parametrize(("a", "acc", "d"), KINDS)
    def test_torch_inputs_are_as_exact(self, a, acc, d):
        cfg = config(a, acc, d)
        made = exact_inputs(cfg, 24, 16, 4097, device="cpu")
        assert made.a.dtype is storage(a, torch=torch)
        x, y = operand_values(a, made.a), operand_values(a, made.b)
        assert (x.abs() @ y.abs().T).max() <= dtype(acc).exact_int
        assert set(x.unique().tolist()) <= set(range(-4, 5))


class TestReference:
    @pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (2, -1), (0.5, 3), (0, 1)])
    def test_by_hand(self, alpha, beta):
        cfg = config("f32", "f32")
        a, b = np.array([[1, 2], [3, 4]], np.float32), np.array([[5, 6], [7, 8], [9, 10]], np.float32)
        c = np.ones((2, 3), np.float32)
        want = alpha * np.array([[17, 23, 29], [39, 53, 67]]) + beta
        np.testing.assert_array_equal(reference(cfg, a, b, c, alpha=alpha, beta=beta), want)

    def test_g01_beta_zero_does_not_read_c(self):
        cfg = config("f32", "f32")
        c = np.full((2, 2), np.nan, np.float32)
        assert np.isfinite(reference(cfg, np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), c)).all()

    @pytest.mark.parametrize(("k", "f16"), [(1023, 65472.0), (1024, np.inf)])
    def test_g04_overflow(self, k, f16):
        a = np.full((1, k), 8.0, np.float16)
        for d, want in (("f16", f16), ("f32", 64.0 * k), ("bf16", 65536.0)):
            cfg = config("f16", "f32", d)
            assert round_to(d, reference(cfg, a, a))[0, 0] == want


class TestCheck:
    def run(self, cfg, m=40, n=24, k=32, **options):
        made = exact_inputs(cfg, m, n, k)
        got = encode(cfg.d.dtype, reference(cfg, made.a, made.b))
        return made, got, options

    @pytest.mark.parametrize(("a", "acc", "d"), KINDS)
    def test_right(self, a, acc, d):
        cfg = config(a, acc, d)
        made, got, _ = self.run(cfg)
        report = check(cfg, got, made.a, made.b)
        assert report.ok
        assert (report.total, report.worst) == (960, 0.0)
        report.require()
        assert str(report) == "all 960 elements are right"

    def test_one_wrong_element_is_found_and_placed(self):
        cfg = config("f16", "f32", "f32")
        made, got, _ = self.run(cfg)
        got[21, 13] += 1
        got[39, 2] = np.nan
        report = check(
            cfg, got, made.a, made.b, thread_of=lambda m, n: 32 * (m // 8) + n, repro="cutegen run x --seed 3"
        )
        assert (report.bad, report.worst) == (2, 1.0)
        assert (report.first.m, report.first.n, report.first.tile) == (21, 13, (1, 1))
        with pytest.raises(CheckFailedError) as caught:
            report.require()
        text = str(caught.value)
        assert text.startswith("2 of 960 elements are wrong; the first: D(21, 13) must be ")
        assert "CTA tile (1, 1), warp 0, lane 5" in text
        assert "reproduce with: cutegen run x --seed 3" in text

    def test_an_output_left_as_nan_is_wrong_everywhere(self):
        cfg = config("f16", "f32", "f16")
        made, got, _ = self.run(cfg)
        report = check(cfg, np.full_like(got, np.nan), made.a, made.b)
        assert report.bad == report.total
        assert "got nan" in str(report)

    def test_expected_infinities_and_nans_are_right(self):
        cfg = config("f16", "f32", "f16")
        a = np.full((2, 1024), 8.0, np.float16)
        b = a.copy()
        b[1, 0] = np.nan
        got = np.array([[np.inf, np.nan], [np.inf, np.nan]], np.float16)
        assert check(cfg, got, a, b).ok
        got[0, 0] = 65504
        assert check(cfg, got, a, b).bad == 1

    def test_blocks_of_rows_are_all_compared(self, monkeypatch):
        monkeypatch.setattr("cutegen.reference._BLOCK", 100)
        cfg = config("f16", "f32", "f32", majors="mnm")
        made, got, _ = self.run(cfg)
        assert check(cfg, got, made.a, made.b).total == 960
        got[37, 23] -= 1
        report = check(cfg, got, made.a, made.b)
        assert (report.bad, report.first.m, report.first.n) == (1, 37, 23)

    def test_alpha_beta_and_c(self):
        cfg = config("f16", "f32", "f16")
        made = exact_inputs(cfg, 8, 8, 8)
        value = 2 * made.a.astype(float) @ made.b.astype(float).T - made.c.astype(float)
        assert check(cfg, value.astype(np.float16), made.a, made.b, made.c, alpha=2, beta=-1).ok
        assert not check(cfg, value.astype(np.float16), made.a, made.b, made.c, alpha=2, beta=1).ok

    @pytest.mark.parametrize("shape", [(0, 8), (8, 0)])
    def test_empty(self, shape):
        cfg = config()
        a, b = np.zeros((shape[0], 4), np.float16), np.zeros((shape[1], 4), np.float16)
        report = check(cfg, np.zeros(shape, np.float32), a, b)
        assert report.ok
        assert report.total == 0

    @needs_torch
    def test_torch(self):
        cfg = config("bf16", "f32", "bf16", majors="mnm")
        made = exact_inputs(cfg, 40, 24, 32, device="cpu")
        got = (made.a.double() @ made.b.double().T).bfloat16()
        assert check(cfg, got, made.a, made.b).ok
        got[21, 13] += 4
        report = check(cfg, got, made.a, made.b)
        assert (report.bad, report.first.m, report.first.n) == (1, 21, 13)


class TestVectors:
    """Scales of rows and columns, or of all, and a bias."""

    def scaled(self, d="f16", **epilogue):
        every = {"scale_a": "row", "scale_b": "column", "bias": "column"}
        return config("f16", "f32", d).replace(epilogue=epilogue or every)

    def test_by_hand(self):
        a, b = np.float16([[1, 2], [3, 4]]), np.float16([[1, 0], [1, 1], [0, 1]])
        vectors = {
            "scale_a": np.float32([2, 0.5]),
            "scale_b": np.float32([[1, 2, 4]]),
            "bias": np.float16([1, 0, -1]),
        }
        want = [[4 + 1, 24, 32 - 1], [3 + 1, 14, 16 - 1]]
        assert reference(self.scaled(), a, b, alpha=2, **vectors).tolist() == want
        tensor = self.scaled(scale_b="tensor")
        assert reference(tensor, a, b, scale_b=np.float32(0.5)).tolist() == [[0.5, 1.5, 1.0], [1.5, 3.5, 2.0]]

    def test_exact_inputs(self):
        cfg = self.scaled("s8")
        made = exact_inputs(cfg, 24, 16, 32, seed=1)
        assert [v.shape for v in made.vectors.values()] == [(24,), (16,), (16,)]
        assert {v.dtype.name for v in made.vectors.values()} == {"float32"}
        assert set(np.log2(made.vectors["scale_a"])) <= {-2, -1, 0, 1}
        plain = exact_inputs(cfg.replace(epilogue={}), 24, 16, 32, seed=1)
        assert plain.vectors == {}
        assert np.array_equal(plain.a, made.a)

    @pytest.mark.parametrize("exact", [True, False])
    def test_blocks_of_rows_keep_their_scales(self, monkeypatch, exact):
        monkeypatch.setattr("cutegen.reference._BLOCK", 100)
        cfg = self.scaled("f32")
        made = exact_inputs(cfg, 40, 24, 32)
        got = reference(cfg, made.a, made.b, **made.vectors).astype(np.float32)
        assert check(cfg, got, made.a, made.b, **made.vectors, exact=exact).ok
        other = dict(made.vectors) | {"scale_a": made.vectors["scale_a"][::-1]}
        assert check(cfg, got, made.a, made.b, **other, exact=exact).bad > 100
        allowed = tolerance(cfg, made.a, made.b, **made.vectors)
        assert (
            allowed < tolerance(cfg, made.a, made.b, **(made.vectors | {"bias": 64 * made.vectors["bias"]}))
        ).any()

    @needs_torch
    def test_torch(self):
        cfg = self.scaled("bf16")
        made = exact_inputs(cfg, 40, 24, 32, device="cpu")
        product = made.a.double() @ made.b.double().T
        scaled = made.vectors["scale_a"][:, None] * product * made.vectors["scale_b"][None]
        got = (scaled + made.vectors["bias"].double()).bfloat16()
        assert made.vectors["bias"].dtype is torch.bfloat16
        assert check(cfg, got, made.a, made.b, **made.vectors).ok


class TestTolerance:
    """G06: it grows with K, takes what an honest f32 accumulation gives, and refuses a lost k-block."""

    @pytest.mark.parametrize("k", [64, 1024, 7168, 16384])
    @pytest.mark.parametrize("positive", [False, True])
    def test_accepts_sequential_f32_sums_and_refuses_a_missing_k_block(self, k, positive):
        cfg = config("f16", "f32", "f32")
        rng = np.random.default_rng(k)
        a, b = (
            (rng.random((16, k)) if positive else rng.standard_normal((16, k))).astype(np.float16)
            for _ in range(2)
        )
        got = np.zeros((16, 16), np.float32)
        for i in range(0, k, 8):  # truncated after each eight products, as a tensor core may
            part = got + a[:, i : i + 8].astype(np.float64) @ b[:, i : i + 8].astype(np.float64).T
            got = np.nextafter(part.astype(np.float32), np.float32(0))
        report = check(cfg, got, a, b, exact=False)
        assert report.ok, str(report)
        assert 0 < report.worst < 1
        assert not check(cfg, got, a, b, exact=True).ok
        lost = (a[:, 16:].astype(np.float64) @ b[:, 16:].astype(np.float64).T).astype(np.float32)
        assert check(cfg, lost, a, b, exact=False).bad > 200

    def test_grows_with_k(self):
        rng = np.random.default_rng(0)
        sizes = []
        for k in (1024, 2048, 16384):
            a, b = (rng.standard_normal((8, k)).astype(np.float16) for _ in range(2))
            cfg = config("f16", "f32", "f32")
            sizes.append(float(np.mean(tolerance(cfg, a, b))))
        assert sizes[0] < sizes[1] < sizes[2]
        assert sizes[0] < 0.05 * 32  # a small part of the spread of D at K = 1024

    def test_rounding_of_the_output_counts(self):
        rng = np.random.default_rng(0)
        cfg = config("bf16", "f32", "bf16")
        a, b = (encode("bf16", rng.standard_normal((32, 256))) for _ in range(2))
        got = encode("bf16", reference(cfg, a, b))
        assert check(cfg, got, a, b, exact=False).ok
        assert unit_roundoff("bf16") == 2.0**-8
        assert unit_roundoff("s32") == 0.0
        off = encode("bf16", 1.02 * reference(cfg, a, b))
        assert not check(cfg, off, a, b, exact=False).ok

    @pytest.mark.parametrize(("out", "unit"), [("f16", 2.0**-6), ("s8", 1.0)])
    def test_a_sum_beside_the_middle_may_be_rounded_either_way(self, out, unit):
        """18 and half a unit less a little: an honest sum that errs by that little stores the value above."""
        cfg = config("f16", "f32", out)
        base = 18.0
        a = np.array([[base, unit / 2, -(2.0**-20)]], np.float16)
        b = np.ones((1, 3), np.float16)
        for units, right in ((-1, False), (0, True), (1, True), (2, False)):
            got = encode(out, np.array([[base + units * unit]]))
            assert check(cfg, got, a, b, exact=False).ok is right, units

    def test_subnormal_outputs(self):
        cfg = config("f16", "f32", "f16")
        a, b = np.array([[2.0**-13]], np.float16), np.array([[1.4 * 2.0**-11]], np.float16)
        got = encode("f16", reference(cfg, a, b))
        assert check(cfg, got, a, b, exact=False).ok
        assert not check(cfg, got + np.float16(2.0**-23), a, b, exact=False).ok

    def test_overflow_is_compared_as_it_is_stored(self):
        a, b = np.full((1, 4), 200, np.float16), np.full((1, 4), 200, np.float16)
        for out, stored, wrong in (("f16", np.inf, 6e4), ("e4m3", 448.0, 224.0)):
            cfg = config("f16", "f32", out)
            assert check(cfg, encode(out, np.array([[stored]])), a, b, exact=False).ok
            assert not check(cfg, encode(out, np.array([[wrong]])), a, b, exact=False).ok
