"""Compile a kernel for the host, and hand back something that runs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cutegen import settings
from cutegen.emulator.host import HostToolchain, find_host_toolchain
from cutegen.emulator.prepare import Prepared, compile_flags, family_of, prepare
from cutegen.emulator.rewrite.source import needs_rewriting, rewrite_source
from cutegen.emulator.store import digest_of, ensure
from cutegen.errors import CompileError
from cutegen.render import RenderedKernel
from cutegen.toolchain.process import run

__all__ = ["CompiledSource", "compile_source", "compile_text"]

#: Copies that the compiler leaves to the C library come to the runtime first.
_LINK = ("-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset")
_DYNAMIC = re.compile(r"\bextern\s+__shared__[^;]*?\b(\w+)\s*\[\s*\]\s*;")


@dataclass(frozen=True, kw_only=True)
class CompiledSource:
    """A kernel's source compiled for the host.

    Attributes:
        name: File stem.
        arch: The architecture that it is compiled as.
        dir: Where everything lies.
        source: The source as it was given.
        library: The shared library.
        command: The compiler's command line.
        runtimes: Directory of the programs that run it.
        unchanged: Whether the compiler read the source itself, not a rewritten copy.
        cached: Whether it was compiled earlier.
    """

    name: str
    arch: str
    dir: Path
    source: Path
    library: Path
    command: tuple[str, ...]
    runtimes: Path
    unchanged: bool
    cached: bool


def compile_text(
    text: str,
    *,
    name: str,
    arch: str,
    host: HostToolchain | None = None,
    options: tuple[str, ...] = (),
    suffix: str = "",
) -> CompiledSource:
    """Compile CUDA C++ text for the host.

    Args:
        text: The source.
        name: File stem; messages name the file ``<name>.cu``.
        arch: For example ``sm_80``.
        host: Compiler and headers; found when left out.
        options: Further compiler options, for example ``-DN=4`` or ``-I/include``.
        suffix: C++ text that is compiled behind the source, such as an entry point.

    Raises:
        CompileError: The compiler refused.
        ToolchainError: A compiler or headers are missing.
    """
    host = find_host_toolchain() if host is None else host
    prepared = prepare(host, arch)
    dynamic = _unchanged_names(text) if not suffix else None
    key = digest_of(
        text=text, name=name, base=prepared.key, options=options, suffix=suffix, dynamic=dynamic, link=_LINK
    )
    directory, built = ensure(
        "kernel", key, lambda out: _compile(host, prepared, text, name, options, suffix, dynamic, out)
    )
    return CompiledSource(
        name=name,
        arch=arch,
        dir=directory,
        source=directory / f"{name}.cu",
        library=directory / f"{name}.so",
        command=tuple((directory / "command.txt").read_text(encoding="utf-8").splitlines()),
        runtimes=prepared.runtimes,
        unchanged=dynamic is not None,
        cached=not built,
    )


def compile_source(rendered: RenderedKernel, *, host: HostToolchain | None = None) -> CompiledSource:
    """Compile a rendered kernel; see :func:`compile_text`."""
    return compile_text(rendered.text, name=rendered.name, arch=rendered.arch, host=host)


def _unchanged_names(text: str) -> tuple[str, ...] | None:
    """The names of dynamic shared memory, if with a macro for each the compiler can read the text itself.

    ``extern __shared__ T name[]`` then declares a function of the runtime that returns the array. That
    needs names that mean nothing else in the text.
    """
    without = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    declarations = list(_DYNAMIC.finditer(without))
    names = tuple(sorted({m[1] for m in declarations}))
    rest = _DYNAMIC.sub("", without)
    if needs_rewriting(rest):
        return None
    for name in names:
        first = min(m.start() for m in declarations if m[1] == name)
        if re.search(rf"\b{name}\b", without[:first]) or re.search(rf"[.>]\s*{name}\b", without):
            return None
    return names


def _compile(
    host: HostToolchain,
    prepared: Prepared,
    text: str,
    name: str,
    options: tuple[str, ...],
    suffix: str,
    dynamic: tuple[str, ...] | None,
    out: Path,
) -> None:
    source = out / f"{name}.cu"
    source.write_text(text, encoding="utf-8")
    compiled = source
    if dynamic is None:
        compiled = out / f"{name}.rewritten.cpp"
        try:
            rewritten = rewrite_source(text).text
        except ValueError as error:
            raise CompileError(str(source), [str(host.cxx)], f"error: {error}") from error
        compiled.write_text(f'#line 1 "{name}.cu"\n{rewritten}\n{suffix}', encoding="utf-8")
    pch = prepared.pch / "pch.hpp"
    precompiled = ["-include", str(pch), "-Winvalid-pch"]
    if host.family == "clang":
        precompiled = ["-include-pch", f"{pch}.pch"]
    argv = [
        str(host.cxx),
        *compile_flags(host, family_of(prepared.arch)),
        *precompiled,
        "-include",
        str(prepared.pch / f"{prepared.arch}.hpp"),
        *(f"-D{array}=(*cge_dynamic_shared())" for array in dynamic or ()),
        *(f"-I{path}" for path in prepared.includes[: -len(host.cuda)]),
        *(f"-isystem{path}" for path in host.cuda),
        *options,
        "-pipe",
        "-c",
        "-xc++",
        compiled.name,
        "-o",
        f"{name}.o",
    ]
    env = settings.child_environment(out, tools=host.tools)
    done = run(argv, cwd=out, env=env, timeout=1800.0)
    if done.returncode != 0:
        raise CompileError(f"{name}.cu", argv, done.output)
    link = [str(host.cxx), "-shared", *_LINK, "-o", f"{name}.so", f"{name}.o"]
    done = run(link, cwd=out, env=env, timeout=600.0)
    if done.returncode != 0:
        raise CompileError(f"{name}.cu", link, done.output)
    (out / f"{name}.o").unlink()
    (out / "command.txt").write_text("\n".join(argv), encoding="utf-8")
