"""A toolkit, CUTLASS headers and a C compiler made of a few lines of shell, for tests in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cutegen.render import LaunchSpec, OperandSpec, RenderedKernel

CODES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"

# FAKE_NVCC_MODE: ok, fail, full (the disk), empty (no output), wait (until FAKE_NVCC_GATE exists)
NVCC = r"""#!/bin/sh
root=$(dirname "$(dirname "$0")")
case "$1" in
--version) echo "Cuda compilation tools, release {short}, V{version}"; echo "Build fake"; exit 0 ;;
--list-gpu-code) printf '%s\n' {codes}; exit 0 ;;
--dryrun)
  echo "#\$ _HERE_=$root/bin"
  echo "#\$ TOP=$root/bin/.."
  echo "#\$ CICC_PATH=$root/nvvm/bin"
  echo "#\$ NVVMIR_LIBRARY_DIR=$root/nvvm/libdevice"
  echo "#\$ INCLUDES=\"-I$root/include\"  "
  echo "#\$ SYSTEM_INCLUDES=\"-isystem\" \"$root/include/cccl\"  "
  exit 0 ;;
esac
echo "$$" >> "$root/runs"
keep=.
while [ $# -gt 0 ]; do
  case "$1" in
  -o) out=$2; shift ;;
  -keep-dir) keep=$2; shift ;;
  -gencode) code=${{2##*code=}}; shift ;;
  esac
  source=$1
  shift
done
case "$FAKE_NVCC_MODE" in
fail) echo "unit.cu(3): error: identifier \"oops\" is undefined" >&2; exit 2 ;;
full) echo "fatal error: error writing to unit.ii: No space left on device" >&2; exit 1 ;;
empty) exit 0 ;;
wait) echo waiting > "$root/waiting"; while [ ! -e "$FAKE_NVCC_GATE" ]; do sleep 0.01; done ;;
esac
[ -n "$FAKE_NVCC_SLEEP" ] && sleep "$FAKE_NVCC_SLEEP"
kernel=$(sed -n 's/^\(extern "C" __global__ void \)*\([A-Za-z0-9_]*_kernel\)(.*/\2/p' "$source" | head -1)
{{ echo "cubin for $code"; cat "$source"; }} > "$out" || exit 1
echo "ptx of $source" > "$keep/unit.ptx"
echo "ptxas info    : Compiling entry function '$kernel' for '$code'"
echo "ptxas info    : Function properties for $kernel"
echo "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads"
echo "ptxas info    : Used 42 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]"
"""

CC = r"""#!/bin/sh
case " $* " in
*" --version "*) echo "cc (Fake) 1.2.3"; exit 0 ;;
*" -dumpmachine "*) echo fake-machine; exit 0 ;;
esac
case "$FAKE_CC_MODE $*" in
fail*launcher.c*) echo "launcher.c:1: error: bad launcher" >&2; exit 1 ;;
"no C++"*c++*) echo "gcc: fatal error: cannot execute 'cc1plus'" >&2; exit 1 ;;
"no libc"*) echo "trial.txt:1:10: fatal error: dlfcn.h: No such file or directory" >&2; exit 1 ;;
esac
while [ $# -gt 0 ]; do
  [ "$1" = -o ] && out=$2
  shift
done
echo "a library" > "$out"
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def write(path: Path, text: str = "// a header\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def make_toolkit(root: Path, *, version: str = "13.0.88", codes: str = CODES) -> Path:
    """A CUDA toolkit; returns its nvcc."""
    text = NVCC.format(version=version, short=version.rpartition(".")[0], codes=codes)
    nvcc = script(root / "bin" / "nvcc", text)
    write(root / "bin" / "nvcc.profile", "TOP = ..\n")
    script(root / "bin" / "ptxas", "ptxas\n")
    script(root / "nvvm" / "bin" / "cicc", "cicc\n")
    write(root / "nvvm" / "libdevice" / "libdevice.10.bc", "bitcode\n")
    write(root / "include" / "cuda_runtime.h", '#include "crt/host_config.h"\n#include <vector>\n')
    write(root / "include" / "crt" / "host_config.h")
    write(root / "include" / "unrelated.h")
    write(root / "include" / "cccl" / "cuda" / "std" / "cstdint")
    return nvcc


def make_cutlass(root: Path, version: tuple[int, int, int] = (4, 2, 0)) -> Path:
    """A CUTLASS checkout; returns its root."""
    include = root / "include"
    write(include / "cute" / "tensor.hpp", '#include <cute/config.hpp>\n#include "cute/atom/mma_atom.hpp"\n')
    write(include / "cute" / "config.hpp", "#include <cuda/std/cstdint>\n")
    write(include / "cute" / "atom" / "mma_atom.hpp")
    for name in ("cutlass.h", "numeric_types.h"):
        write(include / "cutlass" / name)
    parts = zip(("MAJOR", "MINOR", "PATCH"), version, strict=True)
    write(include / "cutlass" / "version.h", "".join(f"#define CUTLASS_{n} {v}\n" for n, v in parts))
    return root


@dataclass(frozen=True, kw_only=True)
class Fakes:
    """Where everything fake is."""

    root: Path
    nvcc: Path
    cutlass: Path
    cc: Path
    cache: Path

    @property
    def toolkit(self) -> Path:
        return self.nvcc.parent.parent

    @property
    def runs(self) -> int:
        """How often the fake nvcc has compiled."""
        path = self.toolkit / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def variables(self) -> dict[str, str]:
        return {
            "CUTEGEN_NVCC": str(self.nvcc),
            "CUTEGEN_CUTLASS_DIR": str(self.cutlass),
            "CUTEGEN_CC": str(self.cc),
            "CUTEGEN_CACHE_DIR": str(self.cache),
        }


def make_fakes(root: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """Everything fake below ``root``, and the environment that points there."""
    fakes = Fakes(
        root=root,
        nvcc=make_toolkit(root / "tool kit"),
        cutlass=make_cutlass(root / "cut lass"),
        cc=script(root / "host" / "cc", CC),
        cache=root / "the cache",
    )
    clean_environment(monkeypatch)
    for name, value in fakes.variables().items():
        monkeypatch.setenv(name, value)
    return fakes


def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset every variable that cutegen reads, but PATH and HOME."""
    from cutegen.settings import VARIABLES

    for name in VARIABLES:
        if name not in ("PATH", "HOME", "TMPDIR"):
            monkeypatch.delenv(name, raising=False)
    for name in ("FAKE_NVCC_MODE", "FAKE_NVCC_GATE", "FAKE_NVCC_SLEEP", "FAKE_CC_MODE"):
        monkeypatch.delenv(name, raising=False)


def no_program_runs(fakes: Fakes) -> Path:
    """Replace the compilers by programs that only leave a flag; returns where."""
    flag = fakes.root / "flag"
    for program in (fakes.nvcc, fakes.cc):
        script(program, f'#!/bin/sh\ntouch "{flag}"\nexit 1\n')
    return flag


TINY = """\
typedef struct {
  const void *a, *b, *c;
  void* d;
  long long lda, ldb, ldc, ldd;
  int m, n, k, reserved;
  double alpha, beta;
} CutegenParams;

// %(note)s
extern "C" __global__ void tiny_kernel(CutegenParams p) {
  extern __shared__ char smem[];
  smem[threadIdx.x] = 1;
  __syncthreads();
  static_cast<char*>(p.d)[threadIdx.x] = smem[threadIdx.x ^ 1];
}
"""


def launch_spec(**changes: Any) -> LaunchSpec:
    """f16 with K-major A, N-major B and C, M-major D, in CTA tiles of 64 x 32 x 16."""

    def operand(name: str, run: str, rows: str, align: int = 2) -> OperandSpec:
        return OperandSpec(name=name, dtype="f16", bytes=2, align=align, run=run, rows=rows)

    spec = LaunchSpec(
        kernel="tiny_kernel",
        threads=128,
        smem_bytes=1024,
        blk_m=64,
        blk_n=32,
        blk_k=16,
        scale="f32",
        a=operand("A", "k", "m"),
        b=operand("B", "n", "k"),
        c=operand("C", "n", "m"),
        d=operand("D", "m", "n"),
    )
    return replace(spec, **changes)


def kernel(
    note: str = "",
    *,
    name: str = "tiny",
    arch: str = "sm_80",
    smem_bytes: int = 1024,
    text: str | None = None,
    launch: LaunchSpec | None = None,
) -> RenderedKernel:
    """A tiny kernel of valid CUDA; another note makes another source."""
    return RenderedKernel(
        name=name,
        text=TINY % {"note": note} if text is None else text,
        style="resolved",
        arch=arch,  # type: ignore[arg-type]  # a parameter of the tests
        launch=launch or launch_spec(smem_bytes=smem_bytes),
    )
