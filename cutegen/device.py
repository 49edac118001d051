"""The GPUs of this machine, asked through the driver API.

Nothing happens at import. :func:`gpus` loads libcuda and calls ``cuInit``, but creates no context, so it
takes no GPU memory and leaves the current device alone.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache

from cutegen.arch import ArchName, arch
from cutegen.errors import ToolchainError
from cutegen.toolchain import target_for_device

__all__ = ["Gpu", "build_target", "driver_version", "gpus", "native_target"]

# CUdevice_attribute, cuda.h
_MULTIPROCESSOR_COUNT = 16
_CC_MAJOR = 75
_CC_MINOR = 76


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU as the CUDA driver numbers it (after ``CUDA_VISIBLE_DEVICES``).

    Attributes:
        ordinal: The driver's number, the same as in ``cuda:0``.
        name: The product name.
        cc: Compute capability times ten, for example 90.
        multiprocessors: Streaming multiprocessors.
    """

    ordinal: int
    name: str
    cc: int
    multiprocessors: int

    @property
    def target(self) -> str:
        """The real architecture to compile for, for example ``sm_90``."""
        return f"sm_{self.cc}"


def _prototype(driver: ctypes.CDLL) -> ctypes.CDLL:
    int_p = ctypes.POINTER(ctypes.c_int)
    driver.cuInit.argtypes = [ctypes.c_uint]
    driver.cuDriverGetVersion.argtypes = [int_p]
    driver.cuDeviceGetCount.argtypes = [int_p]
    driver.cuDeviceGet.argtypes = [int_p, ctypes.c_int]
    driver.cuDeviceGetName.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    driver.cuDeviceGetAttribute.argtypes = [int_p, ctypes.c_int, ctypes.c_int]
    for name in ("Init", "DriverGetVersion", "DeviceGetCount", "DeviceGet", "DeviceGetName"):
        getattr(driver, f"cu{name}").restype = ctypes.c_int
    driver.cuDeviceGetAttribute.restype = ctypes.c_int
    return driver


def _driver() -> ctypes.CDLL | None:
    try:
        return _prototype(ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"))
    except (OSError, AttributeError):  # no driver, or a stub that lacks an entry point
        return None


def driver_version() -> str | None:
    """The CUDA version of the installed driver, for example ``13.0``, or None without a driver."""
    driver = _driver()
    version = ctypes.c_int()
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """All visible GPUs; empty without a driver or a GPU. Asked once per process."""
    driver = _driver()
    count = ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    found = (_describe(driver, ordinal) for ordinal in range(count.value))
    return tuple(gpu for gpu in found if gpu is not None)


def _describe(driver: ctypes.CDLL, ordinal: int) -> Gpu | None:
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    values = [ctypes.c_int() for _ in range(3)]
    if driver.cuDeviceGet(ctypes.byref(device), ordinal) or driver.cuDeviceGetName(name, 256, device):
        return None
    for value, attribute in zip(values, (_CC_MAJOR, _CC_MINOR, _MULTIPROCESSOR_COUNT), strict=True):
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
    major, minor, multiprocessors = (value.value for value in values)
    return Gpu(
        ordinal=ordinal,
        name=name.value.decode(errors="replace"),
        cc=major * 10 + minor,
        multiprocessors=multiprocessors,
    )


def native_target(level: ArchName) -> str:
    """The real architecture to compile a kernel of this feature level for.

    It is that of the oldest visible GPU which has the feature level, so that the binary loads on every
    such GPU of its generation. Without one, and for levels such as ``sm_90a`` whose features exist on one
    generation only, it is the level itself.
    """
    if level.endswith("a"):
        return level
    fitting = [gpu for gpu in gpus() if gpu.cc >= arch(level).cc]
    return min(fitting, key=lambda gpu: gpu.cc).target if fitting else level


def build_target(level: ArchName, target: str | None) -> str:
    """The real architecture to build a kernel of this feature level for.

    Args:
        level: Feature level of the kernel.
        target: A real architecture, which is taken as it is; ``native`` for the first GPU here; or None
            for :func:`native_target`.

    Raises:
        ToolchainError: ``native`` without a GPU.
        ConfigError: ``native``, and the first GPU here lacks the feature level.
    """
    if target is None:
        return native_target(level)
    if target != "native":
        return target
    if not gpus():
        raise ToolchainError(
            "target native needs a GPU and its driver, which are not here; name a target, for example sm_90"
        )
    return target_for_device(level, divmod(gpus()[0].cc, 10))
