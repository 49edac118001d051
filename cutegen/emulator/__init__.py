"""Run CUDA kernels on the CPU: exact results, races and stale reads found, bank conflicts counted."""

from cutegen.emulator.gemm import EmulatedKernel, Matrix, compile
from cutegen.emulator.host import HostToolchain, find_host_toolchain
from cutegen.emulator.program import Launch, emulate
from cutegen.emulator.report import EmulatorReport, Finding, Instructions, Place, Traffic

__all__ = [
    "EmulatedKernel",
    "EmulatorReport",
    "Finding",
    "HostToolchain",
    "Instructions",
    "Launch",
    "Matrix",
    "Place",
    "Traffic",
    "compile",
    "emulate",
    "find_host_toolchain",
]
