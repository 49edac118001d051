"""``cutegen.matmul``: a product of two matrices by the kernel that fits it, built when it is needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from cutegen.building import build
from cutegen.choose import Card, Problem, config_for
from cutegen.config import GemmConfig
from cutegen.device import gpus
from cutegen.dtypes import DTYPES, DTypeName, dtype
from cutegen.errors import ArgumentError, ToolchainError
from cutegen.operand_check import BOrder, alignment, orient_b
from cutegen.resolve import resolve
from cutegen.resolve.types import NATURAL_OUTPUT
from cutegen.signature import import_torch, metadata
from cutegen.toolchain import target_for_device

if TYPE_CHECKING:
    from torch import Tensor

    from cutegen.kernel import Kernel

__all__ = ["matmul"]

#: From torch's types; its float32 is f32 or tf32, as torch's precision of products says.
_TYPES: dict[str, DTypeName] = {kind.torch: name for name, kind in DTYPES.items() if kind.torch != "float32"}
_MOST_CALLS = 4096  # kinds of calls whose kernel is remembered

_calls: dict[tuple[Any, ...], Kernel] = {}
_kernels: dict[tuple[GemmConfig, str], Kernel] = {}
_building = threading.Lock()
_GROUP = 8  # tiles of a raster group that kernels are built with


def matmul(a: Tensor, b: Tensor, *, out: Tensor | None = None, b_is: BOrder | None = None) -> Tensor:
    """A*B for two matrices on a GPU, as ``torch.matmul`` of two 2-D tensors.

    The kernel follows from types, layouts, alignment and shape (:func:`cutegen.choose.config_for`). It is
    built at the first call that needs it, through the cache of kernels, and kept as long as the process. The
    call is then that of a :class:`cutegen.Kernel`: enqueued on the current stream, without a gradient.

    Args:
        a: A, (M,K), with stride 1 along one of its modes.
        b: B as ``torch.matmul`` takes it, (K,N), with stride 1 along one of its modes; the weight W (N,K) of
            a linear layer is ``W.t()``. As for a kernel, a tensor that torch would refuse because only its
            second extent is K is taken as (N,K); a square one is (K,N).
        out: Where D goes, (M,N); left out: a new tensor. Its type may be wider, for example float32 for
            bfloat16 operands.
        b_is: ``"nk"`` or ``"kn"`` to say how b is given, instead of telling it by its shape.

    Returns:
        D, ``out`` if given. New ones are N-major, of the type of the operands, but bfloat16 for 8-bit floats
        and int32 for integers. float32 is summed in float32 after a product that is as precise as
        ``torch.set_float32_matmul_precision`` asks: ``highest``, the default, never rounds operands to tf32.

    Raises:
        ArgumentError: The tensors cannot be multiplied; nothing was launched.
        ConfigError: No kernel has these types on this GPU.
        ToolchainError: A kernel must be built, and there is no compiler.
        CompileError: The compiler failed.
        LaunchError: The driver refused.
    """
    key: tuple[Any, ...]
    try:
        key = (*map(_facts, (a, b) if out is None else (a, b, out)), b_is, _precise())
        kernel = _calls.get(key)
    except (AttributeError, TypeError, RuntimeError):  # no tensor, or one without strides: _kernel says so
        key, kernel = (), None
    if kernel is None:
        kernel = _kernel(a, b, out, b_is)
        if key:
            if len(_calls) >= _MOST_CALLS:
                _calls.clear()
            _calls[key] = kernel
    return kernel(a, b, out=out, b_is=b_is)


def _facts(tensor: Any) -> tuple[Any, ...]:
    """All of a tensor that the choice of a kernel depends on."""
    return (metadata(tensor), tensor.data_ptr() & 15)


def _kernel(a: Any, b: Any, out: Any, b_is: BOrder | None) -> Kernel:
    """The kernel for a call, built if need be."""
    torch = import_torch()
    named = [("a", a), ("b", b)] + ([] if out is None else [("out", out)])
    for name, tensor in named:
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(
                f"{name}: must be a torch tensor on a cuda device (got {type(tensor).__qualname__})"
            )
        if tensor.device.type != "cuda":
            raise ArgumentError(f"{name}: must be on a cuda device (got a tensor on {tensor.device})")
        if tensor.layout is not torch.strided:
            raise ArgumentError(f"{name}: must be a plain strided tensor (got {tensor.layout})")
        if tensor.dim() != 2:
            raise ArgumentError(
                f"{name}: must have 2 dimensions (got {tensor.dim()}, shape {tuple(tensor.shape)})"
            )
    found = gpus()
    ordinal = a.device.index or 0
    if ordinal >= len(found):
        raise ToolchainError(f"the driver does not list device {a.device}")
    gpu = found[ordinal]
    card = Card(cc=gpu.cc, multiprocessors=gpu.multiprocessors)
    config = resolve(config_for(_problem(a, b, out, b_is), card))  # equal kernels have equal resolved configs
    target = target_for_device(config.arch, divmod(gpu.cc, 10))
    group = config.scheduler.group or _GROUP
    config = config.replace(scheduler=config.scheduler.replace(group=_GROUP))  # one build for every group
    with _building:  # equal calls of several threads wait for one build
        kernel = _kernels.get((config, target))
        if kernel is None:
            kernel = _kernels[config, target] = build(config, target=target)
    return kernel if group == _GROUP else kernel.with_group(group)


def _problem(a: Any, b: Any, out: Any, b_is: BOrder | None) -> Problem:
    """What a call asks for.

    Raises:
        ArgumentError: The shapes do not fit together, or a type is unknown.
    """
    (m, k), stride = a.shape, b.stride()
    turned, _ = orient_b(tuple(b.shape), k, b_is)
    n = b.shape[1 if turned else 0]
    if out is not None and tuple(out.shape) != (m, n):
        raise ArgumentError(f"out: must have shape (M,N) = {(m, n)} (got {tuple(out.shape)})")
    b_stride = stride[::-1] if turned else stride
    majors = (
        "k" if a.stride()[1] == 1 or a.stride()[0] != 1 else "m",
        "k" if b_stride[1] == 1 or b_stride[0] != 1 else "n",
        "n" if out is None or out.stride()[1] == 1 or out.stride()[0] != 1 else "m",
    )
    types = (_type("a", a), _type("b", b))
    d = None if out is None else _type("out", out, precise=True)
    new = NATURAL_OUTPUT[types[0]]
    return Problem(
        m=m,
        n=n,
        k=k,
        a=types[0],
        b=types[1],
        d=d,
        majors="".join(majors),
        aligns=(
            _align(a.shape, a.stride(), a, 1 if majors[0] == "k" else 0),
            _align((n, k), b_stride, b, 1 if majors[1] == "k" else 0),
            alignment((m, n), (n, 1), itemsize=dtype(new).bytes, major=1)
            if out is None
            else _align(out.shape, out.stride(), out, 1 if majors[2] == "n" else 0),
        ),
    )


def _align(shape: Any, stride: Any, tensor: Any, major: int) -> int:
    return alignment(shape, stride, itemsize=tensor.element_size(), address=tensor.data_ptr(), major=major)


def _type(name: str, tensor: Any, *, precise: bool = False) -> DTypeName:
    word = str(tensor.dtype).removeprefix("torch.")
    if word == "float32":
        return "f32" if precise or _precise() else "tf32"
    if word not in _TYPES:
        raise ArgumentError(f"{name}: dtype must be one of float32, {', '.join(_TYPES)} (got {tensor.dtype})")
    return _TYPES[word]


def _precise() -> bool:
    """Whether products of float32 must not be rounded to tf32."""
    import torch

    return bool(torch.get_float32_matmul_precision() == "highest")
