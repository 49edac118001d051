"""``cutegen.matmul``: from tensors to the kernel, which is built once. GPU, torch and kernels are fakes."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutegen
from cutegen.device import Gpu
from cutegen.errors import ArgumentError, ConfigError
from cutegen.signature import Signature
from tests.support import fake_torch
from tests.support.fake_kernel import make_kernel
from tests.support.fake_torch import tensor


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What was built, as (config, target), on an H200 that is the only GPU."""
    seen = SimpleNamespace(built=[], delay=0.0, torch=fake_torch.module())
    module = sys.modules[cutegen.matmul.__module__]
    gpu = Gpu(ordinal=0, name="NVIDIA H200", cc=90, multiprocessors=132)
    seen.gpus = [gpu]

    def build(config: cutegen.GemmConfig, *, target: str) -> cutegen.Kernel:
        time.sleep(seen.delay)
        seen.built.append((config, target))
        return make_kernel(cutegen.resolve(config), monkeypatch)[0]

    monkeypatch.setitem(sys.modules, "torch", seen.torch)
    monkeypatch.setattr(module, "build", build)
    monkeypatch.setattr(module, "gpus", lambda: tuple(seen.gpus))
    monkeypatch.setattr(module, "_calls", {})
    monkeypatch.setattr(module, "_kernels", {})
    return seen


def right(d: Any, a: Any, b_kn: Any) -> bool:
    want = a.array.astype(np.float64) @ b_kn.array.astype(np.float64)
    return bool((d.array.astype(np.float64) == want).all())


def test_it_multiplies_as_torch_does(made: SimpleNamespace) -> None:
    a, w = tensor((40, 64)), tensor((48, 64))
    d = cutegen.matmul(a, w.t())
    assert d.shape == (40, 48)
    assert right(d, a, w.t())
    assert right(cutegen.matmul(a, w), a, w.t())  # (N,K), which torch refuses
    square = tensor((64, 64))
    assert right(cutegen.matmul(a, square), a, square)
    assert right(cutegen.matmul(a, square, b_is="nk"), a, square.t())


def test_out_is_written_and_returned(made: SimpleNamespace) -> None:
    a, w = tensor((40, 64)), tensor((48, 64))
    out = tensor((40, 48))
    assert cutegen.matmul(a, w.t(), out=out) is out
    assert right(out, a, w.t())
    cutegen.matmul(a, w.t())
    assert len(made.built) == 1  # as what is left out is not another kernel
    wide = tensor((40, 48), "float32")
    assert right(cutegen.matmul(a, w.t(), out=wide), a, w.t())
    assert made.built[-1][0].d.dtype == "f32"


def test_a_kernel_is_built_once(made: SimpleNamespace) -> None:
    a, w = tensor((4096, 64)), tensor((4096, 64))
    for _ in range(3):
        cutegen.matmul(a, w.t())
    assert len(made.built) == 1
    cutegen.matmul(tensor((4000, 64)), w.t())  # another shape, the same kernel
    assert len(made.built) == 1
    assert made.built[0][1] == "sm_90a"
    assert made.built[0][0].mainloop == "tma_wgmma"


def test_threads_wait_for_one_build(made: SimpleNamespace) -> None:
    made.delay = 0.05
    a, w = tensor((40, 64)), tensor((48, 64))
    threads = [threading.Thread(target=lambda: cutegen.matmul(a, w.t())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made.built) == 1


def test_layouts_and_alignments_are_those_of_the_tensors(made: SimpleNamespace) -> None:
    a, w = tensor((64, 40)).t(), tensor((64, 48))  # M-major and N-major
    assert right(cutegen.matmul(a, w), a, w)
    config = made.built[-1][0]
    assert (config.a.major, config.b.major, config.mainloop) == ("m", "n", "tma_wgmma")
    odd = tensor((40, 100))[:, :50]  # rows of 100 bytes, a pitch of 200
    other = tensor((48, 50))
    assert right(cutegen.matmul(odd, other.t()), odd, other.t())
    config = made.built[-1][0]
    assert (config.a.align, config.b.align, config.mainloop) == (4, 4, "multistage")
    transposed = tensor((48, 40)).t()
    a, w = tensor((40, 64)), tensor((48, 64))
    assert right(cutegen.matmul(a, w.t(), out=transposed), a, w.t())
    assert made.built[-1][0].d.major == "m"


def test_the_alignment_of_an_address_counts(made: SimpleNamespace) -> None:
    store = tensor((1, 40 * 64 + 8))
    w = tensor((48, 64))
    aligned, shifted = store.as_strided((40, 64), (64, 1)), store.as_strided((40, 64), (64, 1), 0)
    shifted.array = store.array.reshape(-1)[4 : 4 + 40 * 64].reshape(40, 64)
    assert right(cutegen.matmul(aligned, w.t()), aligned, w.t())
    assert right(cutegen.matmul(shifted, w.t()), shifted, w.t())
    assert [config.a.align for config, _ in made.built] == [16, 8]


def test_extents_of_0(made: SimpleNamespace) -> None:
    assert cutegen.matmul(tensor((0, 64)), tensor((48, 64)).t()).shape == (0, 48)
    assert (cutegen.matmul(tensor((40, 0)), tensor((48, 0)).t()).array == 0).all()


def test_float32_is_as_precise_as_torch_says(made: SimpleNamespace) -> None:
    a, w = tensor((40, 64), "float32"), tensor((48, 64), "float32")
    assert right(cutegen.matmul(a, w.t()), a, w.t())
    assert made.built[-1][0].mainloop == "simt"
    made.torch.get_float32_matmul_precision = lambda: "high"
    with pytest.raises(KeyError):  # the fake cannot compute tf32; the kernel is what matters
        cutegen.matmul(a, w.t())
    assert made.built[-1][0].a.dtype == "tf32"


def test_older_gpus_take_other_kernels(made: SimpleNamespace) -> None:
    made.gpus[0] = Gpu(ordinal=0, name="NVIDIA A100", cc=80, multiprocessors=108)
    a, w = tensor((40, 64)), tensor((48, 64))
    assert right(cutegen.matmul(a, w.t()), a, w.t())
    assert (made.built[0][0].mainloop, made.built[0][1]) == ("multistage", "sm_80")
    with pytest.raises(ConfigError, match="no kernel multiplies e4m3"):
        cutegen.matmul(tensor((64, 64), "float8_e4m3fn"), tensor((64, 64), "float8_e4m3fn").t())


def test_what_cannot_be_multiplied(made: SimpleNamespace) -> None:
    a, w = tensor((40, 64)), tensor((48, 64))
    for call, message in (
        (
            lambda: cutegen.matmul(a.array, w.t()),
            r"a: must be a torch tensor on a cuda device \(got ndarray\)",
        ),
        (
            lambda: cutegen.matmul(a, tensor((48, 32))),
            r"b: must be \(K,N\), as for torch.mm, or \(N,K\) with K = 64",
        ),
        (
            lambda: cutegen.matmul(a, w.t(), out=tensor((48, 40))),
            r"out: must have shape \(M,N\) = \(40, 48\)",
        ),
        (lambda: cutegen.matmul(tensor((40, 64), device="cpu"), w.t()), "a: must be on a cuda device"),
        (lambda: cutegen.matmul(a[0], w.t()), "a: must have 2 dimensions"),
        (lambda: cutegen.matmul(a, w.t(), b_is="x"), "b_is: must be"),
        (lambda: cutegen.matmul(tensor((40, 64), "int32"), w.t()), "a: dtype|no kernel"),
        (lambda: cutegen.matmul(a[:, ::2], tensor((48, 32)).t()), "a: K must have stride 1"),
    ):
        with pytest.raises((ArgumentError, ConfigError), match=message):
            call()


def test_raster_groups_share_a_kernel(made: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[cutegen.matmul.__module__]
    launched: list[int] = []
    pack = Signature.pack
    monkeypatch.setattr(
        Signature,
        "pack",
        lambda self, *args: launched.append(args[8] if len(args) > 8 else 0) or pack(self, *args),
    )
    choose = module.config_for
    for group in (16, 24, 8):
        monkeypatch.setattr(
            module, "config_for", lambda *args, g=group: choose(*args).replace(scheduler={"group": g})
        )
        a, w = tensor((40 + group, 64)), tensor((48, 64))
        assert right(cutegen.matmul(a, w.t()), a, w.t())
    assert launched == [16, 24, 0]
    assert len(made.built) == 1
