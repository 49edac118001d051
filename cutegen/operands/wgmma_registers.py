"""A of a ``tma_wgmma`` kernel on its way through registers.

wgmma reads 32-bit operands from shared memory K-major only. An A that lies along M is loaded into registers
instead, by ordinary loads from swizzled panels, each lane where the operation wants it. Source: PTX ISA,
"Register Fragments and Shared Memory Matrix Layouts", wgmma .m64nNk8.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.layout.algebra import Layout
from cutegen.layout.swizzle import Swizzle
from cutegen.wgmma_atoms import A_REGISTERS, WARPGROUP, WGMMA_M

__all__ = [
    "Held",
    "RegisterOperand",
    "a_in_registers",
    "a_is_readable",
    "b_is_readable",
    "derive_register_operand",
    "fragment_a_layout",
    "fragment_a_registers",
    "held_a",
    "register_sets",
]

_STEP_BYTES = 32  # of one operation along K
_MOST_SETS = 4
_MOST_PENDING = 7  # groups that wgmma.wait_group leaves in flight


@dataclass(frozen=True, kw_only=True)
class RegisterOperand:
    """Where a thread's registers of A of one operation lie in a stage.

    Attributes:
        thread: Thread of the warpgroup to bytes, before the swizzle.
        value: Register (2 rows, 2 columns) to bytes, before the swizzle.
        swizzle: Of bytes.
        sets: Of registers; as many k-steps are in flight, or being loaded.
    """

    thread: Layout
    value: Layout
    swizzle: Swizzle
    sets: int

    def value_of(self, load: int, thread: int) -> int:
        """The register that one of a thread's loads is for.

        Threads of odd columns load the second half of the columns first. In a panel's row of 128 bytes 16
        bytes move by their column, so that lanes of two neighbouring columns would read the same banks.
        """
        return load ^ (2 if thread % 2 else 0)

    def loads(self) -> list[list[int]]:
        """Byte offset of each load of one operation, by load and thread, as the kernel orders them."""
        values = self.value.table()
        return [
            [
                self.swizzle(begin + values[self.value_of(load, thread)])
                for thread, begin in enumerate(self.thread.table())
            ]
            for load in range(A_REGISTERS)
        ]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Which elements of A consumer threads hold, of a whole k-tile.

    Attributes:
        thread_m: Consumer thread to row; likewise thread_k.
        value_m: (value, operation along M, k-step) to row; likewise value_k.
        thread_k: See thread_m.
        value_k: See value_m.
    """

    thread_m: Layout
    thread_k: Layout
    value_m: Layout
    value_k: Layout


def held_a(beside: tuple[int, int], rows: int, atoms_m: int, k_steps: int) -> Held:
    """What consumers hold of A: 4 warps of 16 rows, 8 rows by 4 columns of lanes, 2 rows by 2 columns each.

    Args:
        beside: Consumers along M and N.
        rows: From one along M to the next; 0 where each has a tile of its own.
        atoms_m: Operations of one consumer along M.
        k_steps: Operations along K.
    """
    return Held(
        thread_m=Layout((4, 8, 4, *beside), (0, 1, 16, rows, 0)),
        thread_k=Layout((4, 8, 4, *beside), (1, 0, 0, 0, 0)),
        value_m=Layout((2, 2, atoms_m, k_steps), (8, 0, WGMMA_M, 0)),
        value_k=Layout((2, 2, atoms_m, k_steps), (0, 4, 0, 8)),
    )


def a_in_registers(cfg: GemmConfig) -> bool:
    """Whether a product's A passes through registers: 32-bit elements that lie along M."""
    return cfg.a.major != "k" and dtype(cfg.a.dtype).bits == 32


def a_is_readable(cfg: GemmConfig) -> bool:
    """Whether wgmma can have a product's A: K-major, of 16 bits, or through registers."""
    return cfg.a.major == "k" or dtype(cfg.a.dtype).bits == 16 or a_in_registers(cfg)


def b_is_readable(cfg: GemmConfig) -> bool:
    """Whether wgmma can have a product's B, which it reads from shared memory: K-major, or of 16 bits."""
    return cfg.b.major == "k" or dtype(cfg.b.dtype).bits == 16


def register_sets(cfg: GemmConfig) -> int:
    """Sets of registers of A: a divisor of the k-steps of a stage, so that each stage begins with the first.

    Four are enough for loads to pass while three k-steps are multiplied; more only where no fewer divide.
    """
    steps = max(1, (cfg.tile or (0, 0, 0))[2] * dtype(cfg.a.dtype).bytes // _STEP_BYTES)
    few = [sets for sets in range(2, _MOST_SETS + 1) if steps % sets == 0]
    more = [sets for sets in range(_MOST_SETS + 1, _MOST_PENDING + 2) if steps % sets == 0]
    return max(few) if few else min(more, default=1)


def fragment_a_registers(cfg: GemmConfig, atoms_m: int) -> int:
    """32-bit registers of a thread that hold A; 0 where it is read from shared memory."""
    return A_REGISTERS * atoms_m * register_sets(cfg) if a_in_registers(cfg) else 0


def fragment_a_layout(atoms_m: int, sets: int) -> Layout:
    """(value, operation along M, set) to register."""
    return Layout(
        (A_REGISTERS, atoms_m, sets),
        (1, A_REGISTERS if atoms_m > 1 else 0, A_REGISTERS * atoms_m if sets > 1 else 0),
    )


def derive_register_operand(cfg: GemmConfig, row_bytes: int, panel_bytes: int) -> RegisterOperand | None:
    """How A is loaded; None where wgmma reads it from shared memory itself.

    Args:
        cfg: A product.
        row_bytes: Of a panel: 128, all columns of which lie apart by that.
        panel_bytes: From one panel to the next, of 32 rows of A.
    """
    if not a_in_registers(cfg):
        return None
    size = dtype(cfg.a.dtype).bytes
    warps = WARPGROUP // 32
    rows = 16 * size  # bytes of a warp's rows
    per_panel = row_bytes // rows
    return RegisterOperand(
        thread=Layout((4, 8, per_panel, warps // per_panel), (row_bytes, size, rows, panel_bytes)),
        value=Layout((2, 2), (8 * size, 4 * row_bytes)),
        swizzle=Swizzle(3, 4, 3),
        sets=register_sets(cfg),
    )
