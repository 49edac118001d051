"""Recognise tensors by their metadata, at the lowest cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Guard", "compared", "make_guard", "metadata"]

Guard = Callable[..., bool]


def metadata(tensor: Any) -> tuple[Any, ...]:
    """All that decides whether a tensor fits, except its address; hashable."""
    return (tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.is_neg(), type(tensor))


def make_guard(*tensors: Any) -> Guard:
    """A callable that tells in 0.3 us whether other tensors have the same metadata as these.

    It uses the class with which ``torch.compile`` guards its graphs: one C++ call compares type, dtype,
    device, shape and strides of all tensors. Where torch lacks it, Python compares.
    """
    try:
        guards = sys.modules["torch"]._C._dynamo.guards
        check: Guard = guards.TensorGuards(
            *tensors,
            dynamic_dims_sizes=[list(t.shape) for t in tensors],
            dynamic_dims_strides=[list(t.stride()) for t in tensors],
        ).check
        if check(*tensors):
            return check
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, SystemError):
        pass  # a private interface of another torch: the comparison below says the same
    return compared(*tensors)


def compared(*tensors: Any) -> Guard:
    """The guard that asks nothing of torch."""
    known = [metadata(t) for t in tensors]

    def compare(*others: Any) -> bool:
        try:
            return [metadata(t) for t in others] == known
        except (AttributeError, TypeError, RuntimeError):
            return False

    return compare
