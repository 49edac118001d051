"""The MMA and copy atoms that cutegen can use, with their thread-value layouts.

Layouts are those of ``cute/atom/mma_traits_sm75.hpp``, ``mma_traits_sm80.hpp``, ``mma_traits_sm89.hpp``
and ``mma_traits_sm90.hpp``: (thread, value) to the column-major index of (M,K), (N,K) or (M,N).
A test compares each of them with CuTe's own traits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout

__all__ = ["COPY_G2S", "COPY_S2R", "MMA_ATOMS", "CopyAtomG2S", "CopyAtomS2R", "MmaAtom", "mma_atom"]


@dataclass(frozen=True, kw_only=True)
class MmaAtom:
    """One MMA operation.

    Attributes:
        name: CuTe's name of the operation.
        min_cc: Lowest compute capability times ten that has the instruction.
        shape: (M, N, K) of one operation.
        a: Element type of A.
        b: Element type of B.
        acc: Element type of the accumulator.
        threads: Threads that take part.
        a_tv: (thread, value) to m + M*k.
        b_tv: (thread, value) to n + N*k.
        c_tv: (thread, value) to m + M*n.
        header: CuTe header with its traits.
    """

    name: str
    min_cc: int
    shape: tuple[int, int, int]
    a: DTypeName
    b: DTypeName
    acc: DTypeName
    threads: int
    a_tv: Layout
    b_tv: Layout
    c_tv: Layout
    header: str

    @property
    def a_values(self) -> int:
        """Elements of A that one thread holds for one operation."""
        return self.a_tv.size // self.threads

    @property
    def b_values(self) -> int:
        """Elements of B that one thread holds for one operation."""
        return self.b_tv.size // self.threads

    @property
    def c_values(self) -> int:
        """Accumulators that one thread holds for one operation."""
        return self.c_tv.size // self.threads

    @property
    def is_simt(self) -> bool:
        """Whether this is a CUDA-core FMA."""
        return self.threads == 1


_L = Layout.make
_8x4 = _L(((4, 8), 1), ((8, 1), 0))
_8x8_ROW = _L(((4, 8), 2), ((16, 1), 8))
_8x16_ROW = _L(((4, 8), 4), ((32, 1), 8))
_16x8_ROW = _L(((4, 8), (2, 2)), ((32, 1), (16, 8)))

#: (A, B, C) layouts by shape and element width in bits.
_TV: dict[tuple[tuple[int, int, int], int], tuple[Layout, Layout, Layout]] = {
    ((16, 8, 8), 16): (_16x8_ROW, _8x8_ROW, _16x8_ROW),
    ((16, 8, 16), 16): (
        _L(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))),
        _L(((4, 8), (2, 2)), ((16, 1), (8, 64))),
        _16x8_ROW,
    ),
    ((16, 8, 4), 32): (_L(((4, 8), 2), ((16, 1), 8)), _8x4, _16x8_ROW),
    ((16, 8, 8), 32): (
        _L(((4, 8), (2, 2)), ((16, 1), (8, 64))),
        _L(((4, 8), 2), ((8, 1), 32)),
        _16x8_ROW,
    ),
    ((8, 8, 4), 64): (_8x4, _8x4, _8x8_ROW),
    ((16, 8, 4), 64): (_L(((4, 8), 2), ((16, 1), 8)), _8x4, _16x8_ROW),
    ((16, 8, 8), 64): (
        _L(((4, 8), (2, 2)), ((16, 1), (8, 64))),
        _L(((4, 8), 2), ((8, 1), 32)),
        _16x8_ROW,
    ),
    ((16, 8, 16), 64): (
        _L(((4, 8), (2, 4)), ((16, 1), (8, 64))),
        _L(((4, 8), 4), ((8, 1), 32)),
        _16x8_ROW,
    ),
    ((8, 8, 16), 8): (_8x16_ROW, _8x16_ROW, _8x8_ROW),
    ((16, 8, 16), 8): (_L(((4, 8), (4, 2)), ((64, 1), (16, 8))), _8x16_ROW, _16x8_ROW),
    ((16, 8, 32), 8): (
        _L(((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))),
        _L(((4, 8), (4, 2)), ((32, 1), (8, 128))),
        _16x8_ROW,
    ),
}


def _mma(generation: int, shape: tuple[int, int, int], acc: DTypeName, a: DTypeName, b: DTypeName) -> MmaAtom:
    cxx = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "f32": "F32", "f64": "F64", "s8": "S8"}
    cxx |= {"u8": "U8", "s32": "S32", "e4m3": "E4M3", "e5m2": "E5M2"}
    a_tv, b_tv, c_tv = _TV[shape, dtype(a).bits]
    return MmaAtom(
        name=f"SM{generation}_{'x'.join(map(str, shape))}_{cxx[acc]}{cxx[a]}{cxx[b]}{cxx[acc]}_TN",
        min_cc=generation,
        shape=shape,
        a=a,
        b=b,
        acc=acc,
        threads=32,
        a_tv=a_tv,
        b_tv=b_tv,
        c_tv=c_tv,
        header=f"cute/atom/mma_traits_sm{generation}.hpp",
    )


def _fma(acc: DTypeName, ab: DTypeName) -> MmaAtom:
    one = Layout.make((1, 1))
    types = ",".join(dtype(t).cxx for t in (acc, ab, ab, acc))
    return MmaAtom(
        name=f"UniversalFMA<{types}>",
        min_cc=75,
        shape=(1, 1, 1),
        a=ab,
        b=ab,
        acc=acc,
        threads=1,
        a_tv=one,
        b_tv=one,
        c_tv=one,
        header="cute/atom/mma_traits.hpp",
    )


_INTS: tuple[DTypeName, ...] = ("s8", "u8")
_FP8: tuple[DTypeName, ...] = ("e4m3", "e5m2")

#: Every MMA atom by name. Among those that fit a config, the first is the default.
MMA_ATOMS: dict[str, MmaAtom] = {
    atom.name: atom
    for atom in (
        _mma(80, (16, 8, 16), "f32", "f16", "f16"),
        _mma(80, (16, 8, 16), "f16", "f16", "f16"),
        _mma(80, (16, 8, 16), "f32", "bf16", "bf16"),
        _mma(80, (16, 8, 8), "f32", "f16", "f16"),
        _mma(80, (16, 8, 8), "f16", "f16", "f16"),
        _mma(80, (16, 8, 8), "f32", "bf16", "bf16"),
        _mma(80, (16, 8, 8), "f32", "tf32", "tf32"),
        _mma(80, (16, 8, 4), "f32", "tf32", "tf32"),
        *(_mma(90, (16, 8, k), "f64", "f64", "f64") for k in (16, 8, 4)),
        _mma(80, (8, 8, 4), "f64", "f64", "f64"),
        *(_mma(80, (16, 8, 32), "s32", a, b) for a in _INTS for b in _INTS),
        *(_mma(80, (16, 8, 16), "s32", a, b) for a in _INTS for b in _INTS),
        *(_mma(80, (8, 8, 16), "s32", a, b) for a in _INTS for b in _INTS),
        *(_mma(89, (16, 8, 32), "f32", a, b) for a in _FP8 for b in _FP8),
        *(_mma(89, (16, 8, 32), "f16", a, b) for a in _FP8 for b in _FP8),
        _mma(75, (16, 8, 8), "f32", "f16", "f16"),
        _mma(75, (8, 8, 16), "s32", "s8", "s8"),
        _fma("f32", "f32"),
        _fma("f64", "f64"),
        _fma("f32", "f16"),
    )
}


def mma_atom(name: str) -> MmaAtom:
    """The MMA atom called ``name``."""
    return MMA_ATOMS[name]


@dataclass(frozen=True, kw_only=True)
class CopyAtomG2S:
    """One copy operation from global to shared memory.

    Attributes:
        name: CuTe's name.
        min_cc: Lowest compute capability times ten.
        bits: Widths in bits that the operation can move.
        asynchronous: Whether it is ``cp.async``; otherwise it passes through registers.
        source: Where the widths are fixed.
    """

    name: str
    min_cc: int
    bits: tuple[int, ...]
    asynchronous: bool
    source: str


_CP_ASYNC = "PTX ISA, cp.async: cp-size is 16 with .cg, and 4, 8 or 16 with .ca"

#: G2S copy atoms by name, the most preferred first.
COPY_G2S: dict[str, CopyAtomG2S] = {
    atom.name: atom
    for atom in (
        CopyAtomG2S(
            name="SM80_CP_ASYNC_CACHEGLOBAL", min_cc=80, bits=(128,), asynchronous=True, source=_CP_ASYNC
        ),
        CopyAtomG2S(
            name="SM80_CP_ASYNC_CACHEALWAYS",
            min_cc=80,
            bits=(128, 64, 32),
            asynchronous=True,
            source=_CP_ASYNC,
        ),
        CopyAtomG2S(
            name="UniversalCopy",
            min_cc=75,
            bits=(128, 64, 32, 16, 8),
            asynchronous=False,
            source="cute/arch/copy.hpp, UniversalCopy: one load and one store of the given width",
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class CopyAtomS2R:
    """One copy operation from shared memory to registers.

    Attributes:
        name: CuTe's name.
        kind: ``ldmatrix`` or ``universal`` (a plain vectorised load, as wide as the layout allows).
        matrices: 8 by 16-byte matrices that one ldmatrix reads; 0 for universal.
        transposed: Whether ldmatrix transposes 16-bit elements.
    """

    name: str
    kind: Literal["ldmatrix", "universal"]
    matrices: int
    transposed: bool

    def values(self, bits: int) -> int:
        """Elements of ``bits`` bits that one thread receives; 0 when the layout decides."""
        return self.matrices * 32 // bits


def _ldmatrix(matrices: int, transposed: bool) -> CopyAtomS2R:
    name = f"SM75_U16x{2 * matrices}_LDSM_T" if transposed else f"SM75_U32x{matrices}_LDSM_N"
    return CopyAtomS2R(name=name, kind="ldmatrix", matrices=matrices, transposed=transposed)


#: S2R copy atoms by name.
COPY_S2R: dict[str, CopyAtomS2R] = {
    atom.name: atom
    for atom in (
        *(_ldmatrix(matrices, transposed) for transposed in (False, True) for matrices in (4, 2, 1)),
        CopyAtomS2R(name="UniversalCopy", kind="universal", matrices=0, transposed=False),
    )
}
