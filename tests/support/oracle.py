"""CuTe's own partitions, evaluated on the host, against the layouts of plans.

A C++ program rendered from the Config of the idiomatic style evaluates its TiledMMA and TiledCopies for
every thread and element; ``differences`` evaluates what the resolved style would do and compares.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout
from cutegen.layout.partition import tile_offsets
from cutegen.layout.swizzle import Swizzle
from cutegen.operands import View, operand_coords
from cutegen.plan import KernelPlan, OperandPlan
from cutegen.render import context, environment
from cutegen.resources import operand_stage_bytes, smem_alignment, swizzle_of
from cutegen.toolchain import find_toolchain

__all__ = ["Arrays", "differences", "evaluate", "run_program"]

Ints = npt.NDArray[np.int64]
Arrays = dict[str, Ints]


def run_program(source: str, directory: Path, name: str) -> Arrays:
    """Compile a host program with the CuTe headers, run it, and read the arrays that it writes."""
    compiler = shutil.which("g++")
    assert compiler is not None
    toolchain = find_toolchain()
    includes = [toolchain.cutlass.include, *toolchain.nvcc.includes]
    includes += [path / "cccl" for path in toolchain.nvcc.includes if (path / "cccl").is_dir()]
    text, program = directory / f"{name}.cpp", directory / name
    text.write_text(source)
    # -O1 compiles quicker than -O0: less code is written out.
    command = [compiler, "-std=c++17", "-O1", "-w", *(f"-I{path}" for path in includes), text, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{text} does not compile:\n{done.stderr[:6000]}"
    return _read(subprocess.run([program], capture_output=True, check=True).stdout)


def _read(data: bytes) -> Arrays:
    arrays: Arrays = {}
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, at = data[at:end].decode(), end + 1
        end = data.index(b"\n", at)
        count, at = int(data[at:end]), end + 1
        arrays[name] = np.frombuffer(data, np.int32, count, at).astype(np.int64)
        at += 4 * count
    return arrays


def evaluate(plans: Sequence[KernelPlan], directory: Path, name: str = "oracle") -> dict[str, Arrays]:
    """CuTe's arrays of each plan, by the plan's name; one program for all of them."""
    distinct = {plan.name: plan for plan in plans}
    part = environment().get_template("parts/oracle_kernel.cpp")
    kernels = [part.render(context(plan, "idiomatic")) for plan in distinct.values()]
    source = environment().get_template("oracle.cpp").render(kernels=kernels, names=list(distinct))
    result: dict[str, Arrays] = {plan_name: {} for plan_name in distinct}
    for key, values in run_program(source, directory, name).items():
        plan_name, _, array = key.partition(".")
        result[plan_name][array] = values
    return result


def _table(layout: Layout) -> Ints:
    return np.array(layout.table(), np.int64)


def _swizzled(swizzle: Swizzle, offsets: Ints) -> Ints:
    distinct, inverse = np.unique(offsets, return_inverse=True)
    return np.array([swizzle(int(o)) for o in distinct], np.int64)[inverse].reshape(offsets.shape)


def _addresses(view: View, swizzle: Swizzle, size: int, base: int) -> Ints:
    """``SharedAddress`` of templates/parts/device.cu: (thread, step) to bytes, less the base."""
    thread, step = _table(view.thread)[:, None], _table(view.step)[None, :]
    if not view.linear:
        return _swizzled(swizzle, thread + step) * size
    start = base + _swizzled(swizzle, thread) * size
    z = _swizzled(swizzle, step)
    return (start ^ ((z & view.mask) * size)) + (z & ~view.mask) * size - base


def differences(plan: KernelPlan, cute: Arrays) -> list[str]:
    """Where the plan's layouts and CuTe's partitions differ; empty when all are equal."""
    return list(_differences(plan, cute))


def _differences(plan: KernelPlan, cute: Arrays) -> Iterator[str]:
    yield from _output(plan, cute)
    for operand in (plan.a, plan.b):
        which = operand.which
        own = {name.removeprefix(f"{which}."): a for name, a in cute.items() if name.startswith(f"{which}.")}
        checks: list[Callable[[KernelPlan, OperandPlan, Arrays], Iterator[str]]] = [_fragments]
        checks += [_direct] if operand.read is None else [_buffer, _write, _registers, _read_smem, _loaded]
        for check in checks:
            yield from (f"{plan.name}: {which}: {text}" for text in check(plan, operand, own))


def _compare(what: str, axes: str, want: Ints, got: Ints) -> Iterator[str]:
    """``want`` is CuTe's."""
    if want.shape != got.shape:
        yield f"{what}: CuTe has {axes} {want.shape}, the plan {got.shape}"
        return
    bad = np.argwhere(want != got)
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        yield (
            f"{what}: {len(bad)} of {want.size} differ, first at {axes} {at}: CuTe {want[at]}, plan {got[at]}"
        )


def _output(plan: KernelPlan, cute: Arrays) -> Iterator[str]:
    out = plan.output
    want = cute["c.fragment"].reshape(plan.threads, -1, 2)
    m = _table(out.thread_m)[:, None] + _table(out.register_m)[None, :]
    n = _table(out.thread_n)[:, None] + _table(out.register_n)[None, :]
    text = "(thread, accumulator, mode)"
    yield from (f"{plan.name}: c: {d}" for d in _compare("coordinates", text, want, np.stack([m, n], -1)))


def _register_of(operand: OperandPlan) -> Ints:
    """(MMA, MMA_MN, MMA_K) to the plan's register, k-block after k-block."""
    f = operand.fragments
    one = _table(f.layout)
    return np.concatenate([one + f.size * k_block for k_block in range(f.k_blocks)])


def _fragments(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    coords = operand_coords(plan.config, operand.which)
    register = _register_of(operand)
    got = np.array(coords.thread)[:, None, :] + np.array(coords.step)[register][None, :, :]
    want = cute["fragment"].reshape(plan.threads, -1, 2)
    yield from _compare("fragment coordinates", "(thread, value, mode)", want, got)


def _direct(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    copy, register = operand.copy, _register_of(operand)
    step, within = register // copy.vector, register % copy.vector
    got = np.stack(
        [
            _table(copy.thread_mn)[:, None] + _table(copy.step_mn)[step][None, :],
            _table(copy.thread_k)[:, None] + _table(copy.step_k)[step][None, :],
        ],
        -1,
    )
    got[..., 1 if plan.config.operand(operand.which).major == "k" else 0] += within
    want = cute["fragment"].reshape(plan.threads, -1, 2)
    yield from _compare("loaded coordinates", "(thread, value, mode)", want, got)


class _Buffer:
    """One operand's shared memory."""

    def __init__(self, plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> None:
        cfg = plan.config
        self.spec = getattr(cfg.smem, operand.which)
        self.swizzle = swizzle_of(self.spec.swizzle)
        self.size = dtype(cfg.operand(operand.which).dtype).bytes
        self.stages = cfg.stages or 1
        self.stage = operand_stage_bytes(cfg, operand.which) // self.size
        self.tile = (plan.tile[0 if operand.which == "a" else 1], plan.tile[2])
        # Any base that the kernel's alignment allows must do; this one has every bit above it set.
        self.base = (1 << 20) - smem_alignment(cfg) + operand.smem_offset
        self.smem = cute["smem"].reshape(self.stages, -1)  # (stage, element) to offset

    def elements(self, view: View, width: int) -> Ints:
        """(thread, element): offsets of all elements of one stage; each step is ``width`` of them."""
        first = _addresses(view, self.swizzle, self.size, self.base)
        offsets = first[:, :, None] // self.size + np.arange(width)
        return offsets.reshape(len(first), -1)

    def all_stages(self, offsets: Ints) -> Ints:
        """(stage, ..., thread) of one stage's offsets (thread, ...), as CuTe's arrays lie.

        The plan moves a stage as a whole. CuTe swizzles it at its place, which may order it differently
        when a swizzle's period is longer than a stage: there the same elements must be meant.
        """
        holds, at = self.holds(), offsets.T
        inside = (at >= 0) & (at < len(holds))
        element = np.where(inside, holds[np.where(inside, at, 0)], -1)
        return np.where(element >= 0, self.smem[:, element], -1)

    def holds(self) -> Ints:
        """Offset in the first stage to the element that lies there, mn + BLK_MN * k."""
        holds = np.full(max(self.stage, int(self.smem[0].max()) + 1), -1, np.int64)
        holds[self.smem[0]] = np.arange(len(self.smem[0]))
        return holds


def _buffer(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    buffer = _Buffer(plan, operand, cute)
    tile = tile_offsets(buffer.spec.shape, buffer.spec.stride, buffer.tile)
    offsets = np.array(tile.k)[:, None] + np.array(tile.mn)[None, :]
    got = _swizzled(buffer.swizzle, offsets)
    yield from _compare("shared-memory layout", "(k, mn)", buffer.smem[0].reshape(got.shape), got)
    for stage, places in enumerate(buffer.smem):
        if not buffer.stage * stage <= places.min() <= places.max() < buffer.stage * (stage + 1):
            yield f"stage {stage} of {buffer.stage} elements holds {places.min()} to {places.max()}"
    if len(np.unique(buffer.smem)) != buffer.smem.size:
        yield "two elements share a place in shared memory"


def _write(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    copy, buffer = operand.copy, _Buffer(plan, operand, cute)
    assert copy.view is not None
    count = buffer.tile[0] * buffer.tile[1] // plan.threads
    mn = _table(copy.thread_mn)[:, None] + np.repeat(_table(copy.step_mn), copy.vector)[None, :]
    k = _table(copy.thread_k)[:, None] + np.repeat(_table(copy.step_k), copy.vector)[None, :]
    along = k if plan.config.operand(operand.which).major == "k" else mn
    along += np.tile(np.arange(copy.vector), copy.steps)
    want = cute["g2s.from"].reshape(count, plan.threads, 2)
    yield from _compare("G2S source", "(element, thread, mode)", want, np.stack([mn.T, k.T], -1))
    want = cute["g2s.to"].reshape(buffer.stages, count, plan.threads)
    got = buffer.all_stages(buffer.elements(copy.view, copy.vector))
    yield from _compare("G2S destination", "(stage, element, thread)", want, got)


def _registers(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    """Which element of which copy each fragment value is: retile_D against the plan's fragment layout."""
    copied = np.empty(len(cute["s2r.to"]), np.int64)
    copied[cute["s2r.to"]] = np.arange(len(copied))
    want = copied[cute["registers"]]
    yield from _compare("retiled fragments", "(value)", want, _register_of(operand))


def _read_smem(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    assert operand.read is not None
    buffer = _Buffer(plan, operand, cute)
    got = buffer.all_stages(buffer.elements(operand.read.view, operand.read.width))
    want = cute["s2r.from"].reshape(buffer.stages, -1, plan.threads)
    yield from _compare("S2R source", "(stage, element, thread)", want, got)


def _loaded(plan: KernelPlan, operand: OperandPlan, cute: Arrays) -> Iterator[str]:
    """What the plan's reads bring into each register, by the PTX ISA, is what CuTe's fragment holds."""
    read, buffer = operand.read, _Buffer(plan, operand, cute)
    assert read is not None
    offsets = buffer.elements(read.view, read.width).reshape(plan.threads, -1, read.width)
    if offsets.min() < 0 or offsets.max() >= buffer.stage:
        yield f"loaded elements: from {offsets.min()} to {offsets.max()} of a stage of {buffer.stage}"
        return
    holds = buffer.holds()
    thread, value = np.arange(plan.threads)[:, None], np.arange(read.vector)[None, :]
    source, element = np.broadcast_arrays(thread, value)
    if read.op.startswith("SM75_"):
        # ldmatrix: thread t gets 32 bits of row t / 4 of each 8x8 matrix; transposed, its rows are columns.
        piece = 32 // (8 * buffer.size)
        warp, lane, matrix = thread // 32 * 32, thread % 32, value // piece
        row, column = lane // 4, lane % 4 * piece + value % piece
        if read.op.endswith("_T"):
            row, column = column, row + 0 * value
        source, element = np.broadcast_arrays(warp + 8 * matrix + row, column)
    got = holds[offsets[source, :, element]]  # (thread, value, copy)
    got = got.transpose(0, 2, 1).reshape(plan.threads, -1)[:, _register_of(operand)]
    coords = cute["fragment"].reshape(plan.threads, -1, 2)
    yield from _compare(
        "loaded elements", "(thread, value)", coords[..., 0] + buffer.tile[0] * coords[..., 1], got
    )
