"""What each thread does with its share of A, B and of the output tile: derived once, in Python.

Used by the rules, which report what cannot be derived, and by the plan, which renders the result.
"""

from cutegen.operands.memory import derive_direct, derive_g2s, derive_s2r
from cutegen.operands.mma import derive_fragments, derive_output, operand_coords, warp_positions
from cutegen.operands.model import Fragments, GlobalCopy, OutputPlan, PlanFault, SharedRead, View

__all__ = [
    "Fragments",
    "GlobalCopy",
    "OutputPlan",
    "PlanFault",
    "SharedRead",
    "View",
    "derive_direct",
    "derive_fragments",
    "derive_g2s",
    "derive_output",
    "derive_s2r",
    "operand_coords",
    "warp_positions",
]
