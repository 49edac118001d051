"""Turn a declarative GEMM config into a readable CuTe kernel, checked before the compiler starts.

Everything below is imported when it is first used, so that ``import cutegen`` touches neither CUDA, torch
nor the disk.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutegen.version import __version__

if TYPE_CHECKING:
    from cutegen import emulator
    from cutegen.building import build, build_many, try_build_many
    from cutegen.config import GemmConfig
    from cutegen.emulator import emulate
    from cutegen.errors import (
        ArgumentError,
        CacheError,
        CheckFailedError,
        CompileError,
        ConfigError,
        CutegenError,
        LaunchError,
        SanitizerError,
        SourceError,
        ToolchainError,
        Violation,
    )
    from cutegen.kernel import Kernel
    from cutegen.lint import LintWarning, lint
    from cutegen.loader import dump, load, loads
    from cutegen.matmul import matmul
    from cutegen.pictures import draw
    from cutegen.plan import KernelPlan, plan
    from cutegen.prepared import PreparedLaunch
    from cutegen.render import RenderedKernel, render
    from cutegen.resolve import resolve
    from cutegen.rules import check

__all__ = [
    "ArgumentError",
    "CacheError",
    "CheckFailedError",
    "CompileError",
    "ConfigError",
    "CutegenError",
    "GemmConfig",
    "Kernel",
    "KernelPlan",
    "LaunchError",
    "LintWarning",
    "PreparedLaunch",
    "RenderedKernel",
    "SanitizerError",
    "SourceError",
    "ToolchainError",
    "Violation",
    "__version__",
    "build",
    "build_many",
    "check",
    "draw",
    "dump",
    "emulate",
    "emulator",
    "lint",
    "load",
    "loads",
    "matmul",
    "plan",
    "render",
    "resolve",
    "try_build_many",
]

_ERRORS = {name for name in __all__ if name.endswith("Error")} | {"Violation"}
_HOME = {
    **dict.fromkeys(_ERRORS, "errors"),
    "GemmConfig": "config",
    "Kernel": "kernel",
    "KernelPlan": "plan",
    "LintWarning": "lint",
    "PreparedLaunch": "prepared",
    "RenderedKernel": "render",
    "build": "building",
    "build_many": "building",
    "check": "rules",
    "draw": "pictures",
    "dump": "loader",
    "emulate": "emulator",
    "lint": "lint",
    "load": "loader",
    "loads": "loader",
    "matmul": "matmul",
    "plan": "plan",
    "render": "render",
    "resolve": "resolve",
    "try_build_many": "building",
}


def __getattr__(name: str) -> Any:
    if name == "emulator":
        return import_module("cutegen.emulator")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


class _Package(ModuleType):
    """Keeps ``cutegen.build`` and its like functions.

    The import system sets a submodule as an attribute of its package. Some submodules are named as the
    function that they are about; ``cutegen.build`` is that function, whatever was imported before, and the
    module is had by ``from cutegen.build import ...``.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
