"""What was found on this machine, what is missing, and how to get it."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.cache import info
from cutegen.cache.store import Store
from cutegen.errors import CutegenError
from cutegen.install import install_command
from cutegen.toolchain.headers import CUTLASS_MINIMUM, check_cuda_headers, find_cutlass, locate_cutlass
from cutegen.toolchain.host import find_host_compiler, locate_host_compiler
from cutegen.toolchain.model import Nvcc
from cutegen.toolchain.nvcc import find_nvcc, locate_nvcc

__all__ = ["Diagnosis", "Finding", "SettingValue", "diagnose", "version_number"]

_CUTLASS = "CUTLASS headers"
_USES = {
    "build": "to build kernels",
    "emulate": "to run kernels on the CPU",
    "run": "to run kernels on a GPU",
    "torch": "to call kernels with torch tensors",
    "speed": "to keep kernels",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that cutegen needs or can use.

    Attributes:
        name: What it is, for example ``nvcc``.
        needed_for: ``build``, ``emulate``, ``run``, ``torch`` or ``speed``: what cannot be had without it.
        ok: Whether it is there and good.
        version: Its version, or None.
        where: Its path, or None.
        origin: How it was found, for example ``PATH``.
        problem: What is wrong, or None.
        fix: How to get it, or None when nothing is wrong.
        notes: Further facts, one a line.
    """

    name: str
    needed_for: str
    ok: bool
    version: str | None = None
    where: str | None = None
    origin: str | None = None
    problem: str | None = None
    fix: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """``ok``, ``missing``, or ``broken``: it is there and no good."""
        return "ok" if self.ok else "missing" if self.where is None else "broken"

    @property
    def use(self) -> str:
        """What it is needed for, in words."""
        return _USES[self.needed_for]

    def to_dict(self) -> dict[str, Any]:
        """The finding as a JSON-ready dictionary."""
        return {**asdict(self), "state": self.state}


@dataclass(frozen=True, kw_only=True)
class SettingValue:
    """One environment variable, its meaning, and its value now."""

    name: str
    meaning: str
    default: str
    value: str | None


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Everything that ``cutegen doctor`` says.

    Attributes:
        findings: In the order of the pipeline.
        settings: Every variable that cutegen reads.
    """

    findings: tuple[Finding, ...]
    settings: tuple[SettingValue, ...]

    @property
    def can_build(self) -> bool:
        """Whether kernels can be compiled here."""
        return all(f.ok for f in self.findings if f.needed_for == "build")

    @property
    def can_run(self) -> bool:
        """Whether there is a GPU driver to run them with."""
        return all(f.ok for f in self.findings if f.needed_for == "run")

    @property
    def can_emulate(self) -> bool:
        """Whether kernels can be run on the CPU here, as far as the emulator's needs were looked at."""
        needs = [f for f in self.findings if f.needed_for == "emulate" or f.name == _CUTLASS]
        return any(f.needed_for == "emulate" for f in needs) and all(f.ok for f in needs)

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as a JSON-ready dictionary."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": [asdict(setting) for setting in self.settings],
            "can_build": self.can_build,
            "can_emulate": self.can_emulate,
            "can_run": self.can_run,
        }


def diagnose() -> Diagnosis:
    """Look at everything; raises nothing, installs nothing, does not initialise CUDA."""
    nvcc, nvcc_finding = _nvcc()
    return Diagnosis(
        findings=(
            nvcc_finding,
            _cuda_headers(nvcc),
            _cutlass(),
            _host_compiler(),
            _cache(),
            _driver(),
            _torch(),
        ),
        settings=tuple(
            SettingValue(name=v.name, meaning=v.meaning, default=v.default, value=settings.get(v.name))
            for v in settings.VARIABLES.values()
        ),
    )


def _get_cuda() -> str:
    return f"{install_command('cuda13')}, or set CUTEGEN_NVCC to the nvcc of a CUDA toolkit"


def _attempt(find: Callable[[], Finding], failed: Callable[[str], Finding]) -> Finding:
    try:
        return find()
    except (CutegenError, OSError) as error:
        return failed(str(error))


def _nvcc() -> tuple[Nvcc | None, Finding]:
    place, tried = locate_nvcc()
    notes = tuple(f"tried {p}" for p in tried)
    try:
        nvcc = find_nvcc()
    except (CutegenError, OSError) as error:
        problem = "nvcc was not found" if place is None else str(error)
        return None, Finding(
            name="nvcc",
            needed_for="build",
            ok=False,
            where=str(place.path) if place is not None else None,
            origin=place.origin if place is not None else None,
            problem=problem,
            fix=_get_cuda(),
            notes=notes,
        )
    return nvcc, Finding(
        name="nvcc",
        needed_for="build",
        ok=True,
        version=nvcc.version,
        where=str(nvcc.path),
        origin=nvcc.origin,
        notes=(f"toolkit {nvcc.root}", f"targets {' '.join(nvcc.gpu_codes)}"),
    )


def _cuda_headers(nvcc: Nvcc | None) -> Finding:
    def failed(problem: str) -> Finding:
        return Finding(name="CUDA headers", needed_for="build", ok=False, problem=problem, fix=_get_cuda())

    def find() -> Finding:
        if nvcc is None:
            return failed("not looked for without nvcc")
        check_cuda_headers(nvcc)
        where = ", ".join(map(str, nvcc.includes))
        return Finding(name="CUDA headers", needed_for="build", ok=True, version=nvcc.version, where=where)

    return _attempt(find, failed)


def _cutlass() -> Finding:
    wanted = ".".join(map(str, CUTLASS_MINIMUM))

    def find() -> Finding:
        found, _ = find_cutlass()
        return Finding(
            name=_CUTLASS,
            needed_for="build",
            ok=True,
            version=found.version,
            where=str(found.include),
            origin=found.origin,
            notes=(f"need {wanted} or later",),
        )

    def failed(problem: str) -> Finding:
        include, origin = locate_cutlass()
        return Finding(
            name=_CUTLASS,
            needed_for="build",
            ok=False,
            where=str(include) if include is not None else None,
            origin=origin,
            problem=problem,
            fix="pip install 'nvidia-cutlass>=4.2', or set CUTEGEN_CUTLASS_DIR to a checkout of CUTLASS",
        )

    return _attempt(find, failed)


def _host_compiler() -> Finding:
    def find() -> Finding:
        found = find_host_compiler()
        return Finding(
            name="host C compiler",
            needed_for="build",
            ok=True,
            version=version_number(found.version),
            where=found.argv[0],
            origin=found.origin,
            notes=(found.version, f"builds for {found.machine}"),
        )

    def failed(problem: str) -> Finding:
        argv, origin = locate_host_compiler()
        return Finding(
            name="host C compiler",
            needed_for="build",
            ok=False,
            where=argv[0] if argv else None,
            origin=origin,
            problem=problem,
            fix="install gcc and g++ (Debian: apt install g++), or set CUTEGEN_CC",
        )

    return _attempt(find, failed)


def version_number(text: str) -> str:
    """The version number in a compiler's own words, of which the last is its own."""
    numbers: list[str] = re.findall(r"\b\d+(?:\.\d+)+", text)
    return numbers[-1] if numbers else text


def _cache() -> Finding:
    try:
        limit = settings.cache_size()
        settings.lock_timeout()
        problem = None
    except CutegenError as error:
        limit, problem = 0, str(error)
    facts = info(Store(settings.cache_dir()), size_limit=limit)
    if problem is None and facts.problem is not None:
        problem = f"it cannot be written ({facts.problem}); 'cutegen build' needs -o, and builds all anew"
    mib = 1024**2
    free = "unknown" if facts.free is None else f"{facts.free // mib} MiB"
    return Finding(
        name="kernel cache",
        needed_for="speed",
        ok=problem is None,
        where=facts.root,
        problem=problem,
        fix=None
        if problem is None
        else "set CUTEGEN_CACHE_DIR to a directory that can be written and has space, and sizes as described",
        notes=(f"{facts.entries} kernels in {facts.bytes // mib} MiB, {free} free",),
    )


def _driver() -> Finding:
    # NOTE: opening libcuda and asking for its version does not initialise CUDA; cuInit would.
    fix = "install the NVIDIA driver; building, checking and rendering work without it"
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return Finding(name="GPU driver", needed_for="run", ok=False, problem=str(error), fix=fix)
    version = ctypes.c_int(0)
    query = getattr(library, "cuDriverGetVersion", None)
    if query is None or query(ctypes.byref(version)) != 0 or version.value == 0:
        return Finding(
            name="GPU driver",
            needed_for="run",
            ok=False,
            problem="libcuda.so.1 is a stub, it does not say its version",
            fix=fix,
        )
    return Finding(
        name="GPU driver",
        needed_for="run",
        ok=True,
        version=f"CUDA {version.value // 1000}.{version.value % 1000 // 10}",
        where=_loaded_path("libcuda.so"),
    )


def _loaded_path(name: str) -> str | None:
    """Where a library that this process has loaded came from."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((line.split(maxsplit=5)[5] for line in maps.splitlines() if name in line), None)


def _torch() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding(
            name="torch",
            needed_for="torch",
            ok=False,
            problem="torch is not installed; kernels are called with torch tensors",
            fix=install_command("torch"),
        )
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = None
    return Finding(name="torch", needed_for="torch", ok=True, version=version)
