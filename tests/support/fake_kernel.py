"""A kernel whose launcher is Python: it records launches and computes them with numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from cutegen.binding import CutegenLaunch
from cutegen.config import GemmConfig
from cutegen.errors import LaunchError
from cutegen.kernel import Kernel
from cutegen.operand_check import wanted_operands
from cutegen.signature import Backend

_NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s8": np.int8, "s32": np.int32}


def config(
    dtype: str = "f16",
    *,
    a: str = "k",
    b: str = "k",
    d: str = "n",
    out: str | None = None,
    align: int = 16,
    tile: tuple[int, int, int] = (128, 128, 32),
) -> GemmConfig:
    """A config as it is after resolving, as far as a call looks at it."""
    natural = {"s8": "s32"}.get(dtype, dtype)
    output = {"dtype": out or natural, "major": d, "align": align}
    return GemmConfig(
        arch="sm_80",
        a={"dtype": dtype, "major": a, "align": align},
        b={"dtype": dtype, "major": b, "align": align},
        c=output,
        d=output,
        tile=tile,
    )


def _matrix(address: int, shape: tuple[int, int], ld: int, major: int, kind: Any) -> np.ndarray:
    size = np.dtype(kind).itemsize
    if 0 in shape:
        return np.zeros(shape, kind)
    strides = (size, ld * size) if major == 0 else (ld * size, size)
    span = 1 + sum((n - 1) * s // size for n, s in zip(shape, strides, strict=True))
    flat = np.frombuffer((ctypes.c_byte * (span * size)).from_address(address), kind)
    return np.lib.stride_tricks.as_strided(flat, shape, strides)


class FakeLibrary:
    """Stands for ``KernelLibrary``; ``launches`` holds what was launched, ``status`` is what it returns."""

    def __init__(self, config: GemmConfig, *, compute: bool = True) -> None:
        self.path = Path("libfake.so")
        self.launches: list[CutegenLaunch] = []
        self.status = 0
        self.modules: list[int] = []
        self._wanted = wanted_operands(config)
        self._compute = compute

    def launch(self, packed: bytes) -> int:
        assert type(packed) is bytes
        launch = CutegenLaunch.from_buffer_copy(packed)
        self.launches.append(launch)
        if self._compute and not self.status:
            self._run(launch.p)
        return self.status

    def _run(self, p: Any) -> None:
        w = self._wanted
        kinds = {name: _NUMPY[w[name].dtype.name] for name in "abcd"}
        a = _matrix(p.a or 0, (p.m, p.k), p.lda, w["a"].major, kinds["a"]).astype(np.float64)
        b = _matrix(p.b or 0, (p.n, p.k), p.ldb, w["b"].major, kinds["b"]).astype(np.float64)
        d = _matrix(p.d, (p.m, p.n), p.ldd, w["d"].major, kinds["d"])
        value = p.alpha * (a @ b.T)
        if p.beta != 0:
            value += p.beta * _matrix(p.c, (p.m, p.n), p.ldc, w["c"].major, kinds["c"]).astype(np.float64)
        d[...] = value.astype(kinds["d"])

    def load(self, device: int) -> None:
        self.modules.append(device)

    def loaded(self, device: int) -> str | None:
        return "cubin" if device in self.modules else None

    def error(self, status: int, device: int) -> LaunchError:
        return LaunchError(f"status {status} on device {device}")


class Streams:
    """The current stream of each device, as a test sets it."""

    def __init__(self) -> None:
        self.current: dict[int, int] = {}
        self.asked: list[int] = []

    def __call__(self, device: int) -> int:
        self.asked.append(device)
        return self.current.get(device, 0)


def make_kernel(
    config: GemmConfig,
    monkeypatch: Any,
    *,
    device_type: str = "cuda",
    streams: Callable[[int], int] | None = None,
    compute: bool = True,
    rebuild: Any = None,
) -> tuple[Kernel, FakeLibrary]:
    """A kernel of this config and the fake library under it."""
    library = FakeLibrary(config, compute=compute)
    monkeypatch.setattr("cutegen.kernel.KernelLibrary", lambda _: library)
    artifact: Any = SimpleNamespace(so=library.path, name="fake", target="sm_90")
    backend = Backend(device_type=device_type, current_stream=streams or Streams())
    return Kernel(config, artifact, backend=backend, rebuild=rebuild), library
