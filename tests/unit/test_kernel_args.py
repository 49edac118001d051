"""What a kernel call accepts, refuses and hands to the launcher (handed cases E04 to G01, J)."""

from __future__ import annotations

import re
import sys
import threading

import numpy as np
import pytest

from cutegen.errors import ArgumentError, LaunchError, ToolchainError
from cutegen.install import install_command
from tests.support import fake_torch
from tests.support.fake_kernel import Streams, config, make_kernel
from tests.support.fake_torch import DTYPES, Allocations, Tensor, tensor


@pytest.fixture
def allocations(monkeypatch):
    made = Allocations()
    monkeypatch.setattr("cutegen.signature.import_torch", lambda: fake_torch.module(made))
    return made


@pytest.fixture
def make(monkeypatch, allocations):
    def make(*args, streams=None, compute=True, rebuild=None, device_type="cuda", **options):
        return make_kernel(
            config(*args, **options),
            monkeypatch,
            streams=streams,
            compute=compute,
            rebuild=rebuild,
            device_type=device_type,
        )

    return make


def want(a, b_nk, alpha=1.0, beta=0.0, c=None):
    value = alpha * (a.array.astype(np.float64) @ b_nk.array.astype(np.float64).T)
    return value + beta * c.array.astype(np.float64) if beta else value


def operand(rows, columns, major, dtype="f32"):
    """A (rows, columns) tensor with stride 1 along mode ``major``."""
    name = {"f32": "float32", "f16": "float16"}[dtype]
    return tensor((rows, columns), name) if major else tensor((columns, rows), name).t()


class TestResults:
    @pytest.mark.parametrize("d", ["n", "m"])
    @pytest.mark.parametrize("b", ["k", "n"])
    @pytest.mark.parametrize("a", ["k", "m"])
    @pytest.mark.parametrize(("m", "n", "k"), [(256, 128, 64), (136, 264, 72), (4, 8, 12), (8, 8, 8)])
    def test_f05_rectangular_in_every_layout(self, make, a, b, d, m, n, k):
        kernel, library = make("f32", a=a, b=b, d=d)
        x = operand(m, k, a == "k")
        y = operand(n, k, b == "k")
        result = kernel(x, y, b_is="nk")
        np.testing.assert_array_equal(result.array, want(x, y))
        assert result.stride() == ((n, 1) if d == "n" else (1, m))
        c = operand(m, n, d == "n")
        out = operand(m, n, d == "n")
        assert kernel(x, y.t(), c, out, alpha=2, beta=-1) is out
        np.testing.assert_array_equal(out.array, want(x, y, 2, -1, c))
        assert len(library.launches) == 2

    def test_views_with_offset_and_pitch(self, make):
        kernel, library = make("f32")
        a = tensor((64, 96), "float32")[8:40, 4:68]
        b = tensor((64, 128), "float32")[4:20, 64:128]
        out = tensor((40, 32), "float32")[4:36, 8:24]
        kernel(a, b, out=out)
        np.testing.assert_array_equal(out.array, want(a, b))
        p = library.launches[0].p
        assert (p.m, p.n, p.k, p.lda, p.ldb, p.ldd) == (32, 16, 64, 96, 128, 32)
        assert (p.a, p.b, p.d) == (a.data_ptr(), b.data_ptr(), out.data_ptr())

    def test_an_expanded_row_is_read_with_stride_zero(self, make):
        kernel, library = make("f32")
        a = tensor((1, 64), "float32").as_strided((32, 64), (0, 1))
        b = tensor((16, 64), "float32")
        np.testing.assert_array_equal(kernel(a, b).array, want(a, b))
        assert library.launches[0].p.lda == 0

    def test_only_the_output_is_allocated(self, make, allocations):
        kernel, _ = make("f32")
        a, b = tensor((8, 16), "float32"), tensor((4, 16), "float32")
        out = kernel(a, b)
        kernel(a, b, out=out)
        assert allocations.made == [((8, 4), (4, 1), DTYPES["float32"], "cuda:0")]


class TestOrientationOfB:
    """``kernel(a, b)`` is ``torch.mm(a, b)``; only what torch.mm refuses is taken as (N,K)."""

    def test_f01_weight_transposed_is_k_major_without_a_copy(self, make, allocations):
        kernel, library = make("f16")
        a, w = tensor((16, 64)), tensor((32, 64))
        assert w.t().stride() == (1, 64)
        out = kernel(a, w.t())
        np.testing.assert_array_equal(out.array, want(a, w))
        assert library.launches[0].p.b == w.data_ptr()
        assert len(allocations.made) == 1  # the output

    def test_the_weight_itself_is_the_same_operand(self, make):
        kernel, library = make("f16")
        a, w = tensor((16, 64)), tensor((32, 64))
        np.testing.assert_array_equal(kernel(a, w).array, kernel(a, w.t()).array)
        first, second = library.launches
        assert (first.p.b, first.p.ldb, first.p.n) == (second.p.b, second.p.ldb, second.p.n)

    def test_f01_a_contiguous_kn_belongs_to_the_n_major_kernel(self, make):
        a, w = tensor((16, 64)), tensor((64, 32))
        right, library = make("f16", b="n")
        np.testing.assert_array_equal(right(a, w).array, want(a, w.t()))
        assert library.launches[0].p.ldb == 32
        wrong, library = make("f16", b="k")
        with pytest.raises(
            ArgumentError, match=r"b: K must have stride 1, as b.major of this kernel is k"
        ) as e:
            wrong(a, w)
        assert "given as (K,N)" in str(e.value)
        assert "b: {major: n}" in str(e.value)
        assert library.launches == []

    def test_a_square_b_is_read_as_torch_mm_reads_it(self, make):
        a, w = tensor((16, 64)), tensor((64, 64))
        kernel, library = make("f16", b="k")
        np.testing.assert_array_equal(kernel(a, w.t()).array, want(a, w))
        with pytest.raises(ArgumentError, match=r"a square b is read as \(K,N\), as by torch.mm") as caught:
            kernel(a, w)
        assert "W.t()" in str(caught.value)
        assert "b_is='nk'" in str(caught.value)
        np.testing.assert_array_equal(kernel(a, w, b_is="nk").array, want(a, w))
        assert len(library.launches) == 2
        kernel, _ = make("f16", b="n")
        np.testing.assert_array_equal(kernel(a, w).array, want(a, w.t()))
        with pytest.raises(ArgumentError, match=r"b: N must have stride 1"):
            kernel(a, w.t())

    def test_the_keyword_overrules_the_shape_and_the_latest_call(self, make):
        kernel, library = make("f16", b="k")
        a, w, out = tensor((16, 64)), tensor((64, 64)), tensor((16, 64))
        kernel(a, w, out=out, b_is="nk")
        kernel(a, w, out=out, b_is="nk")
        with pytest.raises(ArgumentError, match="square"):
            kernel(a, w, out=out)
        with pytest.raises(ArgumentError, match=r"given as \(K,N\)|square"):
            kernel(a, w, out=out, b_is="kn")
        assert len(library.launches) == 2

    @pytest.mark.parametrize(
        ("shape", "order", "message"),
        [
            (
                (32, 48),
                None,
                r"b: must be \(K,N\), as for torch.mm, or \(N,K\) with K = 64.*got shape \(32, 48\)",
            ),
            ((64, 32), "nk", r"b: must be \(N,K\) with K = 64"),
            ((32, 64), "kn", r"b: must be \(K,N\) with K = 64"),
            ((32, 64), "NK", r"b_is: must be 'nk', 'kn' or None \(got 'NK'\)"),
        ],
    )
    def test_k_must_agree(self, make, shape, order, message):
        kernel, _ = make("f16")
        with pytest.raises(ArgumentError, match=message):
            kernel(tensor((16, 64)), tensor(shape), b_is=order)


class TestSmallExtents:
    @pytest.mark.parametrize(
        ("a_stride", "b_stride"), [((64, 1), (64, 1)), ((1, 1), (1, 1)), ((7, 1), (999, 1))]
    )
    def test_e06_strides_of_extent_one_do_not_count(self, make, a_stride, b_stride):
        kernel, library = make("f32", align=4)
        a = tensor((1, 64), "float32").as_strided((1, 64), a_stride)
        b = tensor((1, 64), "float32").as_strided((1, 64), b_stride)
        np.testing.assert_array_equal(kernel(a, b, b_is="nk").array, want(a, b))
        assert library.launches[0].p.lda == 64

    def test_e06_a_column_with_k_of_one(self, make):
        kernel, _ = make("f32", align=4)
        a, b = tensor((16, 1), "float32"), tensor((8, 1), "float32")
        np.testing.assert_array_equal(kernel(a, b).array, want(a, b))
        np.testing.assert_array_equal(kernel(a, b.t()).array, want(a, b))
        kernel, _ = make("f32", a="m", align=4)
        np.testing.assert_array_equal(kernel(a, b).array, want(a, b))

    def test_e06_matrix_times_vector(self, make):
        kernel, _ = make("f32", align=4)
        a, b = tensor((12, 64), "float32"), tensor((1, 64), "float32")
        result = kernel(a, b.t())
        assert result.shape == (12, 1)
        np.testing.assert_array_equal(result.array, want(a, b))
        wide, _ = make("f32")
        with pytest.raises(ArgumentError, match=r"out: .*a run along N is 4 B"):
            wide(a, b.t())

    @pytest.mark.parametrize(("m", "n"), [(0, 8), (8, 0), (0, 0)])
    def test_e04_an_empty_result_launches_nothing(self, make, m, n):
        kernel, library = make("f32")
        a, b = tensor((m, 16), "float32"), tensor((n, 16), "float32")
        assert kernel(a, b, b_is="nk").shape == (m, n)
        out = tensor((m, n), "float32")
        for _ in range(2):
            assert kernel(a, b, out=out, b_is="nk") is out
        assert kernel.plan(a, b, out=out, b_is="nk")() is out
        assert library.launches == []

    def test_k_of_zero_gives_beta_times_c(self, make):
        kernel, library = make("f32")
        a, b = tensor((8, 0), "float32"), tensor((4, 0), "float32")
        c = tensor((8, 4), "float32")
        np.testing.assert_array_equal(kernel(a, b).array, np.zeros((8, 4)))
        np.testing.assert_array_equal(kernel(a, b.t(), c, beta=3).array, 3 * c.array)
        assert [launch.p.k for launch in library.launches] == [0, 0]


class TestRefusals:
    def refuse(self, kernel, library, match, *args, **kwargs):
        with pytest.raises(ArgumentError, match=match):
            kernel(*args, **kwargs)
        with pytest.raises(ArgumentError, match=match):
            kernel.plan(*args, **kwargs)
        assert library.launches == []

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"a": tensor((16, 64), "bfloat16")}, r"a: dtype must be torch.float16 \(got torch.bfloat16\)"),
            ({"b": tensor((32, 64), "bfloat16")}, r"b: dtype must be torch.float16 \(got torch.bfloat16\)"),
            ({"a": tensor((16, 64), "float64")}, r"a: dtype must be torch.float16 \(got torch.float64\)"),
            (
                {"a": tensor((2, 16, 64))},
                r"a: must have 2 dimensions, \(M,K\) \(got 3, shape \(2, 16, 64\)\)",
            ),
            ({"b": tensor((64,))}, r"b: must have 2 dimensions, \(N,K\) \(got 1, shape \(64,\)\)"),
            ({"a": tensor((16, 64), device="cpu")}, r"a: must be on a cuda device \(got a tensor on cpu\)"),
            ({"b": tensor((32, 64), device="cpu")}, r"b: must be on a cuda device \(got a tensor on cpu\)"),
            ({"b": tensor((32, 64), device="cuda:1")}, r"b: must be on cuda:0, as a is \(got cuda:1\)"),
            ({"out": tensor((16, 32), device="cuda:1")}, r"out: must be on cuda:0, as a is \(got cuda:1\)"),
            ({"c": tensor((16, 32), device="cpu"), "beta": 1}, r"c: must be on a cuda device"),
            ({"a": np.zeros((16, 64), np.float16)}, r"a: must be a torch tensor .*\(got numpy.ndarray\)"),
            ({"b": None}, r"b: must be a torch tensor on a cuda device \(got builtins.NoneType\)"),
            ({"b": [[1.0]]}, r"b: must be a torch tensor on a cuda device \(got builtins.list\)"),
            ({"out": tensor((32, 16))}, r"out: must have shape \(M,N\) = \(16, 32\) \(got \(32, 16\)\)"),
            ({"out": tensor((16, 32), "float32")}, r"out: dtype must be torch.float16 \(got torch.float32\)"),
            ({"out": tensor((32, 16)).t()}, r"out: N must have stride 1, as d.major of this kernel is n"),
            ({"out": np.zeros((16, 32))}, r"out: must be a torch tensor"),
            ({"c": tensor((32,)), "beta": 1}, r"c: must have 2 dimensions, \(M,N\) \(got 1"),
            ({"c": tensor((1, 32)), "beta": 1}, r"c: must have shape \(M,N\) = \(16, 32\) \(got \(1, 32\)\)"),
            ({"beta": 0.5}, r"c: must be given when beta is not 0 \(got c=None with beta = 0.5\)"),
            ({"beta": float("nan")}, r"c: must be given when beta is not 0"),
            ({"alpha": "2"}, r"alpha: must be a real number \(got str\)"),
            ({"alpha": np.zeros(3)}, r"alpha: must be a real number \(got ndarray\)"),
            ({"alpha": tensor((1,))}, r"alpha: must be a real number \(got Tensor\)"),
            ({"beta": 1j, "c": tensor((16, 32))}, r"beta: must be a real number \(got complex\)"),
            ({"out": tensor((1, 32)).as_strided((16, 32), (0, 1))}, r"out: elements must not overlap.*got 0"),
            ({"out": tensor((16, 32)).as_strided((16, 32), (16, 1))}, r"out: elements must not overlap"),
            ({"a": tensor((16, 128))[:, ::2]}, r"a: K must have stride 1.*no mode with stride 1"),
            ({"a": tensor((64, 16)).t()}, r"a: K must have stride 1.*stride 1 along M.*a: \{major: m\}"),
        ],
    )
    def test_f07_names_argument_got_and_want(self, make, change, match):
        kernel, library = make("f16")
        call = {"a": tensor((16, 64)), "b": tensor((32, 64)), **change}
        self.refuse(kernel, library, match, **call)

    def test_j06_first_tensor_on_the_cpu(self, make):
        kernel, library = make("f16")
        self.refuse(kernel, library, "b: must be on a cuda", tensor((16, 64)), tensor((32, 64), device="cpu"))

    def test_sparse_and_lazily_negated_tensors(self, make):
        kernel, library = make("f16")
        sparse, negated = tensor((16, 64)), tensor((16, 64))
        sparse.layout, negated.negated = fake_torch.sparse_coo, True
        b = tensor((32, 64))
        self.refuse(kernel, library, r"a: must be a plain strided tensor \(got torch.sparse_coo\)", sparse, b)
        self.refuse(kernel, library, r"a: must be a plain strided tensor \(got a lazily negated", negated, b)

    def test_a_known_shape_does_not_hide_a_negated_view(self, make):
        kernel, library = make("f16")
        a, b, out = tensor((16, 64)), tensor((32, 64)), tensor((16, 32))
        kernel(a, b, out=out)
        other = tensor((16, 64))
        other.negated = True
        with pytest.raises(ArgumentError, match="negated"):
            kernel(other, b, out=out)
        assert len(library.launches) == 1

    @pytest.mark.parametrize("which", ["a", "b"])
    def test_out_must_not_overlap_an_input(self, make, which):
        kernel, library = make("f16")
        tensors = {"a": tensor((64, 64)), "b": tensor((64, 64)).t()}
        with pytest.raises(ArgumentError, match=f"out: must not overlap {which} in memory"):
            kernel(**tensors, out=tensors[which] if which == "a" else tensors["b"].t())
        assert library.launches == []

    def test_overlap_is_found_on_a_warm_call_too(self, make):
        kernel, library = make("f16")
        a, b = tensor((64, 64)), tensor((64, 64)).t()
        kernel(a, b, out=tensor((64, 64)))
        with pytest.raises(ArgumentError, match="out: must not overlap a"):
            kernel(a, b, out=a)
        assert len(library.launches) == 1

    def test_out_beside_a_in_one_buffer_is_fine(self, make):
        kernel, _ = make("f16")
        buffer = tensor((16, 128))
        a, out, b = buffer[:, :64], buffer[:, 64:96], tensor((32, 64))
        expected = want(a, b)
        np.testing.assert_array_equal(kernel(a, b, out=out).array, expected)

    def test_misalignment_is_refused_and_found_on_a_warm_call_too(self, make):
        kernel, library = make("f16")
        base = tensor((17, 64))
        b, out = tensor((32, 64)), tensor((16, 32))
        kernel(base[:16], b, out=out)
        shifted = base.as_strided((16, 64), (64, 1), 4)
        with pytest.raises(ArgumentError, match=r"a: address, pitch .* multiples of 16 bytes.*got 8"):
            kernel(shifted, b, out=out)
        assert len(library.launches) == 1

    @pytest.mark.parametrize(
        ("shape", "match"),
        [
            ((2**31 - 1, 0), r"a: M must be at most 2147483520 \(got 2147483647\)"),
            ((0, 2**31), r"a: K must be at most 2147483616"),
        ],
    )
    def test_extents_must_fit_the_tile_in_32_bits(self, make, shape, match):
        kernel, _ = make("f16")
        a = Tensor(np.lib.stride_tricks.as_strided(np.zeros(8, np.float16), shape, (0, 2)), DTYPES["float16"])
        b = Tensor(
            np.lib.stride_tricks.as_strided(np.zeros(8, np.float16), (8, shape[1]), (0, 2)), DTYPES["float16"]
        )
        with pytest.raises(ArgumentError, match=match):
            kernel(a, b, b_is="nk")

    def test_strides_beyond_32_bits_pass(self, make):
        kernel, library = make("f16", compute=False)
        a = Tensor(
            np.lib.stride_tricks.as_strided(fake_torch.aligned(64, np.float16), (16, 64), (2**34, 2)),
            DTYPES["float16"],
        )
        kernel(a, tensor((32, 64)))
        assert library.launches[0].p.lda == 2**33


class TestC:
    def test_g01_beta_zero_hands_over_no_c(self, make):
        kernel, library = make("f32")
        a, b = tensor((8, 16), "float32"), tensor((4, 16), "float32")
        c = tensor((8, 4), "float32")
        c.array[:] = np.nan
        assert np.isfinite(kernel(a, b, c, beta=0).array).all()
        assert library.launches[0].p.c is None

    def test_beta_zero_asks_nothing_of_the_alignment_of_c(self, make):
        kernel, _ = make("f32")
        a, b = tensor((8, 16), "float32"), tensor((4, 16), "float32")
        c = tensor((8, 8), "float32")[:, 1:5]
        kernel(a, b, c, beta=0)
        with pytest.raises(ArgumentError, match="c: address, pitch"):
            kernel(a, b, c, beta=1)

    def test_in_place(self, make):
        kernel, library = make("f32")
        a, b, c = tensor((8, 16), "float32"), tensor((4, 16), "float32"), tensor((8, 4), "float32")
        expected = want(a, b, 1, 2, c)
        assert kernel(a, b, c, c, beta=2) is c
        np.testing.assert_array_equal(c.array, expected)
        assert library.launches[0].p.c == library.launches[0].p.d

    def test_a_shifted_c_over_out_is_refused(self, make):
        kernel, library = make("f32")
        a, b, buffer = tensor((8, 16), "float32"), tensor((4, 16), "float32"), tensor((9, 4), "float32")
        with pytest.raises(ArgumentError, match="c: must be out itself"):
            kernel(a, b, buffer[1:], buffer[:8], beta=1)
        assert library.launches == []

    def test_the_same_call_with_another_beta_is_checked_again(self, make):
        kernel, _ = make("f32")
        a, b, out = tensor((8, 16), "float32"), tensor((4, 16), "float32"), tensor((8, 4), "float32")
        kernel(a, b, out=out)
        with pytest.raises(ArgumentError, match="c: must be given"):
            kernel(a, b, out=out, beta=1)


class TestLaunch:
    def test_a_warm_call_packs_and_checks_nothing(self, make, monkeypatch):
        kernel, library = make("f16")
        a, b, out = tensor((16, 64)), tensor((32, 64)), tensor((16, 32))
        kernel(a, b, out=out)
        for name in ("pack_launch", "orient_b", "check_extents", "overlap", "make_guard"):
            monkeypatch.setattr(f"cutegen.signature.{name}", lambda *_: pytest.fail("not on a warm call"))
        before = dict(vars(kernel))
        for _ in range(3):
            kernel(a, b, out=out)
        assert {k: v is vars(kernel)[k] for k, v in before.items()} == dict.fromkeys(before, True)
        assert len(library.launches) == 4

    def test_j01_the_current_stream_at_each_call(self, make):
        streams = Streams()
        kernel, library = make("f16", streams=streams)
        a, b, out = tensor((16, 64)), tensor((32, 64)), tensor((16, 32))
        prepared = kernel.plan(a, b, out=out)
        for handle in (0, 0xABC0, 0, 0xABC0, 2**63):
            streams.current[0] = handle
            kernel(a, b, out=out)
            prepared()
        got = [launch.stream or 0 for launch in library.launches]
        assert got == [h for h in (0, 0xABC0, 0, 0xABC0, 2**63) for _ in range(2)]

    def test_j04_the_tensors_device(self, make):
        streams = Streams()
        streams.current = {0: 0x10, 1: 0x11}
        kernel, library = make("f16", streams=streams)
        for device in (1, 0, 1):
            a, b = (tensor(s, device=f"cuda:{device}") for s in ((16, 64), (32, 64)))
            for _ in range(2):
                assert (
                    str(kernel(a, b, out=tensor((16, 32), device=f"cuda:{device}")).device)
                    == f"cuda:{device}"
                )
        assert [(x.device, x.stream) for x in library.launches] == [
            (d, 0x10 + d) for d in (1, 0, 1) for _ in range(2)
        ]

    def test_other_tensors_and_scalars_are_never_confused(self, make):
        kernel, _ = make("f32")
        rng = np.random.default_rng(1)
        pool = [tensor((8, 16), "float32") for _ in range(3)] + [tensor((4, 16), "float32") for _ in range(2)]
        outs = {8: [tensor((8, 4), "float32") for _ in range(2)], 4: [tensor((4, 4), "float32")]}
        weights = [tensor((4, 16), "float32") for _ in range(2)]
        for t in (*pool, *weights):
            t.array[:] = rng.integers(-3, 4, t.shape)
        for _ in range(60):
            a, b = pool[rng.integers(5)], weights[rng.integers(2)]
            alpha = float(rng.integers(1, 4))
            out = outs[a.shape[0]][rng.integers(len(outs[a.shape[0]]))]
            np.testing.assert_array_equal(kernel(a, b, out=out, alpha=alpha).array, want(a, b, alpha))

    def test_a_driver_error_is_raised(self, make):
        kernel, library = make("f16")
        a, b, out = tensor((16, 64)), tensor((32, 64)), tensor((16, 32))
        prepared = kernel.plan(a, b, out=out)
        library.status = 700
        for call in (
            lambda: kernel(a, b, out=out),
            lambda: kernel(a, b, out=out),
            lambda: kernel(a, b),
            prepared,
        ):
            with pytest.raises(LaunchError, match="status 700 on device 0"):
                call()
        library.status = 0
        assert kernel(a, b, out=out) is out  # nothing sticks

    def test_prepared_launch_keeps_and_returns_its_tensors(self, make, allocations):
        kernel, library = make("f32")
        a, b, c = tensor((8, 16), "float32"), tensor((4, 16), "float32"), tensor((8, 4), "float32")
        prepared = kernel.plan(a, b, c, alpha=2, beta=1)
        assert library.launches == []
        assert prepared() is prepared.out
        np.testing.assert_array_equal(prepared.out.array, want(a, b, 2, 1, c))
        a.array[:] += 1
        np.testing.assert_array_equal(prepared().array, want(a, b, 2, 1, c))
        assert len(allocations.made) == 1
        assert "M=8 N=4 K=16 on device 0" in repr(prepared)

    def test_threads_share_a_kernel(self, make):
        kernel, library = make("f32", streams=lambda _: threading.get_ident())
        failures = []

        def work(seed):
            try:
                rng = np.random.default_rng(seed)
                for _ in range(100):
                    m = 4 * int(rng.integers(1, 5))
                    a, b = tensor((m, 16), "float32"), tensor((4, 16), "float32")
                    a.array[:] = rng.integers(-4, 5, a.shape)
                    out = tensor((m, 4), "float32")
                    np.testing.assert_array_equal(kernel(a, b, out=out).array, want(a, b))
                    np.testing.assert_array_equal(kernel(a, b).array, want(a, b))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert len(library.launches) == 800

    def test_memory_of_past_calls_is_bounded(self, make):
        kernel, _ = make("f32", compute=False)
        a, b = tensor((8, 16), "float32"), tensor((4, 16), "float32")
        out = tensor((8, 4), "float32")
        for alpha in range(3000):
            kernel(a, b, out=out, alpha=alpha)
        for m in range(4, 2404, 4):
            kernel(tensor((m, 16), "float32"), b)
        table = kernel._table()
        assert max(len(s.calls) for s in table._known.values()) <= 1024
        assert len(table._known) <= 256


class TestVariants:
    def test_the_same_kernel_where_tensors_are_aligned(self, make):
        kernel, _ = make("f16")
        assert kernel.variant_for(tensor((16, 64)), tensor((32, 64))) is kernel

    def test_narrowed_to_the_tensors_and_built_once(self, make):
        built = []

        def rebuild(narrow):
            built.append(narrow)
            return make("f16")[0]

        kernel, _ = make("f16", rebuild=rebuild)
        a = tensor((16, 68))[:, :64]  # 136 B pitch
        variant = kernel.variant_for(a, tensor((30, 64)))  # and 60 B rows of D
        assert (built[0].a.align, built[0].b.align, built[0].c.align, built[0].d.align) == (8, 16, 16, 4)
        assert built[0].g2s.a.bits is None
        assert kernel.variant_for(a, tensor((30, 64))) is variant
        assert len(built) == 1
        kernel.variant_for(a, tensor((32, 64)), out=tensor((16, 33))[:, :32])
        assert (built[1].a.align, built[1].d.align) == (8, 2)
        kernel.variant_for(tensor((16, 64)), tensor((32, 64)), tensor((16, 33))[:, :32])
        assert (built[2].a.align, built[2].c.align, built[2].d.align) == (16, 2, 16)

    def test_other_mistakes_are_not_narrowed_away(self, make):
        kernel, _ = make("f16")
        with pytest.raises(ArgumentError, match="a: dtype"):
            kernel.variant_for(tensor((16, 64), "float32"), tensor((32, 64)))

    def test_a_kernel_that_was_not_built_here_says_so(self, make):
        kernel, _ = make("f16")
        with pytest.raises(ToolchainError, match="cannot build a variant"):
            kernel.variant_for(tensor((16, 63)), tensor((32, 63)))


class TestDevices:
    def test_load_and_loaded(self, make):
        kernel, library = make("f16")
        assert kernel.loaded(1) is None
        assert kernel.load("cuda:1") == "cubin"
        assert kernel.loaded(fake_torch.Device("cuda", 1)) == "cubin"
        assert library.modules == [1]

    @pytest.mark.parametrize("device", ["cpu", "cuda:", "cuda:x", "1", fake_torch.Device("cpu")])
    def test_no_device(self, make, device):
        kernel, _ = make("f16")
        with pytest.raises(ArgumentError, match="device: must be"):
            kernel.load(device)

    @pytest.mark.parametrize(
        "device", [-1, 64, 2**32, 2**40, "cuda:64", "cuda:4294967296", True, 0.0, "cuda:²"]
    )
    def test_a_device_that_ctypes_would_cut_to_32_bits(self, make, device):
        kernel, library = make("f16")
        for function in (kernel.load, kernel.loaded, kernel.attributes):
            with pytest.raises(ArgumentError, match=rf"^device: must be an ordinal.* \(got {device!r}\)$"):
                function(device)
        assert library.modules == []

    def test_an_ordinal_of_numpy(self, make):
        kernel, library = make("f16")
        kernel.load(np.int64(3))
        assert library.modules == [3]

    def test_the_cpu_seam(self, make):
        kernel, library = make("f32", device_type="cpu")
        a, b = tensor((8, 16), "float32", "cpu"), tensor((4, 16), "float32", "cpu")
        np.testing.assert_array_equal(kernel(a, b).array, want(a, b))
        assert library.launches[0].device == 0
        with pytest.raises(ArgumentError, match="a: must be on a cpu device"):
            kernel(tensor((8, 16), "float32"), b)


@pytest.mark.parametrize("scalars", [{"alpha": 10**400}, {"beta": -(10**400)}])
def test_scalars_beyond_a_double(make, scalars):
    kernel, library = make("f16")
    with pytest.raises(ArgumentError, match="must fit into a double"):
        kernel(tensor((16, 64)), tensor((32, 64)).t(), tensor((16, 32)), **scalars)
    assert library.launches == []


def test_without_torch_the_message_says_how_to_get_it(monkeypatch):
    kernel, _ = make_kernel(config("f16"), monkeypatch)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ToolchainError, match=r"needs torch.*" + re.escape(install_command("torch"))):
        kernel(tensor((16, 64)), tensor((32, 64)))
