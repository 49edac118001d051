"""A kernel that only reads B: what a product with few rows of A costs at least."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cutegen.bench.operands import Operands, Tensors
from cutegen.binding import UNCHECKED, KernelLibrary, pack_launch
from cutegen.build import compile_kernel
from cutegen.device import build_target
from cutegen.dtypes import dtype
from cutegen.render import LaunchSpec, OperandSpec, RenderedKernel
from cutegen.toolchain import Toolchain

__all__ = ["binder", "read_kernel"]

_ROWS = 8  # of B for which there is a CTA, as long as the GPU holds them all at once


def read_kernel() -> RenderedKernel:
    """The kernel, as if it were rendered: B is given as bytes, (N, K in bytes)."""

    def operand(name: str, rows: str, run: str) -> OperandSpec:
        return OperandSpec(name=name, dtype="u8", bytes=1, align=16, run=run, rows=rows)

    text = (Path(__file__).parent / "read_weights.cu").read_text(encoding="utf-8")
    launch = LaunchSpec(
        kernel="read_weights",
        threads=512,
        smem_bytes=0,
        blk_m=1 << 20,
        blk_n=_ROWS,
        blk_k=16,
        scale="f32",
        a=operand("A", "m", "k"),
        b=operand("B", "n", "k"),
        c=operand("C", "m", "n"),
        d=operand("D", "m", "n"),
        persistent=True,
    )
    return RenderedKernel(name="read_weights", text=text, style="resolved", arch="sm_75", launch=launch)


def binder(
    operands: Operands, toolchain: Toolchain | None = None
) -> Callable[[Tensors], Callable[[], object]]:
    """What makes a launch that reads B; builds the kernel.

    Args:
        operands: Types and layouts.
        toolchain: The compiler; found anew when left out.

    Raises:
        ToolchainError: There is no compiler.
    """
    artifact = compile_kernel(read_kernel(), target=build_target("sm_75", None), toolchain=toolchain)
    return partial(_bind, KernelLibrary(artifact.so), dtype(operands.b).bytes)


def _bind(library: KernelLibrary, element_bytes: int, t: Tensors) -> Callable[[], object]:
    import torch

    n, k = t.b.shape
    device = t.b.device.index or 0
    stream = torch.cuda.current_stream(device).cuda_stream
    packed = pack_launch(
        *(t.b.data_ptr(), t.b.data_ptr(), 0, t.d.data_ptr()),
        *(k * element_bytes, k * element_bytes, 1, 1),
        *(1, n, k * element_bytes, 0),
        *(1.0, 0.0),
        *(0, 0, 0),  # no scales, no bias
        *(stream, device, UNCHECKED),
    )

    def launch() -> None:
        status = library.launch(packed)
        if status:
            raise library.error(status, device)

    return launch
