"""A built kernel as a Python callable, and the way from a config to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutegen.binding import KernelAttributes, KernelLibrary
from cutegen.build import Artifact, Progress, Resources, compile_kernel, compile_many
from cutegen.cache import Cache
from cutegen.config import GemmConfig
from cutegen.device import build_target
from cutegen.errors import CutegenError, ToolchainError
from cutegen.loader import dump, load, validate
from cutegen.operand_check import BOrder
from cutegen.plan import KernelPlan, plan
from cutegen.prepared import PreparedLaunch
from cutegen.render import Style, render
from cutegen.signature import (
    Backend,
    Guard,
    Signature,
    SignatureTable,
    cuda_backend,
    device_ordinal,
    narrowed,
)
from cutegen.toolchain import Toolchain
from cutegen.yamlread import Document

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ConfigLike", "Kernel", "build", "build_many", "try_build_many"]

ConfigLike = GemmConfig | Mapping[str, Any] | str | Path
Rebuild = Callable[[GemmConfig], "Kernel"]
Hot = tuple[Guard, Signature, Callable[[int], int], BOrder | None]


class Kernel:
    """D = alpha * A*B^T + beta * C as one compiled kernel.

    Calling it enqueues one launch on the current stream of the tensors' device and returns D. It neither
    synchronises nor allocates anything but D (if ``out`` is not given), so a CUDA graph can capture it after
    :meth:`load`. The result carries no gradient. Any number of threads may call one kernel.

    **B.** ``kernel(a, b)`` is ``torch.mm(a, b)``: ``b`` is (K,N), and whatever ``torch.mm`` accepts means
    the same here. The weight W (N,K) of a linear layer is passed as ``W.t()``, which copies nothing. A
    tensor that ``torch.mm`` would refuse because only its *second* extent is K is taken as (N,K), so
    ``kernel(a, W)`` works as well. A square ``b`` is always (K,N). ``b_is="nk"`` or ``b_is="kn"`` says it
    outright. In memory, stride 1 must run along the mode that the config's ``b.major`` names; a tensor in
    the other layout is refused, never misread.

    **Alignment** is a property of the config. A call whose tensors are less aligned than the config says is
    refused, with the byte numbers; :meth:`variant_for` gives the kernel that takes them.

    Args:
        config: The resolved config.
        artifact: What the build left on disk.
        backend: Where the kernel runs; left out: CUDA.
        rebuild: How to build another config in the same way, for :meth:`variant_for`.
    """

    def __init__(
        self,
        config: GemmConfig,
        artifact: Artifact,
        *,
        backend: Backend | None = None,
        rebuild: Rebuild | None = None,
    ) -> None:
        self.config = config
        self.artifact = artifact
        self.library = KernelLibrary(artifact.so)
        self._launch = self.library.launch
        self._backend = backend
        self._rebuild = rebuild
        self._known: SignatureTable | None = None
        self._variants: dict[GemmConfig, Kernel] = {config: self}
        # the latest kernel(a, b, out=d) and kernel(a, b): guard, signature, stream getter, b_is
        self._hot: Hot | None = None
        self._hot_new: Hot | None = None

    def __call__(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        out: Tensor | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        *,
        b_is: BOrder | None = None,
    ) -> Tensor:
        """Enqueue D = alpha * A*B^T + beta * C on the current stream of the tensors' device.

        Args:
            a: A, (M,K).
            b: B as ``torch.mm`` takes it, (K,N), or as (N,K); see the class.
            c: C, (M,N); needed when beta is not 0 and not read when it is 0. It may be ``out`` itself.
            out: Where D goes, (M,N); left out: a new tensor. It must not overlap a or b.
            alpha: Factor of the product, a Python number.
            beta: Factor of C, a Python number.
            b_is: ``"nk"`` or ``"kn"`` to say how b is given, instead of telling it by its shape.

        Returns:
            D: ``out`` if given.

        Raises:
            ArgumentError: An argument does not fit this kernel; nothing was launched.
            LaunchError: The driver refused.
        """
        hot = None if c is not None else self._hot if out is not None else self._hot_new
        if hot is not None:  # the warm path: every nanosecond counts
            guard, signature, stream, order = hot
            if order is b_is and (guard(a, b) if out is None else guard(a, b, out)):
                if out is None:
                    out = signature.new_output()
                key = (a.data_ptr(), b.data_ptr(), out.data_ptr(), stream(signature.device), alpha, beta)
                try:
                    packed = signature.calls.get(key)
                except TypeError:  # an unhashable scalar: the long way says so
                    packed = None
                if packed is None:
                    packed = self._table().addressed(signature, a, b, c, out, alpha, beta)
                status = self._launch(packed)
                if status:
                    raise self.library.error(status, signature.device)
                return out
        return self._call(a, b, c, out, alpha, beta, b_is)

    def _call(self, a: Any, b: Any, c: Any, out: Any, alpha: Any, beta: Any, b_is: BOrder | None) -> Any:
        """A call that is not like the latest one."""
        table = self._table()
        guard, signature = table.find(a, b, c, out, b_is)
        if c is None and not signature.empty:
            hot = (guard, signature, table.backend.current_stream, b_is)
            if out is None:
                self._hot_new = hot
            else:
                self._hot = hot
        if out is None:
            out = signature.new_output()
        packed = table.addressed(signature, a, b, c, out, alpha, beta)
        if not signature.empty:
            status = self._launch(packed)
            if status:
                raise self.library.error(status, signature.device)
        return out

    def plan(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        out: Tensor | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        *,
        b_is: BOrder | None = None,
    ) -> PreparedLaunch:
        """Check a call now and launch it later, as often as wanted, at the lowest cost per launch.

        Takes what a call takes and raises what it raises. Nothing is launched; ``out`` is allocated now if
        it is not given.
        """
        table = self._table()
        signature = table.find(a, b, c, out, b_is)[1]
        d = signature.new_output() if out is None else out
        return PreparedLaunch(self.library, table, signature, (a, b, c, d), alpha, beta)

    def variant_for(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        out: Tensor | None = None,
        *,
        b_is: BOrder | None = None,
    ) -> Kernel:
        """This kernel, with alignments narrowed to what these tensors allow; built if it is not cached.

        Copies of an operand that was narrowed are resolved anew, at the widest legal width. Where the
        tensors are aligned as this kernel wants, the answer is this kernel itself.

        Raises:
            ArgumentError: An argument does not fit for another reason than alignment.
            ConfigError: No kernel of this config can be built with alignments so narrow.
        """
        signature = self._table().find(a, b, c, out, b_is)[1]
        config = narrowed(self.config, signature, a, b, c, out)
        variant = self._variants.get(config)
        if variant is None:
            if self._rebuild is None:
                raise ToolchainError(
                    "this kernel was not made by cutegen.build, so it cannot build a variant"
                )
            variant = self._variants[config] = self._rebuild(config)
        return variant

    def load(self, device: Any = None) -> str:
        """Load the kernel on a device ahead of its first launch, for example before a graph capture.

        Args:
            device: An ordinal, ``"cuda:1"`` or a ``torch.device``; left out: torch's current device.

        Returns:
            ``cubin`` when the machine code fitted the device, ``ptx`` when the driver translated the PTX.
        """
        ordinal = device_ordinal(device)
        self.library.load(ordinal)
        return self.library.loaded(ordinal) or "cubin"

    def loaded(self, device: Any = None) -> str | None:
        """``cubin`` or ``ptx`` when the kernel is loaded on a device, else None."""
        return self.library.loaded(device_ordinal(device))

    def attributes(self, device: Any = None) -> KernelAttributes:
        """What the driver says about the kernel on a device; loads it there if need be."""
        ordinal = device_ordinal(device)
        self.library.load(ordinal)
        return self.library.attributes(ordinal)

    def _table(self) -> SignatureTable:
        if self._known is None:
            self._known = SignatureTable(self.config, self._backend or cuda_backend())
        return self._known

    @property
    def name(self) -> str:
        """The kernel's name, a C identifier."""
        return self.artifact.name

    @property
    def source(self) -> Path:
        """The rendered CUDA C++ source."""
        return self.artifact.source

    @property
    def so(self) -> Path:
        """The shared library."""
        return self.artifact.so

    @property
    def header(self) -> Path:
        """The C header of the shared library."""
        return self.artifact.header

    @property
    def log(self) -> Path:
        """What the compilers wrote."""
        return self.artifact.log

    @property
    def resources(self) -> Resources:
        """Registers, spills and shared memory, as the compiler reported them."""
        return self.artifact.resources

    def __repr__(self) -> str:
        return f"<Kernel {self.name} for {self.artifact.target}>"


def build(
    config: ConfigLike,
    *,
    target: str | None = None,
    style: Style = "resolved",
    toolchain: Toolchain | None = None,
    cache: Cache | None = None,
) -> Kernel:
    """Check, render and compile a config, or take its kernel from the cache.

    Args:
        config: A config, the path of a YAML file, or the same fields as a dictionary.
        target: The GPU that the binary is for, for example ``sm_90``, or ``native``, which needs one here.
            Left out: the GPU of this machine if the config's arch runs on it, else the arch itself.
        style: ``resolved`` compiles quickest; ``idiomatic`` reads as CuTe users write it.
        toolchain: Compilers and headers; found anew when left out.
        cache: The cache; the one of the settings when left out.

    Raises:
        ConfigError: The config breaks a rule.
        ToolchainError: A compiler or headers are missing.
        CompileError: A compiler stopped with an error.
    """
    planned = plan(_config(config))
    artifact = compile_kernel(
        render(planned, style=style),
        target=build_target(planned.config.arch, target),
        toolchain=toolchain,
        cache=cache,
        evidence=_Evidence(planned.config),
    )
    return _kernel(planned, artifact, style, toolchain, cache)


def build_many(
    configs: Sequence[ConfigLike],
    jobs: int | None = None,
    progress: Progress | None = None,
    *,
    target: str | None = None,
    style: Style = "resolved",
    toolchain: Toolchain | None = None,
    cache: Cache | None = None,
) -> list[Kernel]:
    """Build kernels side by side.

    Args:
        configs: As for :func:`build`; equal ones are compiled once.
        jobs: Compilers at a time; by default the setting, or the cores as far as free memory allows.
        progress: Called with the number of finished kernels, the number of all, and what finished.
        target: As for :func:`build`; likewise style, toolchain and cache.
        style: See target.
        toolchain: See target.
        cache: See target.

    Raises:
        CutegenError: The first error in the order of ``configs``, once all others are built.
    """
    kernels = []
    for kernel in try_build_many(
        configs, jobs, progress, target=target, style=style, toolchain=toolchain, cache=cache
    ):
        if isinstance(kernel, CutegenError):
            raise kernel
        kernels.append(kernel)
    return kernels


def try_build_many(
    configs: Sequence[ConfigLike],
    jobs: int | None = None,
    progress: Progress | None = None,
    *,
    target: str | None = None,
    style: Style = "resolved",
    toolchain: Toolchain | None = None,
    cache: Cache | None = None,
) -> list[Kernel | CutegenError]:
    """As :func:`build_many`, but the result has each error in its kernel's place."""
    outcomes: list[Kernel | CutegenError | None] = [None] * len(configs)
    groups: dict[str, list[tuple[int, KernelPlan]]] = {}
    for index, config in enumerate(configs):
        try:
            planned = plan(_config(config))
            groups.setdefault(build_target(planned.config.arch, target), []).append((index, planned))
        except CutegenError as error:
            outcomes[index] = error
    done = len(configs) - sum(map(len, groups.values()))
    for real, group in groups.items():
        artifacts = compile_many(
            [render(planned, style=style) for _, planned in group],
            target=real,
            jobs=jobs,
            progress=_shifted(progress, done, len(configs)),
            toolchain=toolchain,
            cache=cache,
            evidence=[_Evidence(planned.config) for _, planned in group],
        )
        for (index, planned), artifact in zip(group, artifacts, strict=True):
            outcomes[index] = (
                artifact
                if isinstance(artifact, CutegenError)
                else _kernel(planned, artifact, style, toolchain, cache)
            )
        done += len(group)
    return [outcome for outcome in outcomes if outcome is not None]


def _shifted(progress: Progress | None, done: int, total: int) -> Progress | None:
    """A progress callback for one group among several."""
    return progress and (lambda finished, _, outcome: progress(done + finished, total, outcome))


def _kernel(
    planned: KernelPlan,
    artifact: Artifact,
    style: Style,
    toolchain: Toolchain | None,
    cache: Cache | None,
) -> Kernel:
    def rebuild(other: GemmConfig) -> Kernel:
        return build(other, target=artifact.target, style=style, toolchain=toolchain, cache=cache)

    return Kernel(planned.config, artifact, rebuild=rebuild)


class _Evidence(Mapping[str, str]):
    """The resolved config as a file, written out only when a kernel is really built."""

    def __init__(self, config: GemmConfig) -> None:
        self._files = {"config.yaml": config}

    def __getitem__(self, name: str) -> str:
        return dump(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _config(config: ConfigLike) -> GemmConfig:
    if isinstance(config, GemmConfig):
        return config
    if isinstance(config, Mapping):
        return validate(Document(name="<dict>", data=_plain(config))).config
    return load(config)


def _plain(value: Any) -> Any:
    """Mappings as dictionaries and sequences as tuples, as the YAML reader gives them."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value
