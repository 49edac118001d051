"""``cutegen.build(config, device="cpu")``: the same kernel object, over arrays of this process."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cutegen
from cutegen.binding import CutegenParams
from cutegen.building import emulated_kernel
from cutegen.emulated import EmulatedArtifact
from cutegen.emulator import gemm
from cutegen.emulator.job import Job
from cutegen.errors import ArgumentError, ConfigError, SanitizerError, ToolchainError
from cutegen.numerics import decode, encode
from cutegen.plan import plan
from cutegen.reference import check, exact_inputs
from cutegen.render import render
from tests.support.cases import config

BF16 = config({"a.dtype": "bf16", "b.dtype": "bf16", "d.dtype": "bf16", "tile": (64, 64, 32)})
F16 = config({"tile": (64, 64, 32), "stages": 3})


@pytest.fixture(scope="module")
def f16() -> cutegen.Kernel:
    return cutegen.build(F16, device="cpu")


@pytest.fixture(scope="module")
def bf16() -> cutegen.Kernel:
    return cutegen.build(BF16, device="cpu")


def operands(kernel, m=72, n=136, k=40, seed=0):
    return exact_inputs(kernel.config, m, n, k, seed=seed)


def racing() -> cutegen.Kernel:
    """A kernel without the barrier after its stores to shared memory."""
    rendered = render(plan(F16))
    text = rendered.text.replace("__syncthreads();", "__syncwarp();")
    assert text != rendered.text
    broken = dataclasses.replace(rendered, text=text)
    return emulated_kernel(plan(F16).config, EmulatedArtifact(kernel=cutegen.emulator.compile(broken)))


def test_numpy(f16):
    x = operands(f16)
    d = f16(x.a, x.b.T)
    assert isinstance(d, np.ndarray)
    assert d.dtype == np.float16
    assert check(f16.config, d, x.a, x.b).ok
    assert f16.last_report.clean
    assert f16.last_report.ctas == 2 * 3
    assert f16.last_report.by_kind("shared")["S2R A"].degree == 1.0


def test_out_alpha_and_beta(f16):
    x = operands(f16)
    out = np.full((72, 136), np.nan, np.float16)
    assert f16(x.a, x.b, x.c, out, 2.0, 0.5, b_is="nk") is out
    assert check(f16.config, out, x.a, x.b, x.c, alpha=2.0, beta=0.5).ok
    again = out.copy()
    f16(x.a, x.b, again, again, 1.0, -1.0, b_is="nk")
    assert check(f16.config, again, x.a, x.b, out, beta=-1.0).ok


def test_torch(bf16):
    torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    x = exact_inputs(bf16.config, 72, 136, 40, device="cpu")
    d = bf16(x.a, x.b.t())
    assert d.dtype is torch.bfloat16
    assert torch.equal(d, torch.mm(x.a.float(), x.b.float().t()).bfloat16())
    wide = torch.zeros(72, 200, dtype=torch.bfloat16)
    assert bf16(x.a, x.b.t(), out=wide[:, 32:168]).data_ptr() == wide.data_ptr() + 64
    assert torch.equal(wide[:, 32:168], d)
    assert not wide[:, :32].any()
    assert not wide[:, 168:].any()
    with pytest.raises(ArgumentError, match=r"b: must be a torch tensor, as a is \(got ndarray\)"):
        bf16(x.a, operands(bf16).b)
    with pytest.raises(ArgumentError, match=r"a: must be on the CPU \(got a tensor on meta\)"):
        bf16(x.a.to("meta"), x.b)
    with pytest.raises(ArgumentError, match=r"dtype must be torch.bfloat16 \(got torch.float32\)"):
        bf16(x.a.float(), x.b)


def test_bits_of_bf16_signed_or_not(bf16):
    x = operands(bf16)
    d = bf16(x.a.view(np.int16), x.b)
    assert d.dtype == np.uint16
    assert np.array_equal(decode("bf16", d), decode("bf16", x.a) @ decode("bf16", x.b).T)


def test_ml_dtypes(bf16, monkeypatch):
    kind = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    x = operands(bf16)
    d = bf16(x.a.view(kind), x.b.view(kind))
    assert d.dtype == kind
    assert check(bf16.config, d.view(np.uint16), x.a, x.b).ok


def test_fp8_is_bits():
    kernel = cutegen.build(
        config({"arch": "sm_89", "a.dtype": "e4m3", "b.dtype": "e5m2", "d.dtype": "f32"}), device="cpu"
    )
    x = operands(kernel, 64, 64, 64)
    assert x.a.dtype == x.b.dtype == np.uint8
    assert check(kernel.config, kernel(x.a, x.b, b_is="nk"), x.a, x.b).ok


def test_a_plan_is_checked_once_and_runs_often(f16):
    x = operands(f16)
    launch = f16.plan(x.a, x.b.T)
    x.a[...] = encode("f16", np.zeros(x.a.shape))
    assert not launch().any()
    assert launch.a is x.a
    assert launch.out is launch()


@pytest.mark.parametrize("style", ["resolved", "idiomatic"])
def test_tf32_has_the_bits_of_tf32(style):
    kernel = cutegen.build(
        config({"a.dtype": "tf32", "b.dtype": "tf32", "d.dtype": "tf32", "tile": (64, 64, 32)}),
        device="cpu",
        style=style,
    )
    x = operands(kernel)
    assert check(kernel.config, kernel(x.a, x.b.T), x.a, x.b).ok
    a = np.full((16, 32), 1 + 2**-10, np.float32)
    d = kernel(a, a.T, alpha=1 / 32)  # (1 + 2^-10)^2 has bits that tf32 has not
    assert (d == np.float32(1 + 2**-9)).all()


@pytest.mark.parametrize("group", [1, 2, 100])
def test_another_raster_group(f16, group, monkeypatch):
    launched = []

    def job(**fields):
        launched.append(fields["parameters"])
        return Job(**fields)

    monkeypatch.setattr(gemm, "Job", job)
    x = operands(f16, m=200, n=328)
    other = f16.with_group(group)
    assert (other.group, f16.group, other.source) == (group, f16.config.scheduler.group, f16.source)
    assert check(f16.config, other(x.a, x.b.T), x.a, x.b).ok
    (parameters,) = launched
    assert CutegenParams.from_buffer_copy(parameters.ljust(120, b"\0")).group == group


@pytest.mark.parametrize("group", [0, -1, True, 1.5, 2**31, None])
def test_no_raster_group(f16, group):
    with pytest.raises(ArgumentError, match="group: must be an integer from 1"):
        f16.with_group(group)


def test_a_variant_keeps_the_raster_group(f16):
    a, b = np.zeros((72, 41), np.float16)[:, :40], np.zeros((136, 40), np.float16)
    assert f16.with_group(3).variant_for(a, b, b_is="nk").group == 3


def test_arguments_are_checked_as_on_a_gpu(f16):
    x = operands(f16)
    out = np.zeros((72, 136), np.float16)
    wrong = [
        ((x.a.astype(np.float32), x.b), r"a: dtype must be float16 \(got float32\)"),
        ((x.a.astype(">f2"), x.b), r"a: dtype must be float16 \(got float16 of the other byte order\)"),
        ((x.a[0], x.b), r"a: must have 2 dimensions, \(M,K\) \(got 1"),
        ((x.a, x.b[:, :32]), r"b: must be \(K,N\), as for torch.mm, or \(N,K\)"),
        ((np.asfortranarray(x.a), x.b), r"a: K must have stride 1"),
        ((x.a[::-1], x.b), r"a: strides must be whole numbers of elements and not negative"),
        ((x.a[:, :36], x.b[:, :36]), r"must be multiples of 16 bytes"),
        ((x.a.tolist(), x.b), r"a: must be a numpy array or a torch tensor on the CPU \(got builtins.list\)"),
        ((x.a, x.b, None, out[:, :128]), r"out: must have shape \(M,N\)"),
        ((x.a, x.b, None, None, 1.0, 1.0), r"c: must be given when beta is not 0"),
        ((x.a, x.b, None, None, "1"), r"alpha: must be a real number"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            f16(*arguments, b_is=None)
    f16(x.a, x.b, None, out)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="out: must be writable"):
        f16(x.a, x.b, None, out)
    square = np.zeros((64, 64), np.float16)
    with pytest.raises(ArgumentError, match="a square b is read as"):
        f16(square, square)
    with pytest.raises(ArgumentError, match="out: must not overlap a"):
        f16(square, square.T, None, square)


def test_a_variant_for_less_aligned_arrays(f16):
    base = np.zeros(72 * 44, np.float16).reshape(72, 44)
    a = base[:, 1:37]
    b = np.zeros((64, 36), np.float16)
    variant = f16.variant_for(a, b)
    assert variant.config.a.align == 2
    assert not variant(a, b).any()
    assert variant.last_report.clean


def test_empty_and_broadcast(f16):
    a = np.zeros((0, 40), np.float16)
    assert f16(a, operands(f16).b).shape == (0, 136)
    ones = np.broadcast_to(np.ones(40, np.float16), (72, 40))
    b = operands(f16).b
    assert np.array_equal(f16(ones, b), np.broadcast_to(b.astype(np.float64).sum(1), (72, 136)))


def test_findings_are_raised_with_their_place():
    kernel, x = racing(), operands(racing())
    with pytest.raises(SanitizerError, match=r"shared memory|race") as caught:
        kernel(x.a, x.b)
    found = caught.value.report.findings
    assert found[0].place.file == f"{kernel.name}.cu"
    assert caught.value.exit_code == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.report == caught.value.report
    assert again.to_dict()["findings"][0]["kind"] == found[0].kind
    assert kernel.last_report == caught.value.report


def test_findings_are_only_reported_when_asked():
    kernel, x = racing(), operands(racing())
    report = kernel.emulate(x.a, x.b)
    assert not report.clean
    quiet = emulated_kernel(kernel.config, kernel.artifact, sanitize="report")
    quiet(x.a, x.b)
    assert not quiet.last_report.clean
    plain = emulated_kernel(kernel.config, kernel.artifact, sanitize=False)
    plain(x.a, x.b)
    assert not plain.last_report.sanitized
    assert plain.emulate(x.a, x.b, sanitize=True).findings


def test_emulate_takes_a_schedule_and_tells_progress(f16):
    x = operands(f16)
    out = np.empty((72, 136), np.float16)
    report = f16.emulate(x.a, x.b, None, out, seed=7, processes=1, progress=lambda done, total: None)
    assert report.clean
    assert check(f16.config, out, x.a, x.b).ok


def test_what_only_a_gpu_has_is_said_to_be_missing(f16):
    assert f16.source.read_text() == render(plan(F16)).text
    assert f16.so.is_file()
    assert "-fsanitize=thread" in f16.log.read_text()
    assert f16.load() == f16.loaded() == "cpu"
    assert repr(f16) == f"<Kernel {f16.name} for cpu>"
    for ask in (lambda: f16.header, lambda: f16.resources, lambda: f16.attributes()):
        with pytest.raises(ToolchainError, match="a kernel of the emulator has no"):
            ask()


def test_many_side_by_side(f16):
    seen = []
    kernels = cutegen.build_many([F16, BF16], 2, lambda *step: seen.append(step[:2]), device="cpu")
    assert [k.config.a.dtype for k in kernels] == ["f16", "bf16"]
    assert seen == [(1, 2), (2, 2)]


def test_options_of_the_other_device_are_refused():
    with pytest.raises(ConfigError, match="target: must be left out with device='cpu'"):
        cutegen.build(F16, device="cpu", target="sm_90")
    with pytest.raises(ConfigError, match="device: must be 'cuda' or 'cpu' \\(got 'gpu'\\)"):
        cutegen.build(F16, device="gpu")


def test_a_kernel_for_a_gpu_is_not_emulated(monkeypatch):
    from tests.support import fake_torch
    from tests.support.fake_kernel import make_kernel

    monkeypatch.setattr("cutegen.signature.import_torch", fake_torch.module)
    kernel, _ = make_kernel(plan(F16).config, monkeypatch)
    assert kernel.last_report is None
    with pytest.raises(ArgumentError, match="build it with device='cpu'"):
        kernel.emulate(SimpleNamespace(), SimpleNamespace())


def test_torch_is_not_needed():
    import subprocess

    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import cutegen, numpy as np\n"
        "k = cutegen.build(sys.argv[1], device='cpu')\n"
        "a = np.ones((8, 64), np.uint16)\n"
        "print(k(a, a, b_is='nk').shape)\n"
    )
    example = Path(__file__).parents[2] / "examples" / "ampere_bf16.yaml"
    done = subprocess.run([sys.executable, "-c", code, str(example)], capture_output=True, text=True)
    assert done.stdout == "(8, 8)\n", done.stderr


@pytest.mark.slow
def test_clang(monkeypatch):
    import shutil

    compiler = next((c for c in ("clang++-14", "clang++") if shutil.which(c)), None)
    if compiler is None:
        pytest.skip("neither clang++-14 nor clang++ is on PATH; install one")
    monkeypatch.setenv("CUTEGEN_CXX", compiler)
    kernel = cutegen.build(F16, device="cpu")
    assert "clang" in kernel.log.read_text()
    x = operands(kernel)
    assert check(kernel.config, kernel(x.a, x.b.T), x.a, x.b).ok
    with pytest.raises(SanitizerError):
        racing()(x.a, x.b.T)
