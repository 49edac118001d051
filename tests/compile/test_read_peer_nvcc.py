"""The kernel that only reads B, through nvcc: wide loads, several in flight, no spills."""

from __future__ import annotations

import re

from cutegen.bench.read_peer import read_kernel
from cutegen.binding import KernelLibrary
from cutegen.build import compile_kernel
from tests.support import sass


def test_it_compiles_to_wide_loads_that_overlap() -> None:
    artifact = compile_kernel(read_kernel(), target="sm_90")
    assert artifact.resources.spill_stores == artifact.resources.spill_loads == 0
    assert artifact.resources.registers <= 32  # four CTAs an SM
    KernelLibrary(artifact.so)
    code = sass.instructions(sass.nvdisasm(), artifact.cubin)
    loads = [i for i, line in enumerate(code) if re.search(r"LDG\.E\.128", line)]
    runs = [loads[i + 3] - loads[i] for i in range(len(loads) - 3)]
    assert min(runs) <= 12  # four of them, and nothing but addresses between
