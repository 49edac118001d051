"""Run the data movement of a plan in Python: what lands where, and which products each accumulator sums.

Nothing here uses CuTe or the partition code: it follows the PTX ISA's fragment and ldmatrix layouts and
the kernel templates' address arithmetic, element by element.
"""

from __future__ import annotations

from itertools import product

from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout
from cutegen.operands import View
from cutegen.plan import KernelPlan, OperandPlan
from cutegen.resources import swizzle_of

__all__ = ["fault_of"]

Coord = tuple[int, int]


class Fault(Exception):
    """The plan would compute something else."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Fault(message)


class _Address:
    """``SharedAddress`` of templates/parts/device.cu: byte addresses, with its xor where it is linear."""

    def __init__(self, view: View, swizzle: object, base: int, size: int) -> None:
        self.view, self.swizzle, self.base, self.size = view, swizzle, base, size
        self.threads, self.steps = view.thread.table(), view.step.table()

    def __call__(self, thread: int, step: int) -> int:
        t, s = self.threads[thread], self.steps[step]
        if not self.view.linear:
            return self.base + self.swizzle(t + s) * self.size  # type: ignore[operator]
        start = self.base + self.swizzle(t) * self.size  # type: ignore[operator]
        z = self.swizzle(s)  # type: ignore[operator]
        return (start ^ ((z & self.view.mask) * self.size)) + (z & ~self.view.mask) * self.size


def _table(layout: Layout) -> list[int]:
    return layout.table()


def _global_to_shared(plan: KernelPlan, operand: OperandPlan, base: int) -> dict[int, Coord]:
    """Byte address to the element's coordinate in the tile, after all copies of one k-tile."""
    copy, config = operand.copy, plan.config.operand(operand.which)
    size, mode = dtype(config.dtype).bytes, 0 if operand.which == "a" else 1
    extents = (plan.tile[mode], plan.tile[2])
    assert copy.view is not None
    spec = getattr(plan.config.smem, operand.which)
    address = _Address(copy.view, swizzle_of(spec.swizzle), base, size)
    thread_mn, thread_k = _table(copy.thread_mn), _table(copy.thread_k)
    step_mn, step_k = _table(copy.step_mn), _table(copy.step_k)
    _require(len(step_mn) == copy.steps == len(step_k), "steps of the copy")
    _require(len(thread_mn) == plan.threads, "threads of the copy")
    width = copy.vector * size
    _require(width <= (config.align or 16), "a copy wider than the alignment")
    smem: dict[int, Coord] = {}
    seen: set[Coord] = set()
    for t in range(plan.threads):
        for s in range(copy.steps):
            mn, k = thread_mn[t] + step_mn[s], thread_k[t] + step_k[s]
            along = k if config.major == "k" else mn
            _require(along * size % width == 0, f"an unaligned global vector at ({mn},{k})")
            start = address(t, s)
            _require(start % width == 0, f"an unaligned shared vector at byte {start}")
            for v in range(copy.vector):
                coord = (mn, k + v) if config.major == "k" else (mn + v, k)
                _require(coord[0] < extents[0] and coord[1] < extents[1], f"a copy past the tile at {coord}")
                _require(coord not in seen, f"{coord} is copied twice")
                byte = start + v * size
                _require(byte not in smem, f"byte {byte} is written twice")
                seen.add(coord)
                smem[byte] = coord
    _require(len(seen) == extents[0] * extents[1], "elements that no thread copies")
    end = base - operand.smem_offset + plan.stage_bytes
    limit = base + _operand_bytes(plan, operand) if operand.which == "a" else end
    _require(min(smem) >= base and max(smem) + size <= limit, "a copy outside its buffer")
    return smem


def _operand_bytes(plan: KernelPlan, operand: OperandPlan) -> int:
    return plan.b.smem_offset if operand.which == "a" else plan.stage_bytes - plan.b.smem_offset


def _fragments_from_shared(
    plan: KernelPlan, operand: OperandPlan, base: int, smem: dict[int, Coord], k_block: int
) -> list[dict[int, Coord]]:
    """For each thread: register element of one k-block's fragments to coordinate in the tile."""
    read = operand.read
    assert read is not None
    size = dtype(plan.config.operand(operand.which).dtype).bytes
    spec = getattr(plan.config.smem, operand.which)
    address = _Address(read.view, swizzle_of(spec.swizzle), base, size)
    registers: list[dict[int, Coord]] = [{} for _ in range(plan.threads)]
    for copy in range(read.copies):
        step = copy + read.copies * k_block
        if read.op.startswith("UniversalCopy"):
            for t in range(plan.threads):
                start = address(t, step)
                _require(start % (read.vector * size) == 0, "an unaligned shared load")
                for v in range(read.vector):
                    registers[t][copy * read.vector + v] = smem[start + v * size]
            continue
        transposed, piece = read.op.endswith("_T"), 4 // size
        _require(size == 2 or not transposed, "a transposing ldmatrix of elements that are not 16-bit")
        matrices = read.vector * size // 4
        for warp in range(0, plan.threads, 32):
            for matrix in range(matrices):
                rows = []
                for r in range(8):
                    start = address(warp + 8 * matrix + r, step)
                    _require(start % 16 == 0, "an unaligned row of ldmatrix")
                    rows.append([smem[start + e * size] for e in range(16 // size)])
                for lane in range(32):
                    for p in range(piece):
                        if transposed:  # 16-bit: lane holds elements [2 * (lane % 4) + p][lane / 4]
                            coord = rows[2 * (lane % 4) + p][lane // 4]
                        else:
                            coord = rows[lane // 4][lane % 4 * piece + p]
                        registers[warp + lane][copy * read.vector + matrix * piece + p] = coord
    return registers


def _fragments_from_global(plan: KernelPlan, operand: OperandPlan, k_block: int) -> list[dict[int, Coord]]:
    copy, config = operand.copy, plan.config.operand(operand.which)
    thread_mn, thread_k = _table(copy.thread_mn), _table(copy.thread_k)
    step_mn, step_k = _table(copy.step_mn), _table(copy.step_k)
    size = dtype(config.dtype).bytes
    _require(copy.vector * size <= (config.align or 16), "a load wider than the alignment")
    registers: list[dict[int, Coord]] = [{} for _ in range(plan.threads)]
    for t in range(plan.threads):
        for s in range(copy.steps):
            step = s + copy.steps * k_block
            mn, k = thread_mn[t] + step_mn[step], thread_k[t] + step_k[step]
            _require((k if config.major == "k" else mn) % copy.vector == 0, "an unaligned global load")
            for v in range(copy.vector):
                coord = (mn, k + v) if config.major == "k" else (mn + v, k)
                registers[t][s * copy.vector + v] = coord
    return registers


def _check_mma(plan: KernelPlan) -> None:
    """Every accumulator (row, column) sums A(row, k) * B(column, k) over every k of the tile, once."""
    atom, out = plan.atom, plan.output
    blk_m, blk_n, blk_k = plan.tile
    base = plan.smem_alignment
    tiles = {}
    for operand in (plan.a, plan.b):
        if operand.read is not None:
            start = base + operand.smem_offset
            tiles[operand.which] = (start, _global_to_shared(plan, operand, start))
    rows_m, rows_n = _table(out.register_m), _table(out.register_n)
    thread_m, thread_n = _table(out.thread_m), _table(out.thread_n)
    a_tv, b_tv, c_tv = atom.a_tv.table(), atom.b_tv.table(), atom.c_tv.table()
    atom_m, atom_n, _ = atom.shape
    outputs: set[Coord] = set()
    summed: dict[tuple[int, int, int], list[int]] = {}  # (warp, atom m, atom n) -> k's
    placed: dict[tuple[int, int, int], tuple[list[int], list[int]]] = {}  # the same -> rows and columns
    for k_block in range(plan.a.fragments.k_blocks):
        fragments = {}
        for operand in (plan.a, plan.b):
            if operand.read is not None:
                start, smem = tiles[operand.which]
                fragments[operand.which] = _fragments_from_shared(plan, operand, start, smem, k_block)
            else:
                fragments[operand.which] = _fragments_from_global(plan, operand, k_block)
        for warp in range(0, plan.threads, atom.threads):
            lanes = range(warp, warp + atom.threads)
            a_mode = _atom_coords(plan.a, fragments["a"], lanes, a_tv, atom_m, atom.threads)
            b_mode = _atom_coords(plan.b, fragments["b"], lanes, b_tv, atom_n, atom.threads)
            for m, n, k in product(range(out.atoms_m), range(out.atoms_n), range(plan.a.fragments.atoms_k)):
                (rows, a_ks), (columns, b_ks) = a_mode[m, k], b_mode[n, k]
                _require(a_ks == b_ks, f"A and B differ in k: {a_ks} and {b_ks}")
                summed.setdefault((warp, m, n), []).extend(a_ks)
                if (warp, m, n) in placed:
                    _require(placed[warp, m, n] == (rows, columns), "an accumulator that changes its place")
                    continue
                placed[warp, m, n] = (rows, columns)
                expected = _outputs(plan, lanes, m, n, c_tv, rows_m, rows_n, thread_m, thread_n)
                outputs |= set(expected.values())
                for (i, j), place in expected.items():
                    _require(
                        place == (rows[i], columns[j]),
                        f"accumulator of {place} gets A row {rows[i]} and B column {columns[j]}",
                    )
    _require(
        outputs == {(i, j) for i in range(blk_m) for j in range(blk_n)}, "outputs that no thread computes"
    )
    for ks in summed.values():
        _require(sorted(ks) == list(range(blk_k)), "k's that are summed twice or never")


def _atom_coords(
    operand: OperandPlan,
    registers: list[dict[int, Coord]],
    lanes: range,
    tv: list[int],
    extent: int,
    atom_threads: int,
) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """(atom along MN, atom along K) to the MN coordinate of each atom row and the K of each atom column."""
    layout = operand.fragments.layout.table()
    values = len(tv) // atom_threads
    result = {}
    for atom_k in range(operand.fragments.atoms_k):
        for atom_mn in range(operand.fragments.atoms_mn):
            mns: dict[int, int] = {}
            ks: dict[int, int] = {}
            for lane, thread in enumerate(lanes):
                for v in range(values):
                    index = v + values * (atom_mn + operand.fragments.atoms_mn * atom_k)
                    mn, k = registers[thread][layout[index]]
                    place = tv[lane + atom_threads * v]
                    i, j = place % extent, place // extent
                    _require(mns.setdefault(i, mn) == mn, "one row of an MMA atom holds two rows of the tile")
                    _require(ks.setdefault(j, k) == k, "one column of an MMA atom holds two k's of the tile")
            result[atom_mn, atom_k] = ([mns[i] for i in sorted(mns)], [ks[j] for j in sorted(ks)])
    return result


def _outputs(
    plan: KernelPlan,
    lanes: range,
    m: int,
    n: int,
    c_tv: list[int],
    register_m: list[int],
    register_n: list[int],
    thread_m: list[int],
    thread_n: list[int],
) -> dict[Coord, Coord]:
    """Atom-level (row, column) to tile-level (row, column) of one MMA atom's accumulators."""
    atom = plan.atom
    places = {}
    for lane, thread in enumerate(lanes):
        for v in range(atom.c_values):
            place = c_tv[lane + atom.threads * v]
            index = v + atom.c_values * (m + plan.output.atoms_m * n)
            places[place % atom.shape[0], place // atom.shape[0]] = (
                thread_m[thread] + register_m[index],
                thread_n[thread] + register_n[index],
            )
    return places


def fault_of(plan: KernelPlan) -> str | None:
    """What a plan's kernel would get wrong, or None when every product lands where it belongs."""
    try:
        _check_mma(plan)
    except (Fault, KeyError) as fault:
        return repr(fault)
    return None
