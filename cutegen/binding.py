"""The C interface of a built kernel, as ctypes sees it.

The structures mirror the header that each build ships. A launch takes one pointer, because ctypes
converts arguments slowly: one pointer costs 0.15 us, thirteen arguments 2 us. The pointer is to an
immutable ``bytes`` object that :data:`pack_launch` makes, so that two threads which launch the same
kernel share nothing that either could change.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutegen.errors import ArgumentError, LaunchError

__all__ = [
    "MOST_DEVICES",
    "UNCHECKED",
    "CutegenAttributes",
    "CutegenLaunch",
    "CutegenParams",
    "KernelAttributes",
    "KernelLibrary",
    "pack_launch",
]


class CutegenParams(ctypes.Structure):
    """What a kernel takes, by value. Leading strides are in elements."""

    _fields_ = (
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
        ("d", ctypes.c_void_p),
        ("lda", ctypes.c_int64),
        ("ldb", ctypes.c_int64),
        ("ldc", ctypes.c_int64),
        ("ldd", ctypes.c_int64),
        ("m", ctypes.c_int32),
        ("n", ctypes.c_int32),
        ("k", ctypes.c_int32),
        ("group", ctypes.c_int32),
        ("alpha", ctypes.c_double),
        ("beta", ctypes.c_double),
        ("scale_a", ctypes.c_void_p),
        ("scale_b", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
    )


class CutegenLaunch(ctypes.Structure):
    """What ``cutegen_launch`` takes, by pointer."""

    _fields_ = (
        ("p", CutegenParams),
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("flags", ctypes.c_int32),
    )


_ATTRIBUTES = (
    "registers",
    "local_bytes",
    "static_smem",
    "dynamic_smem",
    "max_threads",
    "binary_version",
    "ptx_version",
    "blocks_per_sm",
)


class CutegenAttributes(ctypes.Structure):
    """What ``cutegen_attributes`` fills in."""

    _fields_ = tuple((name, ctypes.c_int32) for name in _ATTRIBUTES)


#: The fields of :class:`CutegenLaunch` in order: a, b, c, d, lda, ldb, ldc, ldd, m, n, k, group,
#: alpha, beta, scale_a, scale_b, bias, stream, device, flags.
_LAUNCH = struct.Struct("=4Q4q4i2d4Q2i")
pack_launch: Callable[..., bytes] = _LAUNCH.pack

if not (ctypes.sizeof(CutegenParams) == 120 and ctypes.sizeof(CutegenLaunch) == _LAUNCH.size == 136):
    raise RuntimeError("CutegenLaunch must be 136 bytes without padding, as cutegen's C header says")

_ABI = 4  # CUTEGEN_ABI of templates/launcher.h
MOST_DEVICES = 64  # as the launcher counts them
UNCHECKED = 1  # a flag of CutegenLaunch: what the launcher would check has been checked here
_CAPTURE = -2  # cutegen_launch: the module would have to be loaded while a stream is captured


@dataclass(frozen=True, kw_only=True)
class KernelAttributes:
    """What the driver says about a loaded kernel.

    Attributes:
        registers: Registers per thread.
        local_bytes: Local memory per thread, spills included, in bytes.
        static_smem: Static shared memory of one CTA, in bytes.
        dynamic_smem: Dynamic shared memory that one CTA is launched with, in bytes.
        max_threads: Most threads that one CTA may have.
        binary_version: Architecture of the machine code, times ten.
        ptx_version: Architecture of the PTX that it was made from, times ten.
        blocks_per_sm: CTAs that one SM holds at a time.
    """

    registers: int
    local_bytes: int
    static_smem: int
    dynamic_smem: int
    max_threads: int
    binary_version: int
    ptx_version: int
    blocks_per_sm: int


def _ordinal(device: int) -> int:
    """A device that keeps its number on the way through ctypes, which would cut it to 32 bits."""
    if not 0 <= device < MOST_DEVICES:
        raise ArgumentError(f"device: must be an ordinal from 0 to {MOST_DEVICES - 1} (got {device})")
    return device


class KernelLibrary:
    """A built kernel's shared library, with a prototype on every function.

    Loading it does not touch CUDA: the launcher opens libcuda at the first launch.

    Args:
        path: The ``.so`` of the build.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            library = ctypes.CDLL(str(path))  # RTLD_LOCAL: kernels do not see each other's symbols
        except OSError as error:
            raise LaunchError(f"cannot load the kernel library {path}: {error}") from error
        abi = self._function(library, "cutegen_abi", ctypes.c_int32, [])()
        if abi != _ABI:
            raise LaunchError(
                f"{path} was built by another cutegen: its interface is {abi}, not {_ABI}; rebuild it"
            )
        self.launch = self._function(library, "cutegen_launch", ctypes.c_int32, [ctypes.c_void_p])
        self._load = self._function(library, "cutegen_load", ctypes.c_int32, [ctypes.c_int32])
        self._loaded = self._function(library, "cutegen_loaded", ctypes.c_int32, [ctypes.c_int32])
        self._error = self._function(library, "cutegen_error_string", ctypes.c_char_p, [ctypes.c_int32])
        self._attributes = self._function(
            library,
            "cutegen_attributes",
            ctypes.c_int32,
            [ctypes.c_int32, ctypes.POINTER(CutegenAttributes)],
        )

    def _function(
        self, library: ctypes.CDLL, name: str, restype: type[Any], argtypes: list[type[Any]]
    ) -> Callable[..., Any]:
        try:
            function = library[name]  # a function object of our own, whose prototype nobody else sets
        except AttributeError:
            raise LaunchError(f"{self.path} is not a cutegen kernel library: it has no {name}") from None
        function.argtypes = argtypes
        function.restype = restype
        return function

    def load(self, device: int) -> None:
        """Load the kernel's module on a device ahead of its first launch."""
        status = self._load(_ordinal(device))
        if status:
            raise self.error(status, device)

    def loaded(self, device: int) -> str | None:
        """``cubin`` or ``ptx`` when the module is loaded on the device, else None."""
        return {1: "cubin", 2: "ptx"}.get(self._loaded(_ordinal(device)))

    def attributes(self, device: int) -> KernelAttributes:
        """What the driver says about the kernel on a device where it is loaded."""
        raw = CutegenAttributes()
        status = self._attributes(_ordinal(device), ctypes.byref(raw))
        if status:
            raise self.error(status, device)
        return KernelAttributes(**{name: getattr(raw, name) for name in _ATTRIBUTES})

    def error(self, status: int, device: int) -> LaunchError:
        """The error for a status that is not 0."""
        text = self._error(status)
        message = text.decode(errors="replace") if text else "unknown error"
        hint = f"; call kernel.load({device}) before the capture starts" if status == _CAPTURE else ""
        return LaunchError(f"{self.path.stem} on device {device}: {message}{hint}")
