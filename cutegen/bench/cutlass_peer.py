"""CUTLASS's own kernels for Hopper, built through ``mainloop: collective``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutegen.bench.operands import Operands
from cutegen.build import Progress
from cutegen.building import try_build_many
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.errors import CutegenError
from cutegen.kernel import Kernel
from cutegen.rules import check
from cutegen.toolchain import Toolchain

__all__ = ["built", "collectives"]

_STREAM_K = "stream_k"
#: Schedule, rows and columns of a tile, and CTAs of a cluster along M and N.
_CHOICES = (
    ("pingpong", 64, 64, 1, 1),
    ("pingpong", 64, 128, 1, 1),
    ("pingpong", 64, 128, 2, 1),
    ("pingpong", 64, 256, 1, 1),
    ("pingpong", 128, 128, 1, 1),
    ("pingpong", 128, 128, 2, 1),
    ("cooperative", 128, 128, 1, 1),
    ("cooperative", 128, 128, 2, 1),
    ("cooperative", 128, 256, 1, 1),
    ("cooperative", 128, 256, 2, 1),
    ("cooperative", 128, 256, 1, 2),
    ("cooperative", 256, 128, 1, 1),
    ("cooperative", 256, 128, 2, 1),
    ("cooperative", 256, 128, 1, 2),
    (_STREAM_K, 128, 128, 1, 1),
    (_STREAM_K, 128, 256, 2, 1),
)
_K_BYTES = 128


def collectives(operands: Operands) -> Iterator[tuple[str, GemmConfig]]:
    """Names and configs of the kernels that can be; none where the types have no warpgroup MMA."""
    for schedule, m, n, cluster_m, cluster_n in _CHOICES:
        data: dict[str, Any] = {
            "arch": "sm_90a",
            "mainloop": "collective",
            "a": {"dtype": operands.a, "major": operands.a_major},
            "b": {"dtype": operands.b, "major": operands.b_major},
            "c": {"dtype": operands.d, "major": operands.d_major},
            "d": {"dtype": operands.d, "major": operands.d_major},
            "tile": (m, n, _K_BYTES // dtype(operands.a).bytes),
            "cluster": (cluster_m, cluster_n, 1),
            "schedule": "cooperative" if schedule == _STREAM_K else schedule,
            "epilogue": {vector.name: vector.kind for vector in operands.vectors},
        }
        if dtype(operands.a).kind == "float" and dtype(operands.a).bytes == 1:
            data["fast_accumulation"] = not operands.promoted
        if schedule == _STREAM_K:
            data["scheduler"] = {"kind": _STREAM_K}
        config = GemmConfig(**data)
        if not check(config):
            cluster = f" {cluster_m}x{cluster_n}" if cluster_m * cluster_n > 1 else ""
            yield f"cutlass {schedule.replace('_', '-')} {m}x{n}{cluster}", config


def built(
    operands: Operands,
    toolchain: Toolchain | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[tuple[str, Kernel]] | str:
    """Kernels and their names, or why there is none.

    Args:
        operands: Types, layouts, scales and bias.
        toolchain: The compiler; found anew when left out. Each kernel takes it about a minute.
        jobs: Compilers at a time.
        progress: As for :func:`cutegen.build_many`.

    Raises:
        CutegenError: A kernel was not built.
    """
    found = list(collectives(operands))
    if not found:
        return "CollectiveBuilder has no kernel of these types for sm_90a"
    kernels = try_build_many([config for _, config in found], jobs, progress, toolchain=toolchain)
    named: list[tuple[str, Kernel]] = []
    for (name, _), kernel in zip(found, kernels, strict=True):
        if isinstance(kernel, CutegenError):
            raise kernel
        named.append((name, kernel))
    return named
