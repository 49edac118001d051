from __future__ import annotations

from cutegen.toolchain.ptxas import parse_resources

# ---- ptxas

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_80'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Compiling entry function 'gemm' for 'sm_80'
ptxas info    : Function properties for gemm
    96 bytes stack frame, 88 bytes spill stores, 104 bytes spill loads
ptxas info    : Used 164 registers, used 1 barriers, 96 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compile time = 110.000 ms
"""


def test_resources_are_those_of_the_kernel() -> None:
    found = parse_resources(LOG, "gemm", 49152)
    assert found is not None
    assert found.to_dict() == {
        "registers": 164,
        "spill_stores": 88,
        "spill_loads": 104,
        "static_smem": 2048,
        "dynamic_smem": 49152,
        "stack": 96,
    }
    other = parse_resources(LOG, "other", 0)
    assert other is not None
    assert (other.registers, other.stack, other.static_smem) == (10, 0, 0)


def test_a_log_without_the_kernel() -> None:
    assert parse_resources(LOG, "gem", 0) is None
    assert parse_resources("", "gemm", 0) is None
