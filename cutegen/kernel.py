"""A built kernel as a Python callable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutegen.binding import KernelAttributes, KernelLibrary
from cutegen.build import Artifact, Resources
from cutegen.config import GemmConfig
from cutegen.emulated import EmulatedArtifact, EmulatedLibrary
from cutegen.errors import ArgumentError, ToolchainError
from cutegen.guards import Guard
from cutegen.narrow import narrowed
from cutegen.operand_check import BOrder
from cutegen.ordinal import device_ordinal
from cutegen.prepared import PreparedLaunch
from cutegen.signature import (
    Backend,
    Signature,
    SignatureTable,
    Vectors,
    cuda_backend,
)

if TYPE_CHECKING:
    from torch import Tensor

    from cutegen.emulator import EmulatorReport

__all__ = ["Kernel"]

Rebuild = Callable[[GemmConfig], "Kernel"]
Hot = tuple[Guard, Signature, Callable[[int], int], BOrder | None]


class Kernel:
    """D = alpha * A*B^T + beta * C as one compiled kernel.

    Calling it enqueues one launch on the current stream of the tensors' device and returns D. It neither
    synchronises nor allocates anything but D (if ``out`` is not given), so a CUDA graph can capture it after
    :meth:`load`. The result carries no gradient. Any number of threads may call one kernel.

    **On the CPU** (``build(config, device="cpu")``) it takes numpy arrays or torch CPU tensors, and a call
    runs the emulator to its end. numpy arrays of bf16 and fp8 are arrays of the bits, or of ``ml_dtypes``.

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
        library: What launches it; left out: the shared library of the artifact.
        rebuild: How to build another config in the same way, for :meth:`variant_for`.
        group: Tiles of a raster group; left out: the config's. See :meth:`with_group`.
    """

    def __init__(
        self,
        config: GemmConfig,
        artifact: Artifact | EmulatedArtifact,
        *,
        backend: Backend | None = None,
        library: KernelLibrary | EmulatedLibrary | None = None,
        rebuild: Rebuild | None = None,
        group: int | None = None,
    ) -> None:
        self.config = config
        self.artifact = artifact
        self.library = KernelLibrary(artifact.so) if library is None else library
        self._launch = self.library.launch
        self._backend = backend
        self._rebuild = rebuild
        self._group = group
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
        scale_a: Tensor | None = None,
        scale_b: Tensor | None = None,
        bias: Tensor | None = None,
        b_is: BOrder | None = None,
    ) -> Tensor:
        """Enqueue D = alpha * A*B^T + beta * C on the current stream of the tensors' device.

        With ``epilogue.scale_a``, ``scale_b`` or ``bias`` in its config a kernel computes
        alpha * scale_a(m) * scale_b(n) * A*B^T + bias(n) + beta * C, and these arguments are needed.

        Args:
            a: A, (M,K).
            b: B as ``torch.mm`` takes it, (K,N), or as (N,K); see the class.
            c: C, (M,N); needed when beta is not 0 and not read when it is 0. It may be ``out`` itself.
            out: Where D goes, (M,N); left out: a new tensor. It must not overlap a or b.
            alpha: Factor of the product, a Python number.
            beta: Factor of C, a Python number.
            scale_a: Factors of rows, f32, (M,) or (M,1), or one element: (1,) or (), as the config says.
            scale_b: Factors of columns, f32, (N,) or (1,N), or one element.
            bias: (N,) or (1,N), added to each row, in D's type or f32; see ``epilogue.bias``.
            b_is: ``"nk"`` or ``"kn"`` to say how b is given, instead of telling it by its shape.

        Returns:
            D: ``out`` if given.

        Raises:
            ArgumentError: An argument does not fit this kernel; nothing was launched.
            LaunchError: The driver refused.
            SanitizerError: The emulator found faults; D is written nevertheless.
        """
        if scale_a is not None or scale_b is not None or bias is not None:
            return self._call(a, b, c, out, alpha, beta, b_is, (scale_a, scale_b, bias))
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

    def _call(
        self,
        a: Any,
        b: Any,
        c: Any,
        out: Any,
        alpha: Any,
        beta: Any,
        b_is: BOrder | None,
        vectors: Vectors = (),
    ) -> Any:
        """A call that is not like the latest one, or that has vectors."""
        table = self._table()
        adopt = table.backend.adopt
        if adopt is not None:
            a, b, c, out, *vectors = map(adopt, (a, b, c, out, *vectors))
        guard, signature = table.find(a, b, c, out, b_is, vectors)
        if c is None and not signature.vectors and not signature.empty and adopt is None:
            hot = (guard, signature, table.backend.current_stream, b_is)
            if out is None:
                self._hot_new = hot
            else:
                self._hot = hot
        if out is None:
            out = signature.new_output()
        packed = table.addressed(signature, a, b, c, out, alpha, beta, vectors)
        if not signature.empty:
            status = self._launch(packed)
            if status:
                raise self.library.error(status, signature.device)
        return out if adopt is None else out.owner

    def emulate(
        self,
        a: Any,
        b: Any,
        c: Any = None,
        out: Any = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        *,
        scale_a: Any = None,
        scale_b: Any = None,
        bias: Any = None,
        b_is: BOrder | None = None,
        **options: Any,
    ) -> EmulatorReport:
        """One call of a kernel for the CPU; returns what the emulator found, and raises on no finding.

        Args:
            a: As for a call; likewise b, c, alpha, beta, scale_a, scale_b, bias and b_is.
            b: See a.
            c: See a.
            out: Where D goes, (M,N); left out: D is thrown away.
            alpha: See a.
            beta: See a.
            scale_a: See a.
            scale_b: See a.
            bias: See a.
            b_is: See a.
            options: ``sanitize`` (bool), ``processes``, ``seed`` (order of threads; 0: as they are numbered),
                ``timeout`` (seconds) and ``progress`` (called with the CTAs that are done and all of them).

        Raises:
            ArgumentError: An argument does not fit, or the kernel is for a GPU.
            LaunchError: The emulator could not carry the run out.
        """
        table = self._table()
        if table.backend.adopt is None or not isinstance(self.library, EmulatedLibrary):
            raise ArgumentError("this kernel is for a GPU; build it with device='cpu' to emulate it")
        a, b, c, out, *vectors = map(table.backend.adopt, (a, b, c, out, scale_a, scale_b, bias))
        signature = table.find(a, b, c, out, b_is, vectors)[1]
        out = signature.new_output() if out is None else out
        return self.library.run(table.addressed(signature, a, b, c, out, alpha, beta, vectors), **options)

    @property
    def last_report(self) -> EmulatorReport | None:
        """What the emulator found in the latest call; None before the first, and for a GPU."""
        return self.library.report if isinstance(self.library, EmulatedLibrary) else None

    def plan(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        out: Tensor | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        *,
        scale_a: Tensor | None = None,
        scale_b: Tensor | None = None,
        bias: Tensor | None = None,
        b_is: BOrder | None = None,
    ) -> PreparedLaunch:
        """Check a call now and launch it later, as often as wanted, at the lowest cost per launch.

        Takes what a call takes and raises what it raises. Nothing is launched; ``out`` is allocated now if
        it is not given.
        """
        table = self._table()
        a, b, c, out, *vectors = map(table.backend.adopt or _as_is, (a, b, c, out, scale_a, scale_b, bias))
        signature = table.find(a, b, c, out, b_is, vectors)[1]
        d = signature.new_output() if out is None else out
        return PreparedLaunch(self.library, table, signature, (a, b, c, d), alpha, beta, vectors)

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
        table = self._table()
        a, b, c, out = map(table.backend.adopt or _as_is, (a, b, c, out))
        signature = table.find(a, b, c, out, b_is, None)[1]
        config = narrowed(self.config, signature, a, b, c, out)
        variant = self._variants.get(config)
        if variant is None:
            if self._rebuild is None:
                raise ToolchainError(
                    "this kernel was not made by cutegen.build, so it cannot build a variant"
                )
            variant = self._variants[config] = self._rebuild(config)
        return variant if variant is self or self._group is None else variant.with_group(self._group)

    def with_group(self, group: int) -> Kernel:
        """This kernel with another raster group: the same library, and nothing is built or loaded again.

        The group is how many tiles are walked along the raster mode before the other advances, as
        ``scheduler.group``. It changes which tiles run at the same time, and so what the L2 cache holds, but
        no result (unless CTAs share the k-tiles of an output tile: then the order of sums may change).

        Args:
            group: From 1 on.

        Raises:
            ArgumentError: Not such a number.
        """
        if isinstance(group, bool) or not isinstance(group, int) or not 1 <= group < 2**31:
            raise ArgumentError(f"group: must be an integer from 1 to 2^31-1 (got {group!r})")
        return Kernel(
            self.config,
            self.artifact,
            backend=self._backend,
            library=self.library,
            rebuild=self._rebuild,
            group=group,
        )

    @property
    def group(self) -> int:
        """Tiles of a raster group: those of ``scheduler.group``, or of :meth:`with_group`."""
        return self._group or self.config.scheduler.group or 1

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
            self._known = SignatureTable(self.config, self._backend or cuda_backend(), self._group or 0)
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


def _as_is(argument: Any) -> Any:
    return argument
