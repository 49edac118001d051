"""Find nvcc, and learn from it where its toolkit is, what it can build for and who it is."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.errors import ToolchainError
from cutegen.install import install_command
from cutegen.toolchain.memo import Memo, settle, stamps
from cutegen.toolchain.model import Nvcc
from cutegen.toolchain.process import run

__all__ = ["Place", "find_nvcc", "locate_nvcc", "wheel_roots"]

_QUERY_SECONDS = 60.0
_SCRIPT_BYTES = 1 << 16
_SCRIPT_NVCC = re.compile(
    r"\"([^\"$`\n]*/nvcc)\"|'([^'\n]*/nvcc)'|(?<![\w./-])(/[^\s\"'$`;|&<>()]*/nvcc)(?![\w./-])"
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """One place where nvcc was looked for.

    Attributes:
        origin: What named the place, for example ``CUDA_HOME``.
        value: What it said, or ``not set``.
        path: The nvcc there, or None.
        why_not: Why there is none.
    """

    origin: str
    value: str
    path: Path | None
    why_not: str = ""

    def __str__(self) -> str:
        return f"{self.origin}: {self.value}" + (f" ({self.why_not})" if self.why_not else "")


def locate_nvcc(explicit: str | None = None) -> tuple[Place | None, list[Place]]:
    """Look for nvcc without running anything.

    Args:
        explicit: What the caller asked for; a path, a name on PATH or the root of a toolkit.

    Returns:
        The place where it is, or None, and every place tried up to there. What the caller or CUTEGEN_NVCC
        named is never passed over for another.
    """
    tried: list[Place] = []
    for place, final in _places(explicit):
        tried.append(place)
        if place.path is not None:
            return place, tried
        if final:
            break
    return None, tried


def find_nvcc(explicit: str | None = None) -> Nvcc:
    """Find nvcc and describe it.

    Raises:
        ToolchainError: If there is none, or the one found is incomplete. The message lists every place tried.
    """
    place, tried = locate_nvcc(explicit)
    if place is None or place.path is None:
        places = "\n".join(f"  - {p}" for p in tried)
        raise ToolchainError(
            f"nvcc was not found. Tried, in this order:\n{places}\n"
            "Set CUTEGEN_NVCC to an nvcc, put nvcc on PATH, or install the compiler wheels: "
            + install_command("cuda13")
        )
    path = _runnable(place.path)
    memo = Memo("nvcc", str(path))
    facts = memo.get(_still_holds, lambda: _examine(path))
    own = settings.get("CUTEGEN_CUDA_INCLUDE")
    if own and not Path(own).is_dir():
        raise ToolchainError(f"CUTEGEN_CUDA_INCLUDE must be a directory with cuda_runtime.h (got {own})")
    extra = tuple(p for p in (Path(own), Path(own) / "cccl") if p.is_dir()) if own else ()
    return Nvcc(
        path=path,
        origin=place.origin,
        root=Path(facts["root"]),
        cicc=Path(facts["cicc"]),
        ptxas=Path(facts["ptxas"]),
        includes=_includes([*extra, *map(Path, facts["includes"])]),
        extra_includes=extra,
        version=facts["version"],
        gpu_codes=tuple(facts["gpu_codes"]),
        identity=facts["identity"],
    )


def wheel_roots() -> list[Path]:
    """Toolkit roots of the NVIDIA wheels, newest CUDA first, and then in the order of ``sys.path``."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    roots = [
        root
        for base in spec.submodule_search_locations
        for root in sorted(Path(base).glob("cu[0-9]*"))
        if (root / "bin").is_dir()
    ]
    return sorted(roots, key=lambda root: -int(re.sub(r"\D", "", root.name)))


def _places(explicit: str | None) -> Iterator[tuple[Place, bool]]:
    if explicit is not None:
        yield _named("argument", explicit), True
    own = settings.get("CUTEGEN_NVCC")
    yield _named("CUTEGEN_NVCC", own), own is not None
    yield _named("CUDACXX", settings.get("CUDACXX"), only_nvcc=True), False
    home = settings.get("CUDA_HOME")
    yield _named("CUDA_HOME", home and str(Path(home) / "bin" / "nvcc")), False
    search = settings.get("PATH")
    found = shutil.which("nvcc", path=search) if search else None
    value = found or search or "not set"
    yield (
        Place(
            origin="PATH",
            value=value,
            path=(found and Path(found)) or None,
            why_not="" if found else "no nvcc in it",
        ),
        False,
    )
    roots = wheel_roots()
    for root in roots:
        yield _named(f"wheel nvidia-cuda-nvcc ({root.name})", str(root / "bin" / "nvcc")), False
    if not roots:
        yield Place(origin="wheel nvidia-cuda-nvcc", value="not installed", path=None), False


def _named(origin: str, value: str | None, *, only_nvcc: bool = False) -> Place:
    """The nvcc that a value names: a file, a name on PATH, or a toolkit root."""
    if not value:
        return Place(origin=origin, value="not set", path=None)
    path = Path(os.path.expanduser(value))  # noqa: PTH111 - Path.expanduser raises without HOME
    nothing = "no such file"
    if path.is_dir():
        nothing = "a directory without bin/nvcc and nvcc"
        path = path / "bin" / "nvcc" if (path / "bin" / "nvcc").is_file() else path / "nvcc"
    elif os.sep not in value:
        path = Path(shutil.which(value, path=settings.get("PATH") or os.defpath) or value)
    why_not = ""
    if only_nvcc and "nvcc" not in path.name:
        why_not = "not an nvcc"
    elif not path.is_file():
        why_not = nothing
    elif not os.access(path, os.X_OK):
        why_not = "not executable"
    return Place(
        origin=origin,
        value=str(value),
        path=None if why_not else settings.absolute(str(path), origin),
        why_not=why_not,
    )


def _runnable(found: Path) -> Path:
    """The path to run: nvcc finds its toolkit from argv[0], so a symlink to it must be resolved."""
    real = found.resolve()
    return real if real.name == "nvcc" else found  # for example a symlink to ccache, which needs its own name


def _examine(path: Path) -> dict[str, Any]:
    # NOTE: questions go to the program behind a wrapper script, so that a wrapper runs only to compile.
    program = _behind_wrapper(path) or path
    layout = _ask_layout(program)
    if not layout.keys() - {"includes"}:
        _ask_version(program)  # a program that cannot start says more here
        raise ToolchainError(f"{path} is no nvcc: --dryrun does not say where its toolkit is")
    here = Path(layout.get("_HERE_", str(program.parent))).resolve()
    root = Path(layout.get("TOP", str(here.parent))).resolve()
    cicc = Path(layout.get("CICC_PATH", str(root / "nvvm" / "bin"))).resolve() / "cicc"
    ptxas = here / "ptxas"
    libdevice = Path(layout.get("NVVMIR_LIBRARY_DIR", str(root / "nvvm" / "libdevice"))).resolve()
    missing = [
        f"{what} is missing ({where}); wheel {wheel}"
        for what, where, wheel in (
            ("cicc", cicc, "nvidia-nvvm"),
            ("ptxas", ptxas, "nvidia-cuda-nvcc"),
        )
        if not where.is_file()
    ]
    if missing:
        raise ToolchainError(
            f"the toolkit of {path} is incomplete: {'; '.join(missing)}. A complete set: "
            + install_command("cuda13")
        )
    real = here / "nvcc" if (here / "nvcc").is_file() else program
    binaries = [real, cicc, ptxas, *sorted(libdevice.glob("*.bc"))]
    watched = stamps({path, program, *binaries})
    if watched is None:
        raise ToolchainError(f"the toolkit of {path} changed while it was examined")
    settle(max(max(stamp[1:]) for stamp in watched.values()))
    version, build = _ask_version(program)
    digest = hashlib.sha256(f"{version}\0{build}".encode())
    for binary in binaries:
        digest.update(b"\0" + binary.name.encode() + b"\0" + _hash_file(binary).encode())
    return {
        "stamps": watched,
        "root": str(root),
        "cicc": str(cicc),
        "ptxas": str(ptxas),
        "includes": layout["includes"].split("\n") if layout.get("includes") else [str(root / "include")],
        "version": version,
        "gpu_codes": _ask_gpu_codes(program),
        "identity": digest.hexdigest(),
    }


def _still_holds(facts: dict[str, Any]) -> bool:
    texts = ("root", "cicc", "ptxas", "version", "identity")
    return (
        all(isinstance(facts[text], str) for text in texts)
        and all(isinstance(item, str) for field in ("includes", "gpu_codes") for item in facts[field])
        and stamps(Path(path) for path in facts["stamps"]) == facts["stamps"]
    )


def _behind_wrapper(path: Path, depth: int = 5) -> Path | None:
    """The nvcc that a script runs, if its text names just one; follows scripts that run scripts."""
    path = path.resolve()
    if (path.parent / "nvcc.profile").is_file():
        return path
    with path.open("rb") as file:
        head = file.read(_SCRIPT_BYTES)
    if not head.startswith(b"#!") or depth == 0:
        return None
    text = head.decode("utf-8", errors="replace")
    named = {Path(next(filter(None, match))) for match in _SCRIPT_NVCC.findall(text)}
    real = {
        found
        for candidate in named
        if candidate.is_file() and candidate.resolve() != path
        if (found := _behind_wrapper(candidate, depth - 1)) is not None
    }
    return real.pop() if len(real) == 1 else None


def _ask_layout(program: Path) -> dict[str, str]:
    """Variables of ``nvcc --dryrun``; ``includes`` joins its include directories with line ends."""
    done = run(
        [str(program), "--dryrun", "-E", "-x", "cu", os.devnull],
        env=settings.child_environment(),
        timeout=_QUERY_SECONDS,
    )
    layout = {}
    includes = []
    for line in done.output.splitlines():
        match = re.match(r"#\$ (\w+)=(.*)", line)
        if match is None:
            continue
        layout[match[1]] = match[2].strip()
        if match[1] in ("INCLUDES", "SYSTEM_INCLUDES"):
            includes += re.findall(r"\"(?:-I)?([^\"]*/[^\"]*)\"", match[2])
    layout["includes"] = "\n".join(includes)
    return layout


def _ask_version(program: Path) -> tuple[str, str]:
    output = _ask(program, "--version")
    release = re.search(r"\bV(\d+\.\d+\.\d+)", output) or re.search(r"release (\d+\.\d+)", output)
    if release is None:
        raise ToolchainError(f"{program} --version must name its release (got {output.strip()[:200]!r})")
    build = re.search(r"^Build .*$", output, flags=re.MULTILINE)
    return release[1], build[0] if build else ""


def _ask_gpu_codes(program: Path) -> list[str]:
    codes = [word for word in _ask(program, "--list-gpu-code").split() if re.fullmatch(r"sm_\d+[af]?", word)]
    if not codes:
        raise ToolchainError(f"{program} --list-gpu-code names no target; nvcc 11 or later is needed")
    return sorted(codes, key=lambda code: int(re.sub(r"\D", "", code)))


def _ask(program: Path, option: str) -> str:
    done = run([str(program), option], env=settings.child_environment(), timeout=_QUERY_SECONDS)
    if done.returncode != 0:
        raise ToolchainError(
            f"{program} {option} failed ({done.describe_end()}): {done.output.strip()[:400]}"
        )
    return done.output


def _includes(named: Sequence[Path]) -> tuple[Path, ...]:
    """Existing include directories in order, without those that lie in another."""
    found: list[Path] = []
    for path in (p.resolve() for p in named):
        if path.is_dir() and not any(path.is_relative_to(other) for other in found):
            found = [other for other in found if not other.is_relative_to(path)] + [path]
    return tuple(found)


def _hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
