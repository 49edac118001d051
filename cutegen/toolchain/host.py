"""Find the host C compiler that builds the launcher, and learn who it is."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.errors import ToolchainError
from cutegen.toolchain.memo import Memo, settle, stamps
from cutegen.toolchain.model import HostCompiler
from cutegen.toolchain.process import run, says_full

__all__ = ["find_host_compiler", "locate_host_compiler"]

_NAMES = ("gcc", "cc", "clang")
_QUERY_SECONDS = 60.0
_HOW = "install gcc and g++, or clang, or set CUTEGEN_CC to a C compiler"
#: What a launcher includes, and what CuTe does: a compiler may be there without the headers of its library.
_TRIAL_C = "#include <dlfcn.h>\n#include <pthread.h>\n#include <stdatomic.h>\nint trial(void) { return 0; }\n"
_TRIAL_BYTES = 1 << 20
_TRIAL_CXX = "#include <cstdint>\n#include <type_traits>\n#include <utility>\n"


def locate_host_compiler() -> tuple[tuple[str, ...] | None, str]:
    """The host C compiler as an argument list, or None, and what named it; nothing is run."""
    search = settings.get("PATH") or os.defpath
    for origin in ("CUTEGEN_CC", "CC"):
        value = settings.get(origin)
        if value is None:
            continue
        words = [value] if origin == "CUTEGEN_CC" or Path(value).is_file() else _split(value)
        program = shutil.which(words[0], path=search) if words else None
        if program is None:
            return None, f"{origin}={value}"
        return (program, *words[1:]), origin
    for name in _NAMES:
        program = shutil.which(name, path=search)
        if program is not None:
            return (program,), "PATH"
    return None, f"PATH, as {', '.join(_NAMES)}"


def find_host_compiler() -> HostCompiler:
    """Find the host C compiler and describe it.

    Raises:
        ToolchainError: If there is none, or it does not say who it is.
    """
    argv, origin = locate_host_compiler()
    if argv is None:
        raise ToolchainError(f"no host C compiler was found (looked for {origin}); {_HOW}")
    for_nvcc = _tell_nvcc(argv, origin)
    cxx = for_nvcc or (settings.get("NVCC_CCBIN") is None and argv == (_nvccs_own(),))
    facts = Memo("host", "\0".join([*argv, str(cxx)])).get(_still_holds, lambda: _examine(argv, origin, cxx))
    return HostCompiler(
        argv=argv,
        origin=origin,
        version=facts["version"],
        machine=facts["machine"],
        for_nvcc=for_nvcc,
    )


def _tell_nvcc(argv: tuple[str, ...], origin: str) -> bool:
    """Whether nvcc, which looks for gcc on PATH by itself, must be told to use this compiler."""
    if origin == "CUTEGEN_CC":
        return True
    if settings.get("NVCC_CCBIN") is not None:
        return False
    return len(argv) == 1 and Path(argv[0]).name != "gcc"


def _nvccs_own() -> str | None:
    return shutil.which("gcc", path=settings.get("PATH") or os.defpath)


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return []


def _examine(argv: tuple[str, ...], origin: str, cxx: bool) -> dict[str, Any]:
    # NOTE: several names may lead to one compiler through symlinks and wrappers; words[0] is what we watch.
    watched = stamps(_watched(argv))
    if watched is None:
        raise ToolchainError(f"{argv[0]} vanished; {_HOW}")
    settle(max(max(stamp[1:]) for stamp in watched.values()))
    first = next(iter(_ask(argv, "--version").splitlines()), "").strip()
    program = re.escape(Path(argv[0]).name)
    machine = _ask(argv, "-dumpmachine").strip()
    _try(argv, origin, cxx)
    return {
        "stamps": watched,
        "version": re.sub(rf"^{program}\s+(?=\()", "", first),  # gcc repeats the name it was called by
        "machine": machine,
    }


def _try(argv: tuple[str, ...], origin: str, cxx: bool) -> None:
    """Build a small library, and a small C++ object if nvcc uses this compiler.

    Raises:
        ToolchainError: If that does not work, as without the C library's headers or without g++.
    """
    trials = [("C", _TRIAL_C, ("-x", "c", "-fPIC", "-shared"), "gcc libc6-dev")]
    if cxx:
        trials.append(("C++", _TRIAL_CXX, ("-x", "c++", "-std=c++17", "-c"), "g++"))
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="cutegen-") as directory:
        for language, text, flags, packages in trials:
            why = _why_not(argv, flags, text, Path(directory))
            stat = os.statvfs(directory)
            if why is None or stat.f_bavail * stat.f_frsize < _TRIAL_BYTES:  # a full disk proves nothing
                continue
            needed = ", which nvcc needs of it" if language == "C++" else ""
            raise ToolchainError(
                f"{argv[0]} ({origin}) cannot compile {language}{needed}: {why}; install a whole compiler "
                f"(Debian: apt install {packages}), or set CUTEGEN_CC to one"
            )


def _why_not(argv: tuple[str, ...], flags: Sequence[str], text: str, directory: Path) -> str | None:
    """Why a text does not compile, or None when it does."""
    source, out = directory / "trial.txt", directory / "trial.out"
    source.write_text(text, encoding="ascii")
    out.unlink(missing_ok=True)
    command = [*argv, *flags, "-o", out.name, source.name]
    done = run(command, cwd=directory, env=settings.child_environment(directory), timeout=_QUERY_SECONDS)
    if done.returncode != 0:
        if says_full(done):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return "; ".join(line.strip() for line in done.output.splitlines() if line.strip())[:400] or (
            done.describe_end()
        )
    if not out.is_file() or out.stat().st_size == 0:
        return "it ends well and writes nothing, so it is no compiler"
    return None


def _watched(argv: tuple[str, ...]) -> set[Path]:
    return {Path(word) for word in argv if os.sep in word and Path(word).is_file()}


def _still_holds(facts: dict[str, Any]) -> bool:
    return (
        isinstance(facts["version"], str)
        and isinstance(facts["machine"], str)
        and stamps(Path(path) for path in facts["stamps"]) == facts["stamps"]
    )


def _ask(argv: tuple[str, ...], option: str) -> str:
    done = run([*argv, option], env=settings.child_environment(), timeout=_QUERY_SECONDS)
    if done.returncode != 0:
        raise ToolchainError(
            f"{shlex.join([*argv, option])} failed ({done.describe_end()}): "
            f"{done.output.strip()[:400]}; {_HOW}"
        )
    return done.output
