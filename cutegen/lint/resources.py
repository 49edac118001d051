"""Stages, registers, CTAs per SM and budgets that work against each other."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.dtypes import dtype
from cutegen.lint.registry import Remark, advice
from cutegen.lint.review import Review
from cutegen.occupancy import occupancy
from cutegen.resources import accumulator_registers, fragment_registers
from cutegen.rules.text import either

__all__ = ["register_limit", "registers_needed"]

_TABLE = "CUDA C++ Programming Guide, table Technical Specifications per Compute Capability"
_ADDRESSES = 7  # two 64-bit pointers, two shared addresses or extents that are left, and the k-tile
_STAGES = 2  # the stage that is read, and the one that is written
_REGISTER_UNIT = 8  # registers of a thread are given out in eights


def register_limit(review: Review) -> int:
    """Registers that one thread may have under the config's launch bounds."""
    return _limit_of(review, review.cfg.min_blocks or 1)


@advice(
    "registers-spill",
    reason="Accumulators, the fragments of a k-block and the addresses of the next copies are live at the "
    "same time. When the launch bounds leave a thread fewer registers, the compiler moves some of "
    "them to local memory and back in the mainloop.",
    source=f"{_TABLE}: registers per SM and per thread; with nvcc 13.0, each of 46 kernels that this names "
    "had 172 to 6716 bytes of spills",
)
def registers_spill(review: Review) -> Iterator[Remark]:
    """The registers of a thread cannot hold what the mainloop keeps in them."""
    cfg, limit = review.cfg, register_limit(review)
    need = registers_needed(review)
    if need <= limit:
        return
    blocks = cfg.min_blocks or 1
    fixes = []
    most = next((b for b in range(blocks - 1, 0, -1) if _limit_of(review, b) >= need), None)
    if most is not None:
        fixes.append(f"min_blocks: {most}")
    else:
        fixes += ["a smaller tile", "more warps in tiled_mma.layout"]
        fixes += ["a larger align, if the matrices have it"] if _passing(review) else []
    yield Remark(
        field="min_blocks" if most is not None else "tile",
        message=f"a thread may have {limit} registers and needs {need} at least, so it spills in the "
        "mainloop",
        got=f"{accumulator_registers(cfg)} accumulators of {review.plan.threads} threads, min_blocks "
        f"{blocks}",
        fix=f"use {either(fixes)}",
    )


def registers_needed(review: Review) -> int:
    """Registers of a thread that are live in the mainloop at the same time, at least."""
    accumulators = accumulator_registers(review.cfg)
    fragments, passing = _fragments(review), _passing(review)
    if review.cfg.stages == 1:
        return accumulators + _ADDRESSES + max(fragments, passing)
    return accumulators + _ADDRESSES + _STAGES + fragments + passing


def _fragments(review: Review) -> int:
    """Registers of fragments: k-blocks that ldmatrix has read, and what an MMA wants of a plain load.

    The compiler may put plain loads off until an MMA needs them, but it loads no value twice: while it goes
    through the atoms of one operand, it keeps all atoms of the other.
    """
    plan, atom = review.plan, review.plan.atom
    buffers = 2 if plan.double_buffer else 1
    blocks, rows, ones = [], [], []
    for operand, values, name in ((plan.a, atom.a_values, atom.a), (plan.b, atom.b_values, atom.b)):
        one = -(-values * dtype(name).bits // 32)
        row = -(-values * operand.fragments.atoms_mn * dtype(name).bits // 32)
        early = operand.read is not None and "LDSM" in operand.read.op
        blocks.append(buffers * row * operand.fragments.atoms_k if early else one)
        rows.append(row)
        ones.append(one)
    return max(sum(blocks), min(rows[0] + ones[1], ones[0] + rows[1]))


def _passing(review: Review) -> int:
    """Registers that a k-tile takes on its way to shared memory when its copy is not cp.async."""
    if review.cfg.mainloop == "direct":
        return 0
    return fragment_registers(review.cfg, 0) - accumulator_registers(review.cfg)


def _limit_of(review: Review, blocks: int) -> int:
    """The same with another number of CTAs per SM."""
    share = review.arch.registers_per_sm // (blocks * review.plan.threads)
    return min(review.arch.max_registers_per_thread, share // _REGISTER_UNIT * _REGISTER_UNIT)


@advice(
    "min-blocks-smem",
    reason="min_blocks halves or quarters the registers of a thread so that several CTAs fit on an SM. When "
    "shared memory has no room for them, the registers are given away for nothing.",
    source=f"{_TABLE}: maximum amount of shared memory per SM; 1 KiB of each CTA is the system's since sm_80",
)
def min_blocks_smem(review: Review) -> Iterator[Remark]:
    """Shared memory holds fewer CTAs than min_blocks asks for."""
    cfg, limits, each = review.cfg, review.arch, review.plan.smem_bytes
    if cfg.min_blocks is None or not each or not review.gives("min_blocks"):
        return
    most = occupancy(limits, threads=review.plan.threads, registers=1, smem=each).by_smem
    if most is None or most >= cfg.min_blocks:
        return
    fixes = [f"min_blocks: {most}"]
    per_stage = review.plan.stage_bytes
    share = limits.smem_per_sm // cfg.min_blocks - limits.reserved_smem_per_block
    if per_stage and share // per_stage >= 2:
        fewer = review.but("stages", share // per_stage)
        if fewer is not None and fewer.plan.smem_bytes <= share:
            fixes.append(f"stages: {share // per_stage}")
    yield Remark(
        field="min_blocks",
        message=f"an SM of {cfg.arch} has shared memory for {most} CTA{'s' * (most != 1)} of {each} bytes",
        got=str(cfg.min_blocks),
        fix=f"use {' or '.join(fixes)}",
    )


@advice(
    "one-stage",
    reason="With one stage, copies and multiplications take turns: the tensor cores wait for each k-tile to "
    "arrive, and all threads meet at two barriers a k-tile.",
    source="templates/parts/mainloop_multistage.cu; CUTLASS media/docs/cpp/efficient_gemm.md, Pipelining",
)
def one_stage(review: Review) -> Iterator[Remark]:
    """One slot in the ring buffer where two would fit."""
    if review.cfg.mainloop == "direct" or review.cfg.stages != 1 or not review.gives("stages"):
        return
    free = review.without("stages")
    if free is None or (free.cfg.stages or 1) < 2:
        return
    yield Remark(
        field="stages",
        message="copies and multiplications take turns",
        got="1",
        fix=f"use stages: {free.cfg.stages}",
    )


@advice(
    "limits-unreachable",
    reason="A budget below what the config itself asks for fails in every build.",
    source="cutegen/budget.py, which compares limits with what the compiler used",
)
def limits_unreachable(review: Review) -> Iterator[Remark]:
    """A budget that the kernel cannot keep."""
    limits = review.cfg.limits
    smem, registers = review.plan.smem_bytes, registers_needed(review)
    if limits.max_smem_bytes is not None and smem > limits.max_smem_bytes:
        yield Remark(
            field="limits.max_smem_bytes",
            message=f"the kernel has {smem} bytes of shared memory, so every build fails",
            got=str(limits.max_smem_bytes),
            fix=f"use limits.max_smem_bytes: {smem}, fewer stages or a smaller tile",
        )
    if limits.max_registers is not None and limits.max_spills == 0 and registers > limits.max_registers:
        yield Remark(
            field="limits.max_registers",
            message=f"a thread needs {registers} registers at least, so every build fails",
            got=str(limits.max_registers),
            fix="use a smaller tile or more warps, or raise the limit",
        )


@advice(
    "idle-threads",
    reason="A warp takes the same time whether one of its lanes works or all 32, and lanes without a share "
    "of the work hold registers all the same.",
    source="CUDA C++ Programming Guide, SIMT Architecture: 32 threads execute one common instruction at a "
    "time",
)
def idle_threads(review: Review) -> Iterator[Remark]:
    """Most lanes of the CTA's warps, or of the epilogue's row copies, have nothing to do."""
    threads = review.plan.threads
    lanes = -(-threads // 32) * 32
    if 2 * threads <= lanes:
        yield Remark(
            field="tiled_mma.layout" if review.gives("tiled_mma.layout") else "tile",
            message=f"{lanes - threads} of {lanes} lanes do not exist",
            got=f"{threads} threads",
            fix="use a layout whose threads are a multiple of 32, and a tile that it divides",
        )
    rows = review.find("global", "S2G D")
    if rows is None:
        return
    blk_m, blk_n, _ = review.plan.tile
    busy = blk_m * blk_n // review.plan.d_vector
    if 2 * busy <= threads:
        yield Remark(
            field="tile",
            message=f"{threads - busy} of {threads} threads store nothing, since the output tile has {busy} "
            "vectors",
            got=f"{blk_m} x {blk_n} for {threads} threads",
            fix="use a larger tile or fewer warps",
        )
