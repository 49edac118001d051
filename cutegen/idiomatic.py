"""What the idiomatic style says of a plan beyond the resolved one: the TiledMMA and TiledCopy behind it."""

from __future__ import annotations

from math import gcd
from typing import Any

from cutegen.config import LayoutSpec
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout, complement
from cutegen.plan import KernelPlan, OperandPlan
from cutegen.resources import operand_stage_bytes, permutation_layout, swizzle_of

__all__ = ["idiomatic_context"]

_UINT = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "uint128_t"}


def _stride(first_is_contiguous: bool) -> str:
    return "Stride<_1,int64_t>" if first_is_contiguous else "Stride<int64_t,_1>"


def _layout(spec: LayoutSpec | None) -> str:
    return "Layout<_1>" if spec is None else Layout.make(spec.shape, spec.stride).cxx()


def _permutation(entry: int | LayoutSpec) -> str:
    return f"Int<{entry}>" if isinstance(entry, int) else permutation_layout(entry).cxx()


def _swizzled(swizzle: tuple[int, int, int] | str, layout: str) -> str:
    """The C++ type of a shared-memory layout; a swizzle of no bits is left out."""
    spec = swizzle_of(swizzle)  # type: ignore[arg-type]
    return layout if spec.b == 0 else f"decltype(composition({spec.cxx()}{{}}, {layout}{{}}))"


def _smem(plan: KernelPlan, operand: OperandPlan) -> dict[str, str]:
    """The layout atom of one operand, and the ring of stages made of it.

    ``tile_to_shape`` puts stages side by side. Where a stage is padded to whole swizzle periods (see
    :func:`cutegen.resources.operand_stage_bytes`), the stride between stages is written out instead.
    """
    cfg = plan.config
    spec = getattr(cfg.smem, operand.which)
    mn, extent = ("M", plan.tile[0]) if operand.which == "a" else ("N", plan.tile[1])
    atom = Layout(spec.shape, spec.stride)
    reps = (extent // spec.shape[0]) * (plan.tile[2] // spec.shape[1])
    stages = cfg.stages or 1
    natural = complement(atom, atom.cosize * reps * stages).table()
    stride = operand_stage_bytes(cfg, operand.which) // dtype(cfg.operand(operand.which).dtype).bytes
    shape = f"Shape<Int<BLK_{mn}>,Int<BLK_K>"
    if stages == 1 or natural[reps] == stride:
        ring = f"decltype(tile_to_shape(SmemLayoutAtom{mn}{{}}, {shape},Int<STAGES>>{{}}))"
    else:
        tile = f"tile_to_shape({atom.cxx()}{{}}, {shape}>{{}})"
        ring = _swizzled(spec.swizzle, f"decltype(append({tile}, Layout<Int<STAGES>,Int<{stride}>>{{}}))")
    return {"smem_atom": _swizzled(spec.swizzle, atom.cxx()), "smem": ring.replace("Atom" + mn, "Atom" + operand.which.upper())}


def _operand(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    cfg = plan.config
    copy = getattr(cfg.g2s, operand.which)
    name = operand.which.upper()
    result: dict[str, Any] = {"name": name, "mn": "M" if name == "A" else "N"}
    if operand.read is None:
        return result
    return result | _smem(plan, operand) | {
        "g2s": operand.copy.op,
        "g2s_async": operand.copy.asynchronous,
        "g2s_threads": _layout(copy.threads),
        "g2s_values": _layout(copy.values),
        "s2r": _s2r(plan, operand),
    }


def _values_per_tile(plan: KernelPlan, mode: int, values: int) -> int:
    return values


def _s2r(plan: KernelPlan, operand: OperandPlan) -> str:
    """The copy operation; a TiledCopy cannot take values of several permuted tiles at once."""
    read = operand.read
    if read is None or not read.op.startswith("UniversalCopy"):
        return read.op if read else ""
    mode = 0 if operand.which == "a" else 1
    perms = plan.config.tiled_mma.permutation or (1, 1, 1)
    per_tile = permutation_layout(perms[mode]).size * permutation_layout(perms[2]).size * plan.a.fragments.size
    width = dtype(plan.config.operand(operand.which).dtype).bits
    return f"UniversalCopy<{_UINT[width * gcd(read.vector, _per_tile(plan, operand))]}>"


def _per_tile(plan: KernelPlan, operand: OperandPlan) -> int:
    """Values of one thread in one permuted (MN, K) tile."""
    mode = 0 if operand.which == "a" else 1
    extent = plan.tile[mode]
    perm = permutation_layout((plan.config.tiled_mma.permutation or (1, 1, 1))[mode]).size
    return operand.fragments.size * perm // extent


def _epilogue(plan: KernelPlan) -> dict[str, Any]:
    """The staging buffer of D and the copies into and out of it."""
    cfg, output = plan.config, plan.output
    if cfg.epilogue.store != "smem":
        return {}
    blk_m, blk_n, _ = plan.tile
    width = dtype(cfg.d.dtype or "f32").bits
    n_major = cfg.d.major == "n"
    perms = cfg.tiled_mma.permutation or (1, 1, 1)
    per_tile = output.registers
    for mode in (0, 1):
        per_tile = per_tile * permutation_layout(perms[mode]).size // plan.tile[mode]
    run, rows = (blk_n, blk_m) if n_major else (blk_m, blk_n)
    along, across = _share(run // plan.d_vector, rows, plan.threads)
    threads = Layout((across, along), (along, 1)) if n_major else Layout((along, across), (1, along))
    values = Layout.make((1, plan.d_vector) if n_major else (plan.d_vector, 1))
    stride = (plan.pitch, 1) if n_major else (1, plan.pitch)
    return {
        "smem_d": Layout((blk_m, blk_n), stride).cxx(),
        "r2s": f"UniversalCopy<{_UINT[width * gcd(output.vector, per_tile)]}>",
        "s2g": f"UniversalCopy<{_UINT[width * plan.d_vector]}>",
        "s2g_threads": threads.cxx(),
        "s2g_values": values.cxx(),
    }


def _share(pieces: int, rows: int, threads: int) -> tuple[int, int]:
    """Threads along and across the rows: as many as divide both, then as long along the rows as possible."""
    best = (1, 1)
    for along in range(1, min(pieces, threads) + 1):
        if pieces % along:
            continue
        across = max(d for d in range(1, min(rows, threads // along) + 1) if rows % d == 0)
        best = max(best, (along, across), key=lambda s: (s[0] * s[1], s[0]))
    return best


def idiomatic_context(plan: KernelPlan) -> dict[str, Any]:
    """The variable ``cute`` of the idiomatic templates."""
    cfg = plan.config
    atom = plan.atom
    widens = atom.is_simt and atom.a != atom.acc
    element, accumulator = dtype(atom.a).cxx, dtype(atom.acc).cxx
    m, n, k = cfg.tiled_mma.layout or (1, 1, 1)
    perms = cfg.tiled_mma.permutation or (1, 1, 1)
    cute = {
        "widens": widens,
        "mma_op": f"WideningFMA<{accumulator},{element}>" if widens else atom.name,
        "atom_layout": f"Layout<Shape<Int<{m}>,Int<{n}>,Int<{k}>>>",
        "permutation": f"Tile<{','.join(_permutation(p) for p in perms)}>",
        "stride_a": _stride(cfg.a.major == "m"),
        "stride_b": _stride(cfg.b.major == "n"),
        "stride_c": _stride(cfg.c.major == "m"),
        "stride_d": _stride(cfg.d.major == "m"),
        "smem_bytes_a": operand_stage_bytes(cfg, "a") * (cfg.stages or 1),
        "operands": [_operand(plan, plan.a), _operand(plan, plan.b)],
    }
    return {"cute": cute | _epilogue(plan)}
