"""Run CUDA kernels on the CPU: exact results, races and stale reads found, bank conflicts counted."""

from cutegen.emulator.bound import BoundLaunch, bind_launch
from cutegen.emulator.gemm import EmulatedKernel, Matrix, compile
from cutegen.emulator.host import HostToolchain, find_host_toolchain
from cutegen.emulator.program import Launch, Program, compile_program, emulate
from cutegen.emulator.report import EmulatorReport, Finding, Instructions, Place, Traffic
from cutegen.emulator.spec import read_launch

__all__ = [
    "BoundLaunch",
    "EmulatedKernel",
    "EmulatorReport",
    "Finding",
    "HostToolchain",
    "Instructions",
    "Launch",
    "Matrix",
    "Place",
    "Program",
    "Traffic",
    "bind_launch",
    "compile",
    "compile_program",
    "emulate",
    "find_host_toolchain",
    "read_launch",
]
