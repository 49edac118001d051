"""The architectures that have an instruction, after the "Target ISA Notes" of the PTX ISA."""

from __future__ import annotations

import re

from cutegen.emulator.rewrite.ptx import Instruction

__all__ = ["requirement"]

#: First match decides. A compute capability; with "a", only architecture-specific targets have it.
_TABLE: tuple[tuple[str, str], ...] = (
    (r"mma\.sync.*\bkind::", "120a"),
    (r"mma\.(sync|sp).*\.e[45]m[32]\b", "89"),
    (r"mma\.sync.*\.m16n8k(4|8|16)\.row\.col\.f64", "90"),
    (r"mma\.sync.*\.m8n8k4\.row\.col\.f64", "80"),
    (r"mma\.sync.*\.m8n8k128\..*\.xor", "75"),
    (r"mma\.sync.*\.m16n8k8\.row\.col\.(f16|f32)\.f16", "75"),
    (r"mma\.sync.*\.m8n8k(16|32)\.", "75"),
    (r"mma\.sync.*\.m8n8k4\.", "70"),
    (r"mma\.(sync|sp)", "80"),  # m16n8k16 of f16, bf16, tf32, m16n8k32 of s8 and so on
    (r"wgmma|setmaxnreg", "90a"),
    (r"tcgen05", "100a"),
    (r"ldmatrix.*\.(m16n16|m8n16)", "100a"),
    (r"ldmatrix|movmatrix", "75"),
    (r"stmatrix.*\.m16n8", "100a"),
    (r"stmatrix", "90"),
    (r"cp\.(reduce\.)?async\.bulk", "90"),
    (r"cp\.async", "80"),
    (r"mbarrier\.(try_wait|expect_tx|complete_tx)|mbarrier.*(expect_tx|shared::cluster|cluster)", "90"),
    (r"mbarrier", "80"),
    (r"fence\.proxy|fence\.mbarrier_init|barrier\.cluster|elect\.|mapa|getctarank", "90"),
    (r"griddepcontrol|st\.async|tensormap|prefetch\.tensormap|multimem", "90"),
    (r"createpolicy|redux", "80"),
    (r"(add|sub|mul|fma)\..*f32x2", "100"),
    (r"(add|sub|mul)\..*bf16", "90"),
    (r"(fma|min|max|neg|abs)\..*bf16|(min|max)\..*\.f16", "80"),
    (r"cvt\..*e[45]m[32]", "89"),
    (r"cvt\..*(bf16|tf32)|cvt\..*f16x2\.f32", "80"),
    (r"red\..*bf16|(red|atom)\.[\w.:]*\.v[248]\.", "90"),
    (r"(tanh|ex2)\.approx", "75"),
)
_PATTERNS = tuple((re.compile(pattern), target) for pattern, target in _TABLE)
_OLDEST = 75  # every architecture that the emulator can be has what sm_75 has


def requirement(instruction: Instruction) -> tuple[int, bool] | None:
    """The least compute capability, and whether only a target such as sm_90a has it; None: all have it."""
    for pattern, target in _PATTERNS:
        if pattern.match(instruction.opcode):
            level = int(target.rstrip("a"))
            return None if level <= _OLDEST else (level, target.endswith("a"))
    return None
