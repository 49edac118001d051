"""Kernels for the CPU emulator in the place of compiled libraries, behind the same ``Kernel``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from cutegen import settings
from cutegen.binding import CutegenLaunch
from cutegen.config import GemmConfig
from cutegen.errors import CutegenError, LaunchError, SanitizerError, ToolchainError
from cutegen.operand_check import Wanted, wanted_operands
from cutegen.render import RenderedKernel
from cutegen.toolchain.process import Workers, parallel_jobs
from cutegen.vectors import vectors_of

if TYPE_CHECKING:  # who builds for a GPU need not wait for the emulator's import
    from cutegen.emulator import EmulatedKernel, EmulatorReport, HostToolchain, Matrix
    from cutegen.emulator.job import Progress

__all__ = [
    "EmulatedArtifact",
    "EmulatedLibrary",
    "EmulationOptions",
    "EmulationProgress",
    "Sanitize",
    "emulate_many",
]

Sanitize = bool | Literal["report"]
"""True: check, and raise on findings; ``"report"``: check, and only report; False: only compute."""

EmulationProgress = Callable[[int, int, Any], None]
"""Called with the number of finished kernels, the number of all, and the one that finished."""

_TARGET = "cpu"


@dataclass(frozen=True, kw_only=True)
class EmulationOptions:
    """How the emulator runs a kernel.

    Attributes:
        sanitize: Whether to check every access and count its cost, and what findings are.
        processes: Worker processes; by default as many as there are cores, for more than a few CTAs.
        seed: 0 runs threads in order, others in an order of their own.
        timeout: Seconds after which a run is stopped.
        progress: Called with the CTAs that are done and the number of all.
    """

    sanitize: Sanitize = True
    processes: int | None = None
    seed: int = 0
    timeout: float | None = None
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class EmulatedArtifact:
    """A kernel compiled for the CPU; every file lies in one directory of the cache.

    What only a GPU's compiler knows or makes (registers, a C header, PTX) is not there, and asking for it
    is an error.

    Attributes:
        kernel: The compiled kernel and how it is launched.
    """

    kernel: EmulatedKernel

    target = _TARGET

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.compiled.name

    @property
    def dir(self) -> Path:
        """The directory."""
        return self.kernel.compiled.dir

    @property
    def source(self) -> Path:
        """The CUDA C++ source."""
        return self.kernel.compiled.source

    @property
    def so(self) -> Path:
        """The library of host code that the emulator runs."""
        return self.kernel.compiled.library

    @property
    def log(self) -> Path:
        """The command line of the host compiler, one word a line."""
        return self.kernel.compiled.dir / "command.txt"

    @property
    def cached(self) -> bool:
        """Whether it was found rather than compiled."""
        return self.kernel.compiled.cached

    @property
    def header(self) -> NoReturn:
        """Not there."""
        raise ToolchainError(_only_for_gpus("C header"))

    @property
    def resources(self) -> NoReturn:
        """Not there."""
        raise ToolchainError(_only_for_gpus("count of registers"))


class EmulatedLibrary:
    """Takes the place of ``KernelLibrary``: the same packed launch, run by the emulator.

    A launch is over when :meth:`launch` returns.

    Args:
        config: The kernel's resolved config.
        artifact: The compiled kernel.
        options: How it is run.

    Attributes:
        path: The library of host code.
        report: Of the latest launch; None before the first.
    """

    def __init__(self, config: GemmConfig, artifact: EmulatedArtifact, options: EmulationOptions) -> None:
        self.path = artifact.so
        self.report: EmulatorReport | None = None
        self._kernel = artifact.kernel
        self._wanted = wanted_operands(config)
        self._vectors = vectors_of(config)
        self._options = options

    def launch(self, packed: bytes) -> int:
        """Run a packed launch to its end; always 0.

        Raises:
            SanitizerError: The sanitizer found something, and the options say to raise then.
            LaunchError: The emulator could not carry the run out.
        """
        report = self.run(packed)
        if report.findings and self._options.sanitize is True:
            raise SanitizerError(report.summary(), report)
        return 0

    def run(self, packed: bytes, **changes: Any) -> EmulatorReport:
        """Run a packed launch to its end.

        Args:
            packed: See ``binding.pack_launch``.
            changes: Fields of :class:`EmulationOptions` that differ for this run.
        """
        from cutegen.emulator import Matrix

        options = replace(self._options, **changes)
        p = CutegenLaunch.from_buffer_copy(packed).p
        wanted = self._wanted
        report = self._kernel.run(
            _matrix(wanted["a"], p.a, (p.m, p.k), p.lda),
            _matrix(wanted["b"], p.b, (p.n, p.k), p.ldb),
            _matrix(wanted["d"], p.d, (p.m, p.n), p.ldd),
            _matrix(wanted["c"], p.c, (p.m, p.n), p.ldc) if p.beta != 0 else None,
            alpha=p.alpha,
            beta=p.beta,
            vectors={
                v.name: Matrix(
                    address=getattr(p, v.name) or 0,
                    element=v.element.bytes,
                    shape=(v.length(p.m, p.n), 1),
                    strides=(1, 1),
                )
                for v in self._vectors
            },
            leading=(p.lda, p.ldb, p.ldc, p.ldd),
            group=p.group,
            sanitize=bool(options.sanitize),
            processes=options.processes,
            seed=options.seed,
            timeout=options.timeout,
            progress=options.progress,
        )
        self.report = report
        return report

    def load(self, device: int) -> None:
        """Nothing is to be loaded."""

    def loaded(self, device: int) -> str | None:
        """Always ``cpu``."""
        return _TARGET

    def attributes(self, device: int) -> NoReturn:
        """Not there: a driver would say."""
        raise ToolchainError(_only_for_gpus("driver to ask for its attributes"))

    def error(self, status: int, device: int) -> LaunchError:
        """The error for a status that is not 0; there is none such."""
        return LaunchError(f"{self.path.stem} on the CPU: status {status}")


def emulate_many(
    kernels: Sequence[RenderedKernel],
    *,
    jobs: int | None = None,
    progress: EmulationProgress | None = None,
    host: HostToolchain | None = None,
) -> list[EmulatedArtifact | CutegenError]:
    """Compile kernels for the CPU side by side.

    Args:
        kernels: The kernels.
        jobs: Compilers at a time; by default the setting, or the cores as far as free memory allows.
        progress: Called in this thread after each kernel.
        host: Compiler and headers; found when left out.

    Returns:
        For each kernel what was compiled, or the error that stopped it.

    Raises:
        ToolchainError: A compiler or headers are missing.
    """
    if not kernels:
        return []
    from cutegen.emulator import compile as compile_for_cpu
    from cutegen.emulator import find_host_toolchain

    tools = find_host_toolchain() if host is None else host

    def one(rendered: RenderedKernel) -> EmulatedArtifact | CutegenError:
        try:
            return EmulatedArtifact(kernel=compile_for_cpu(rendered, host=tools))
        except CutegenError as error:
            return error

    with Workers(parallel_jobs(jobs or settings.jobs())) as pool:
        futures = [pool.submit(one, rendered) for rendered in kernels]
        for done, future in enumerate(as_completed(futures), 1):
            if progress is not None:
                progress(done, len(kernels), future.result())
        return [future.result() for future in futures]


def _matrix(wanted: Wanted, address: int | None, shape: tuple[int, int], ld: int) -> Matrix:
    from cutegen.emulator import Matrix

    return Matrix(
        address=address or 0,
        element=wanted.dtype.bytes,
        shape=shape,
        strides=(1, ld) if wanted.major == 0 else (ld, 1),
    )


def _only_for_gpus(what: str) -> str:
    return f"a kernel of the emulator has no {what}; build it for a GPU: leave device='cpu' out"
