"""MMA atoms and TiledMMAs, as ``cute/atom/mma_atom.hpp`` has them, of the atoms of ``cutegen.atoms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.atoms import MMA_ATOMS, MmaAtom
from cutegen.playground.algebra import append_layout, composition, concatenate
from cutegen.playground.compact import make_layout
from cutegen.playground.complement import complement, right_inverse
from cutegen.playground.coordinates import flat_coord
from cutegen.playground.copies import CopyAtom, TiledCopy
from cutegen.playground.divide import logical_divide, tiled_product, zipped_divide
from cutegen.playground.integers import ONE, ZERO, Refusal, Static, mul
from cutegen.playground.layouts import Layout, Tensor, shape_of, text
from cutegen.playground.tensors import as_tensor, call
from cutegen.playground.tuples import ANY, Tree, Underscore, append_to, get, is_static, product, rank, repeat

__all__ = ["MmaOperation", "ThrMma", "TiledMma", "make_tiled_mma", "mma_operation", "tiled_copy_of"]

#: The modes of (M,N,K) that each operand has.
_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


def _static(t: Any) -> Tree:
    return tuple(map(_static, t)) if isinstance(t, tuple) else Static(t)


@dataclass(frozen=True)
class MmaOperation:
    """One MMA instruction."""

    threads: Layout
    shape: Tree
    layouts: dict[str, Layout]

    def __str__(self) -> str:
        head = f"MMA_Atom\n  ThrID:      {text(self.threads)}\n  Shape_MNK:  {text(self.shape)}\n"
        return head + "".join(f"  Layout{x}_TV: {text(self.layouts[x])}\n" for x in "ABC")


def mma_operation(name: str) -> MmaOperation | None:
    """The MMA operation that CuTe calls ``name``."""
    atom = MMA_ATOMS.get(name)
    return None if atom is None else _operation(atom)


def _operation(atom: MmaAtom) -> MmaOperation:
    if atom.is_simt:
        one = Layout((ONE, ONE), (ZERO, ZERO))
        return MmaOperation(Layout(ONE, ZERO), _static(atom.shape), dict.fromkeys("ABC", one))
    layouts = {
        x: Layout(_static(tv.shape), _static(tv.stride))
        for x, tv in zip("ABC", (atom.a_tv, atom.b_tv, atom.c_tv), strict=True)
    }
    return MmaOperation(Layout(Static(atom.threads), ONE), _static(atom.shape), layouts)


@dataclass(frozen=True)
class TiledMma:
    """An MMA operation repeated over threads and values."""

    operation: MmaOperation
    threads: Layout
    permutation: Tree

    def __str__(self) -> str:
        head = f"TiledMMA\n  ThrLayoutVMNK:  {text(self.threads)}\n"
        return f"{head}  PermutationMNK: {text(self.permutation)}\n{self.operation}"

    def _permutation(self, i: int) -> Any:
        own = self.permutation[i]
        if not isinstance(own, Underscore):
            return own
        return mul(product(get(self.operation.shape, i)), product(get(self.threads.shape, i + 1)))

    def tile_size(self, i: int) -> int:
        """Extent of mode M, N or K."""
        return product(shape_of(self._permutation(i)))

    def threads_and_values(self, layout: Any, operand: str) -> Any:
        """((thread of the atom, threads), (value of the atom, rest)) of a tile."""
        if rank(shape_of(layout)) < 2:
            raise Refusal(f"the tensor must have at least 2 modes (got {text(layout)})")
        i, j = _MODES[operand]
        permuted = logical_divide(layout, (self._permutation(i), self._permutation(j)))
        extents = (
            make_layout(product(self.operation.shape[i])),
            make_layout(product(self.operation.shape[j])),
        )
        atoms = zipped_divide(permuted, extents)
        values = composition(atoms, (self.operation.layouts[operand], ANY))
        side = tuple(make_layout(product(get(self.threads.shape, x + 1))) for x in (i, j))
        return zipped_divide(values, (ANY, side))

    def layout_tv(self, operand: str) -> Layout:
        """(thread, value) to the tile of one operand."""
        i, j = _MODES[operand]
        whole = self.threads_and_values(make_layout((self.tile_size(i), self.tile_size(j))), operand)
        if operand != "C":
            sizes = tuple(product(get(self.threads.shape, x)) for x in (1, 2))
            strides = (ONE, ZERO) if operand == "A" else (ZERO, ONE)
            whole = composition(whole, ((ANY, (Layout(sizes, strides), ANY)), ANY))
        count = Layout((product(self.threads.shape), ONE), (ONE, ZERO))
        to_id = composition(count, right_inverse(concatenate(self.threads, complement(self.threads))))
        result: Layout = composition(whole, (to_id, ANY))
        return result

    def fragment_shape(self, shape: Tree, operand: str) -> Tree:
        """(MMA, MMA_M, ...) of a tile of that shape."""
        tile = make_layout(shape_of(shape))
        parts = self.threads_and_values(tile, operand)
        return shape_of(call(parts, (ZERO, (ANY, repeat(tile.rank, ANY)))))


def make_tiled_mma(operation: MmaOperation, threads: Layout | None, permutation: Tree) -> TiledMma:
    """An MMA operation over ``threads`` (M,N,K) and tiles with a permutation of each mode."""
    mnk = append_layout(3, threads or make_layout((ONE, ONE, ONE)))
    if mnk.rank != 3:
        raise Refusal(f"the layout of atoms must have at most 3 modes, M, N and K (got {text(mnk)})")
    order = append_to(3, permutation if isinstance(permutation, tuple) else (permutation,), ANY)
    if not is_static(order):
        raise Refusal(f"the permutation must be static (got {text(order)})", "write it with integers as _32")
    return TiledMma(operation, tiled_product(operation.threads, mnk), order)


@dataclass(frozen=True)
class ThrMma:
    """One thread of a TiledMMA."""

    mma: TiledMma
    coord: Tree

    @staticmethod
    def of(mma: TiledMma, thread: int) -> ThrMma:
        """Thread number ``thread``."""
        return ThrMma(mma, flat_coord(mma.threads, thread))

    def __str__(self) -> str:
        return f"ThrMMA\n  Thr VMNK: {text(self.coord)}\n{self.mma}"

    def partition(self, value: Any, operand: str) -> Any:
        """What this thread has of a tensor."""
        tensor = as_tensor(value)
        parts = self.mma.threads_and_values(tensor.layout, operand)
        i, j = _MODES[operand]
        place = (self.coord[0], (self.coord[i + 1], self.coord[j + 1]))
        every = repeat(rank(get(shape_of(parts), 1, 1)), ANY)
        return call(Tensor(tensor.offset, parts), (place, (ANY, every)))


def tiled_copy_of(atom: CopyAtom, mma: TiledMma, operand: str) -> TiledCopy:
    """The TiledCopy that brings an operand where a TiledMMA needs it."""
    i, j = _MODES[operand]
    return TiledCopy(atom, mma.layout_tv(operand), (mma.tile_size(i), mma.tile_size(j)))
