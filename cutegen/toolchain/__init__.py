"""Find the compilers and headers that a build needs; nothing here touches a GPU."""

from __future__ import annotations

from cutegen.toolchain.headers import CUTLASS_MINIMUM, check_cuda_headers, find_cutlass, header_digest
from cutegen.toolchain.host import find_host_compiler
from cutegen.toolchain.model import Cutlass, HostCompiler, Nvcc, Toolchain
from cutegen.toolchain.nvcc import find_nvcc
from cutegen.toolchain.targets import check_target, require_target, target_for_device

__all__ = [
    "CUTLASS_MINIMUM",
    "Cutlass",
    "HostCompiler",
    "Nvcc",
    "Toolchain",
    "check_target",
    "find_toolchain",
    "require_target",
    "target_for_device",
]


def find_toolchain(nvcc: str | None = None) -> Toolchain:
    """Find nvcc, the CUTLASS and CUDA headers and the host C compiler, and check them.

    The environment is read anew at each call; what is dear to find out is remembered on disk for as long as
    the files concerned do not change. Headers are checked before any program is run.

    Args:
        nvcc: A path, a name on PATH or the root of a toolkit. By default, in this order: ``CUTEGEN_NVCC``,
            ``CUDACXX``, ``CUDA_HOME``, ``PATH``, the nvidia-cuda-nvcc wheels.

    Raises:
        ToolchainError: Saying what is missing, where it was looked for and how to get it.
    """
    cutlass, cutlass_facts = find_cutlass()
    cuda = find_nvcc(nvcc)
    check_cuda_headers(cuda)
    return Toolchain(
        nvcc=cuda,
        cutlass=cutlass,
        host=find_host_compiler(),
        headers=header_digest(cutlass_facts, cuda.includes),
    )
