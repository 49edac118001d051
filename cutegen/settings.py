"""Every environment variable that cutegen reads, and the only module that reads them.

Nothing is read at import: each function looks at the environment when it is called, so a variable that was
mended counts at the next call. ``cutegen doctor`` and the documentation print :data:`VARIABLES`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cutegen.errors import CacheError, ToolchainError

__all__ = [
    "VARIABLES",
    "Variable",
    "absolute",
    "cache_dir",
    "cache_size",
    "child_environment",
    "compiler_variables",
    "get",
    "jobs",
    "lock_timeout",
    "parse_size",
]


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One environment variable.

    Attributes:
        name: Its name.
        meaning: What it says, in one sentence.
        default: What holds when it is unset or empty.
    """

    name: str
    meaning: str
    default: str

    @property
    def own(self) -> bool:
        """Whether the variable belongs to cutegen, rather than to a tool that cutegen works with."""
        return self.name.startswith("CUTEGEN_")


_DEFAULT_CACHE_SIZE = 4 * 1024**3
_DEFAULT_LOCK_TIMEOUT = 300.0

VARIABLES: dict[str, Variable] = {
    v.name: v
    for v in (
        Variable(
            name="CUTEGEN_NVCC",
            meaning="The nvcc to use: a path, a name on PATH, or the root of a CUDA toolkit.",
            default="CUDACXX, then CUDA_HOME, then PATH, then the nvidia-cuda-nvcc wheels",
        ),
        Variable(
            name="CUTEGEN_CUDA_INCLUDE",
            meaning="Directory of cuda_runtime.h, when it is not where nvcc itself looks.",
            default="what nvcc says",
        ),
        Variable(
            name="CUTEGEN_CUTLASS_DIR",
            meaning="A CUTLASS checkout, or its include directory.",
            default="the nvidia-cutlass wheel",
        ),
        Variable(
            name="CUTEGEN_CC",
            meaning="The host C compiler (one program) for the launcher; nvcc is told to use it as well.",
            default="CC, then gcc, cc or clang on PATH",
        ),
        Variable(
            name="CUTEGEN_JOBS",
            meaning="Most compile jobs at a time.",
            default="the number of cores, bounded by about 1 GiB of free memory a job",
        ),
        Variable(
            name="CUTEGEN_CACHE_DIR",
            meaning="Where built kernels are kept.",
            default="$XDG_CACHE_HOME/cutegen, or ~/.cache/cutegen",
        ),
        Variable(
            name="CUTEGEN_CACHE_SIZE",
            meaning="Size over which damaged entries, failed builds and then the least recently used kernels "
            "are dropped after a build, for example 500M or 2GiB; 0 means no limit.",
            default="4GiB",
        ),
        Variable(
            name="CUTEGEN_LOCK_TIMEOUT",
            meaning="Seconds to wait for another process that builds the same kernel before building it too.",
            default=f"{_DEFAULT_LOCK_TIMEOUT:g}",
        ),
        Variable(
            name="CUDACXX",
            meaning="The CUDA compiler, as CMake reads it; used when it names an nvcc.",
            default="not used",
        ),
        Variable(
            name="CUDA_HOME", meaning="Root of a CUDA toolkit; bin/nvcc in it is used.", default="not used"
        ),
        Variable(
            name="CUTEGEN_CXX",
            meaning="The host C++ compiler of the emulator: a path, or a name on PATH.",
            default="CXX, then g++ or clang++ on PATH",
        ),
        Variable(name="CXX", meaning="The host C++ compiler.", default="not used"),
        Variable(name="CC", meaning="The host C compiler; may carry arguments.", default="not used"),
        Variable(name="PATH", meaning="Where nvcc and the host C compiler are looked for.", default="none"),
        Variable(
            name="XDG_CACHE_HOME",
            meaning="Base directory of caches (absolute paths only).",
            default="~/.cache",
        ),
        Variable(name="HOME", meaning="Home directory, for the default cache.", default="the user database"),
        Variable(
            name="TMPDIR",
            meaning="Where private directories go when the cache cannot be written.",
            default="/tmp",
        ),
        Variable(name="NO_COLOR", meaning="Set to anything: no colours in the terminal.", default="colours"),
        Variable(
            name="NVCC_PREPEND_FLAGS",
            meaning="Flags that nvcc puts before its own; part of the cache key.",
            default="none",
        ),
        Variable(
            name="NVCC_APPEND_FLAGS",
            meaning="Flags that nvcc puts after its own; part of the cache key.",
            default="none",
        ),
        Variable(
            name="NVCC_CCBIN",
            meaning="The host compiler that nvcc uses.",
            default="gcc on PATH, or CUTEGEN_CC",
        ),
        Variable(
            name="CPATH", meaning="Extra include directories of gcc; part of the cache key.", default="none"
        ),
        Variable(
            name="C_INCLUDE_PATH",
            meaning="Extra include directories of gcc for C; part of the cache key.",
            default="none",
        ),
        Variable(
            name="CPLUS_INCLUDE_PATH",
            meaning="Extra include directories of gcc for C++; part of the cache key.",
            default="none",
        ),
    )
}

_COMPILER_VARIABLES = (
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def get(name: str) -> str | None:
    """The value of a variable of :data:`VARIABLES`; unset and empty are both None."""
    if name not in VARIABLES:
        raise KeyError(f"{name} is not in cutegen.settings.VARIABLES; add it there with its meaning")
    return os.environ.get(name) or None


def cache_dir() -> Path:
    """Where built kernels are kept; nothing is created."""
    own = get("CUTEGEN_CACHE_DIR")
    if own is not None:
        return absolute(own, "CUTEGEN_CACHE_DIR")
    xdg = get("XDG_CACHE_HOME")
    if xdg is not None and Path(xdg).is_absolute():
        return Path(xdg) / "cutegen"
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry in the user database, as in some containers
        home = None
    if home is not None and home.is_absolute():
        return home / ".cache" / "cutegen"
    return _temporary_cache()


def _temporary_cache() -> Path:
    """The cache of a user without a home; in a directory where all may write, it must be the user's own."""
    path = Path(tempfile.gettempdir()) / f"cutegen-{os.getuid()}"
    try:
        owner = path.lstat().st_uid
    except OSError:
        return path
    if owner != os.getuid() or path.is_symlink():
        raise CacheError(f"{path} belongs to another user, and HOME is not set; set CUTEGEN_CACHE_DIR")
    return path


def absolute(text: str, origin: str) -> Path:
    """The absolute path that a user's text means; a leading ``~`` is the home directory.

    Args:
        text: The path.
        origin: What gave it, for the message.

    Raises:
        ToolchainError: If it is relative and the current directory is gone.
    """
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises without HOME
    try:
        return path.absolute()
    except FileNotFoundError:
        raise ToolchainError(
            f"{origin}: must be an absolute path, as the current directory is gone (got {text})"
        ) from None


def parse_size(text: str) -> int | None:
    """Bytes in a text such as ``500M`` or ``2GiB`` (units of 1024), or None when it is not a size."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, flags=re.IGNORECASE)
    return int(float(match[1]) * 1024 ** _UNITS[match[2].lower()]) if match else None


def cache_size() -> int:
    """Size limit of the cache in bytes; 0 means no limit."""
    text = get("CUTEGEN_CACHE_SIZE")
    if text is None:
        return _DEFAULT_CACHE_SIZE
    size = parse_size(text)
    if size is None:
        raise CacheError(f"CUTEGEN_CACHE_SIZE must be a size such as 500M or 2GiB, or 0 (got {text!r})")
    return size


def lock_timeout() -> float:
    """Seconds to wait for another builder of the same kernel."""
    text = get("CUTEGEN_LOCK_TIMEOUT")
    if text is None:
        return _DEFAULT_LOCK_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise CacheError(f"CUTEGEN_LOCK_TIMEOUT must be a number of seconds >= 0 (got {text!r})")
    return seconds


def jobs() -> int | None:
    """The user's bound on parallel compile jobs, or None."""
    text = get("CUTEGEN_JOBS")
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise ToolchainError(f"CUTEGEN_JOBS must be a whole number >= 1 (got {text!r})")
    return int(text)


def compiler_variables() -> dict[str, str]:
    """The variables that change what nvcc and the host compiler produce, those that are set."""
    return {name: value for name in _COMPILER_VARIABLES if (value := get(name)) is not None}


def child_environment(tmp: Path | None = None, *, tools: Path | None = None) -> Mapping[str, str]:
    """The environment of a compiler process.

    Args:
        tmp: Directory for the compiler's temporary files, so that they vanish with it.
        tools: Directory that is searched behind ``PATH``, for the assembler and linker of a compiler.

    Returns:
        This process's environment with untranslated messages, and ``TMPDIR`` set to ``tmp``.
    """
    env = dict(os.environ)
    env["LC_ALL"] = "C"
    if not env.get("PATH"):
        env["PATH"] = os.defpath  # where compilers were looked for; they look for their parts there as well
    if tools is not None:
        env["PATH"] = os.pathsep.join((env["PATH"], str(tools)))
    if tmp is not None:
        env["TMPDIR"] = str(tmp)
    return env
