"""The warpgroup MMA operations (``wgmma.mma_async``) of sm_90a: B in shared memory, A there or in registers.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shape"; names as in ``cute/arch/mma_sm90_gmma.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.dtypes import DTypeName, dtype

__all__ = [
    "A_REGISTERS",
    "WARPGROUP",
    "WGMMA_ATOMS",
    "WGMMA_M",
    "WgmmaAtom",
    "wgmma_atom",
    "wgmma_columns",
]

#: Threads of a warpgroup.
WARPGROUP = 128

#: Rows of every operation: 16 for each warp of the warpgroup.
WGMMA_M = 64

#: 32-bit registers of a thread that hold A of one operation.
A_REGISTERS = 4

_K_BYTES = 32  # of A and B that one operation consumes along K
_INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
_FLOAT_COLUMNS = tuple(range(8, 257, 8))


@dataclass(frozen=True, kw_only=True)
class WgmmaAtom:
    """One operation.

    Attributes:
        name: As a config says it, for example ``SM90_64x128x16_F32BF16BF16_SS``.
        shape: (M, N, K); M is 64.
        a: Element type of A.
        b: Element type of B.
        acc: Element type of the accumulator.
        any_major: Whether operands may be MN-major as well as K-major: those of 16 bits.
        a_registers: Whether A is in registers, four of 32 bits in each thread.
    """

    name: str
    shape: tuple[int, int, int]
    a: DTypeName
    b: DTypeName
    acc: DTypeName
    any_major: bool
    a_registers: bool = False

    @property
    def values(self) -> int:
        """Accumulators of one thread."""
        return self.shape[1] // 2

    @property
    def registers(self) -> int:
        """32-bit registers of one thread's accumulators."""
        return self.values * dtype(self.acc).bits // 32

    def cxx(self, a_k_major: bool, b_k_major: bool) -> str:
        """The C++ type of the operation."""
        base = f"SM90::GMMA::MMA_{self.name.removeprefix('SM90_')}"
        if not self.any_major:
            return base if dtype(self.a).kind == "int" else f"{base}<>"
        majors = ("SM90::GMMA::Major::K" if k else "SM90::GMMA::Major::MN" for k in (a_k_major, b_k_major))
        return f"{base}<{', '.join(majors)}>"


def wgmma_columns(a: DTypeName) -> tuple[int, ...]:
    """The N that operations on elements of this type have."""
    return _INTEGER_COLUMNS if dtype(a).kind == "int" else _FLOAT_COLUMNS


def _atom(n: int, acc: DTypeName, a: DTypeName, b: DTypeName, a_registers: bool = False) -> WgmmaAtom:
    k = _K_BYTES // dtype(a).bytes
    any_major = dtype(a).bits == 16
    tail = ("RS" if a_registers else "SS") + ("" if any_major else "_TN")
    types = "".join(t.upper() for t in (acc, a, b))
    return WgmmaAtom(
        name=f"SM90_{WGMMA_M}x{n}x{k}_{types}_{tail}",
        shape=(WGMMA_M, n, k),
        a=a,
        b=b,
        acc=acc,
        any_major=any_major,
        a_registers=a_registers,
    )


_FP8: tuple[DTypeName, ...] = ("e4m3", "e5m2")
_INTS: tuple[DTypeName, ...] = ("s8", "u8")
_TYPES: tuple[tuple[DTypeName, DTypeName, DTypeName], ...] = (
    ("f32", "f16", "f16"),
    ("f16", "f16", "f16"),
    ("f32", "bf16", "bf16"),
    ("f32", "tf32", "tf32"),
    *(("s32", a, b) for a in _INTS for b in _INTS),
    *(("f32", a, b) for a in _FP8 for b in _FP8),
    *(("f16", a, b) for a in _FP8 for b in _FP8),
)

_IN_REGISTERS: tuple[tuple[DTypeName, DTypeName, DTypeName], ...] = (("f32", "tf32", "tf32"),)

#: Every operation by name. A is in registers where that is of use: 32-bit elements that lie along M.
WGMMA_ATOMS: dict[str, WgmmaAtom] = {
    atom.name: atom
    for types, a_registers in ((_TYPES, False), (_IN_REGISTERS, True))
    for acc, a, b in types
    for atom in (_atom(n, acc, a, b, a_registers) for n in wgmma_columns(a))
}


def wgmma_atom(name: str) -> WgmmaAtom:
    """The operation called ``name``."""
    return WGMMA_ATOMS[name]
