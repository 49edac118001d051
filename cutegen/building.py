"""The way from configs to kernels: for a GPU, through nvcc, or for the CPU, through the emulator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from cutegen.build import Artifact, Progress, compile_kernel, compile_many
from cutegen.config import GemmConfig
from cutegen.device import build_target
from cutegen.emulated import (
    EmulatedArtifact,
    EmulatedLibrary,
    EmulationOptions,
    EmulationProgress,
    Sanitize,
    emulate_many,
)
from cutegen.errors import ConfigError, CutegenError
from cutegen.given import (
    CacheLike,
    ConfigLike,
    Evidence,
    cache_of,
    check_options,
    config_of,
    configs_of,
)
from cutegen.host_arrays import cpu_backend
from cutegen.kernel import Kernel
from cutegen.plan import Plan, plan
from cutegen.render import Style, render
from cutegen.toolchain import Toolchain

__all__ = ["Device", "build", "build_many", "emulated_kernel", "try_build_many"]

Device = Literal["cuda", "cpu"]


def build(
    config: ConfigLike,
    *,
    device: Device = "cuda",
    target: str | None = None,
    style: Style = "resolved",
    sanitize: Sanitize = True,
    toolchain: Toolchain | None = None,
    cache: CacheLike | None = None,
) -> Kernel:
    """Check, render and compile a config, or take its kernel from the cache.

    Args:
        config: A config, the path of a YAML file, or the same fields as a dictionary.
        device: ``cuda``, or ``cpu`` for the emulator, which needs a C++ compiler and no nvcc.
        target: The GPU that the binary is for, for example ``sm_90``, or ``native``, which needs one here.
            Left out: the GPU of this machine if the config's arch runs on it, else the arch itself.
        style: ``resolved`` compiles quickest; ``idiomatic`` reads as CuTe users write it.
        sanitize: On the CPU: True raises :class:`SanitizerError` on findings, ``"report"`` only keeps them in
            ``kernel.last_report``, and False computes without checking.
        toolchain: Compilers and headers; found anew when left out.
        cache: The cache or its directory; the one of the settings when left out.

    Raises:
        ConfigError: The config breaks a rule.
        ToolchainError: A compiler or headers are missing.
        CompileError: A compiler stopped with an error.
    """
    if device != "cuda":
        built = try_build_many(
            [config], device=device, target=target, style=style, sanitize=sanitize,
            toolchain=toolchain, cache=cache,
        )[0]  # fmt: skip
        if isinstance(built, CutegenError):
            raise built
        return built
    check_options(toolchain=toolchain, sanitize=sanitize)
    cache = cache_of(cache)
    planned = plan(config_of(config))
    artifact = compile_kernel(
        render(planned, style=style),
        target=build_target(planned.config.arch, target),
        toolchain=toolchain,
        cache=cache,
        evidence=Evidence(planned.config),
    )
    return _kernel(planned, artifact, style, toolchain, cache)


def build_many(
    configs: Iterable[ConfigLike],
    jobs: int | None = None,
    progress: Progress | EmulationProgress | None = None,
    *,
    device: Device = "cuda",
    target: str | None = None,
    style: Style = "resolved",
    sanitize: Sanitize = True,
    toolchain: Toolchain | None = None,
    cache: CacheLike | None = None,
) -> list[Kernel]:
    """Build kernels side by side.

    Args:
        configs: As for :func:`build`; equal ones are compiled once.
        jobs: Compilers at a time; by default the setting, or the cores as far as free memory allows.
        progress: Called with the number of finished kernels, the number of all, and what finished.
        device: As for :func:`build`; likewise target, style, sanitize, toolchain and cache.
        target: See device.
        style: See device.
        sanitize: See device.
        toolchain: See device.
        cache: See device.

    Raises:
        CutegenError: The first error in the order of ``configs``, once all others are built.
    """
    kernels = []
    for kernel in try_build_many(
        configs, jobs, progress, device=device, target=target, style=style, sanitize=sanitize,
        toolchain=toolchain, cache=cache,
    ):  # fmt: skip
        if isinstance(kernel, CutegenError):
            raise kernel
        kernels.append(kernel)
    return kernels


def try_build_many(
    configs: Iterable[ConfigLike],
    jobs: int | None = None,
    progress: Progress | EmulationProgress | None = None,
    *,
    device: Device = "cuda",
    target: str | None = None,
    style: Style = "resolved",
    sanitize: Sanitize = True,
    toolchain: Toolchain | None = None,
    cache: CacheLike | None = None,
) -> list[Kernel | CutegenError]:
    """As :func:`build_many`, but the result has each error in its kernel's place."""
    _check_device(device, target=target, toolchain=toolchain, cache=cache)
    check_options(toolchain=toolchain, jobs=jobs, sanitize=sanitize)
    cache = cache_of(cache)
    configs = configs_of(configs)
    outcomes: list[Kernel | CutegenError | None] = [None] * len(configs)
    groups: dict[str, list[tuple[int, Plan]]] = {}
    for index, config in enumerate(configs):
        try:
            planned = plan(config_of(config))
            real = "cpu" if device == "cpu" else build_target(planned.config.arch, target)
            groups.setdefault(real, []).append((index, planned))
        except CutegenError as error:
            outcomes[index] = error
    done = len(configs) - sum(map(len, groups.values()))
    for real, group in groups.items():
        rendered = [render(planned, style=style) for _, planned in group]
        report = _shifted(progress, done, len(configs))
        artifacts: Sequence[Artifact | EmulatedArtifact | CutegenError]
        if device == "cpu":
            artifacts = emulate_many(rendered, jobs=jobs, progress=report)
        else:
            artifacts = compile_many(
                rendered,
                target=real,
                jobs=jobs,
                progress=report,
                toolchain=toolchain,
                cache=cache,
                evidence=[Evidence(planned.config) for _, planned in group],
            )
        for (index, planned), artifact in zip(group, artifacts, strict=True):
            if isinstance(artifact, CutegenError):
                outcomes[index] = artifact
            elif isinstance(artifact, EmulatedArtifact):
                outcomes[index] = emulated_kernel(planned.config, artifact, style=style, sanitize=sanitize)
            else:
                outcomes[index] = _kernel(planned, artifact, style, toolchain, cache)
        done += len(group)
    return [outcome for outcome in outcomes if outcome is not None]


def emulated_kernel(
    config: GemmConfig, artifact: EmulatedArtifact, *, style: Style = "resolved", sanitize: Sanitize = True
) -> Kernel:
    """A kernel over what was compiled for the CPU.

    Args:
        config: The resolved config.
        artifact: What was compiled.
        style: The style of its text, in which variants are rendered as well.
        sanitize: As for :func:`build`.
    """

    def rebuild(other: GemmConfig) -> Kernel:
        return build(other, device="cpu", style=style, sanitize=sanitize)

    library = EmulatedLibrary(config, artifact, EmulationOptions(sanitize=sanitize))
    return Kernel(config, artifact, backend=cpu_backend(), library=library, rebuild=rebuild)


def _check_device(device: str, **for_gpus: object) -> None:
    if device not in ("cuda", "cpu"):
        raise ConfigError(f"device: must be 'cuda' or 'cpu' (got {device!r})")
    for name, value in for_gpus.items():
        if device == "cpu" and value is not None:
            raise ConfigError(f"{name}: must be left out with device='cpu', where nvcc takes no part")


def _shifted(
    progress: Progress | EmulationProgress | None, done: int, total: int
) -> EmulationProgress | None:
    """A progress callback for one group among several."""
    if progress is None:
        return None
    return lambda finished, _, outcome: progress(done + finished, total, outcome)


def _kernel(
    planned: Plan,
    artifact: Artifact,
    style: Style,
    toolchain: Toolchain | None,
    cache: CacheLike | None,
) -> Kernel:
    def rebuild(other: GemmConfig) -> Kernel:
        return build(other, target=artifact.target, style=style, toolchain=toolchain, cache=cache)

    return Kernel(planned.config, artifact, rebuild=rebuild)
