"""The tensor maps of a kernel's matrices, as the launcher makes them on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cutegen.emulator.job import MapArgument
from cutegen.operands.wgmma import TensorMap

__all__ = ["MAPS_OFFSET", "MAP_BYTES", "map_arguments"]

#: Of the maps in the parameters: behind all others, at a multiple of a map's alignment.
MAPS_OFFSET = 128

#: Bytes of a CUtensorMap.
MAP_BYTES = 128


def map_arguments(
    maps: Sequence[TensorMap],
    extents: Mapping[str, tuple[int, int]],
    leading: Mapping[str, int],
    where: Mapping[str, tuple[int, int]],
) -> tuple[MapArgument, ...]:
    """The maps of a launch.

    Args:
        maps: What the kernel wants, in order.
        extents: (MN, K) of A and B, (M, N) of D.
        leading: Leading strides in elements.
        where: Buffer and offset of each matrix.
    """
    made = []
    for index, spec in enumerate(maps):
        name = spec.matrix.upper()
        rows, columns = extents[name]
        inner, outer = (rows, columns) if spec.mn_inner else (columns, rows)
        buffer, delta = where[name]
        row_bytes = -(-max(1, inner) * spec.bytes // 16) * 16
        made.append(
            MapArgument(
                at=MAPS_OFFSET + MAP_BYTES * index,
                type=spec.type_code,
                buffer=buffer,
                delta=delta,
                extents=(max(1, inner), max(1, outer)),
                stride=leading[name] * spec.bytes if outer > 1 and inner > 0 else row_bytes,
                box=(spec.box_inner, spec.box_outer),
                swizzle=spec.swizzle_code,
            )
        )
    return tuple(made)
