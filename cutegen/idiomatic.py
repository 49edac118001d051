"""What the idiomatic style says of a plan: the TiledMMA, TiledCopies and shared-memory layouts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout, complement, fit
from cutegen.layout.swizzle import Swizzle
from cutegen.plan import KernelPlan, OperandPlan
from cutegen.resources import operand_stage_bytes, permutation_layout, swizzle_of

__all__ = ["idiomatic_context"]

_UINT = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "uint128_t"}


def _universal(element: DTypeName, count: int) -> str:
    return f"UniversalCopy<{_UINT[dtype(element).bits * count]}>"


def _stride(first_is_contiguous: bool) -> str:
    return "Stride<_1,int64_t>" if first_is_contiguous else "Stride<int64_t,_1>"


def _layout(spec: LayoutSpec) -> str:
    return Layout.make(spec.shape, spec.stride).cxx()


def _is_power_of_two(value: int) -> bool:
    return value & (value - 1) == 0


def _modes(layout: Layout) -> list[tuple[int, int]]:
    """(extent, stride) of each mode of a flat layout."""
    if isinstance(layout.shape, int):
        return [(layout.shape, layout.stride)]  # type: ignore[list-item]
    return list(zip(layout.shape, layout.stride, strict=True))  # type: ignore[arg-type]


def _is_sliceable(swizzle: Swizzle, layouts: Sequence[Layout]) -> bool:
    """Whether CuTe can slice swizzled layouts: a mode within a swizzle period must be a power of two.

    Args:
        swizzle: The swizzle of offsets.
        layouts: The tile before its swizzle, and what each partition makes of it.
    """
    return all(
        stride % swizzle.period == 0
        or (_is_power_of_two(stride) and (_is_power_of_two(extent) or extent * stride % swizzle.period == 0))
        for layout in layouts
        for extent, stride in _modes(layout)
        if extent > 1 and stride
    )


def _tile_layout(atom: Layout, rest: Layout, reps: Sequence[int]) -> Layout:
    """All modes of a tile: those of its atom, the atom's gaps, and the repetitions."""
    *gaps, (_, last) = _modes(rest)
    modes = _modes(atom) + gaps + [(extent, stride) for extent in reps for _, stride in (*gaps, (0, last))]
    return Layout(tuple(extent for extent, _ in modes), tuple(stride for _, stride in modes))


def _partitions(operand: OperandPlan) -> list[Layout]:
    """Offsets of threads and of their steps in shared memory, for writing and for reading."""
    views = (operand.copy.view, operand.read.view if operand.read else None)
    return [layout for view in views if view is not None for layout in (view.thread, view.step)]


def _permuted_sizes(cfg: GemmConfig) -> tuple[int, int, int]:
    m, n, k = cfg.tiled_mma.permutation or (1, 1, 1)
    return permutation_layout(m).size, permutation_layout(n).size, permutation_layout(k).size


def _smem(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    """The layout atom of one operand, and how stages made of it follow one another.

    ``tile_to_shape`` puts stages side by side. Where a stage is padded to what its swizzle reaches (see
    :func:`cutegen.resources.operand_stage_bytes`), the stride between stages is written out instead.
    """
    cfg = plan.config
    spec = getattr(cfg.smem, operand.which)
    extent = plan.tile[0 if operand.which == "a" else 1]
    atom, swizzle, stages = Layout(spec.shape, spec.stride), swizzle_of(spec.swizzle), cfg.stages or 1
    stride = operand_stage_bytes(cfg, operand.which) // dtype(cfg.operand(operand.which).dtype).bytes
    reps = (extent // spec.shape[0], plan.tile[2] // spec.shape[1])
    rest = complement(atom, atom.cosize * reps[0] * reps[1] * stages)
    layouts = [_tile_layout(atom, rest, reps), Layout(stages, stride), *_partitions(operand)]
    evaluated = not _is_sliceable(swizzle, layouts)
    side_by_side = stages == 1 or rest(reps[0] * reps[1]) == stride
    return {
        "swizzle": None if swizzle.b == 0 else ("Evaluated" if evaluated else "") + swizzle.cxx(),
        "atom": atom.cxx(),
        "stage_stride": None if side_by_side else stride,
    }


def _s2r(plan: KernelPlan, operand: OperandPlan) -> str:
    """The copy operation; one of a TiledCopy cannot take values of several permuted tiles."""
    read = operand.read
    if read is None or not read.op.startswith("UniversalCopy"):
        return read.op if read else ""
    mode = 0 if operand.which == "a" else 1
    per_tile = operand.fragments.size * _permuted_sizes(plan.config)[mode] // plan.tile[mode]
    return _universal(plan.config.operand(operand.which).dtype, gcd(read.vector, per_tile))


def _operand(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    """What the templates say of A or B."""
    name = operand.which.upper()
    result: dict[str, Any] = {"name": name, "mn": "M" if name == "A" else "N"}
    if operand.read is None:
        return result
    copy = getattr(plan.config.g2s, operand.which)
    return {
        **result,
        "smem": _smem(plan, operand),
        "g2s": operand.copy.op,
        "g2s_async": operand.copy.asynchronous,
        "g2s_threads": _layout(copy.threads),
        "g2s_values": _layout(copy.values),
        "s2r": _s2r(plan, operand),
    }


def _epilogue(plan: KernelPlan) -> dict[str, str | bool]:
    """The staging buffer of D, and the copies into and out of it."""
    cfg, output = plan.config, plan.output
    if cfg.epilogue.store != "smem":
        return {}
    element = cfg.d.dtype or "f32"
    n_major = cfg.d.major == "n"
    blk_m, blk_n, _ = plan.tile
    perm_m, perm_n, _ = _permuted_sizes(cfg)
    per_tile = output.registers * perm_m // blk_m * perm_n // blk_n
    run, rows = (blk_n, blk_m) if n_major else (blk_m, blk_n)
    along, across = _threads(run // plan.d_vector, rows, plan.threads)
    vector = plan.d_vector
    return {
        "smem_d": Layout((blk_m, blk_n), (plan.pitch, 1) if n_major else (1, plan.pitch)).cxx(),
        "r2s": _universal(element, gcd(output.vector, per_tile)),
        "r2s_retiled": all(isinstance(extent, int) for extent in (cfg.tiled_mma.permutation or ())[:2]),
        "s2g": _universal(element, vector),
        "s2g_threads": Layout(
            (across, along) if n_major else (along, across), (along, 1) if n_major else (1, along)
        ).cxx(),
        "s2g_values": Layout.make((1, vector) if n_major else (vector, 1)).cxx(),
    }


def _threads(pieces: int, rows: int, threads: int) -> tuple[int, int]:
    """Threads along and across the rows of D: as many as divide both, then the longest along a row."""
    shapes = [
        (along, max(d for d in range(1, min(rows, threads // along) + 1) if rows % d == 0))
        for along in range(1, min(pieces, threads) + 1)
        if pieces % along == 0
    ]
    return max(shapes, key=lambda shape: (shape[0] * shape[1], shape[0]))


def _permutation(entry: int | LayoutSpec) -> str:
    if isinstance(entry, int):
        return f"Int<{entry}>"
    layout = permutation_layout(entry)
    return (fit(layout.table()) or layout).cxx()  # CuTe divides by it, and stumbles over modes of extent 1


def idiomatic_context(plan: KernelPlan) -> dict[str, Any]:
    """The variable ``cute`` of the idiomatic templates."""
    cfg, atom = plan.config, plan.atom
    widens = atom.is_simt and atom.a != atom.acc
    m, n, k = cfg.tiled_mma.layout or (1, 1, 1)
    operands = [_operand(plan, plan.a), _operand(plan, plan.b)]
    return {
        "widens": widens,
        "evaluates_swizzle": any(
            "Evaluated" in (op["smem"]["swizzle"] or "") for op in operands if "smem" in op
        ),
        "mma_op": f"WideningFMA<{dtype(atom.acc).cxx},{dtype(atom.a).cxx}>" if widens else atom.name,
        "atom_layout": f"Layout<Shape<Int<{m}>,Int<{n}>,Int<{k}>>>",
        "permutation": f"Tile<{','.join(_permutation(p) for p in cfg.tiled_mma.permutation or (1, 1, 1))}>",
        "stride_a": _stride(cfg.a.major == "m"),
        "stride_b": _stride(cfg.b.major == "n"),
        "stride_c": _stride(cfg.c.major == "m"),
        "stride_d": _stride(cfg.d.major == "m"),
        "smem_bytes_a": operand_stage_bytes(cfg, "a") * (cfg.stages or 1),
        "operands": operands,
        **_epilogue(plan),
    }
