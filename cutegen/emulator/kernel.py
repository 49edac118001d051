"""Compile a kernel for the host, and hand back something that runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

__all__ = ["CompiledSource", "compile_source", "compile_text", "split_options"]

#: Copies that the compiler leaves to the C library come to the runtime first.
_LINK = ("-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset")
#: Macros that CUTLASS, CuTe and CUDA read in their headers.
_LIBRARY_MACROS = ("CUTLASS_", "CUTE_", "CUDA", "__CUDA", "NDEBUG", "CCCL_", "THRUST_", "_CCCL", "_GLIBCXX")
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
    # NOTE: any suffix has the text rewritten, by which kernels that host code launches become known.
    suffix = "\n" if rendered.launch.host_code else ""
    return compile_text(rendered.text, name=rendered.name, arch=rendered.arch, host=host, suffix=suffix)


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


def split_options(options: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """Options as a precompiled header bears them.

    Returns:
        Macros of ``-D`` and ``-U`` as the text of a header that comes behind it; the other options; and
        whether it may be used. It may not when an option changes what the library headers mean: a macro of
        theirs, or an option such as ``-std``.
    """
    words = list(options)
    macros: list[str] = []
    others: list[str] = []
    usable = True
    while words:
        word = words.pop(0)
        if word in ("-D", "-U", "-I") and words:
            word += words.pop(0)
        if word[:2] in ("-D", "-U") and not word[2:].startswith(_LIBRARY_MACROS):
            name, equals, value = word[2:].partition("=")
            macros.append(f"#define {name} {value if equals else 1}" if word[1] == "D" else f"#undef {name}")
            continue
        others.append(word)
        if word in ("-isystem", "-include") and words:
            others.append(words.pop(0))
        usable &= word.startswith(("-I", "-isystem", "-include", "-W", "-w"))
    return "".join(f"{line}\n" for line in macros), tuple(others), usable


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
        compiled = out / "rewritten" / f"{name}.cu"  # debuggers name this file when they overlook #line
        compiled.parent.mkdir()
        try:
            rewritten = rewrite_source(text).text
        except ValueError as error:
            raise CompileError(str(source), [str(host.cxx)], f"error: {error}") from error
        compiled.write_text(f'#line 1 "{name}.cu"\n{rewritten}\n{suffix}', encoding="utf-8")
    family = family_of(prepared.arch)
    macros, others, usable = split_options(options)
    pch = prepared.pch / "pch.hpp"
    precompiled = ["-include", str(pch), "-Winvalid-pch"]
    if host.family == "clang":
        precompiled = ["-include-pch", f"{pch}.pch"]
    if not usable:
        precompiled = ["-include", str(prepared.includes[0] / "cutegen_emu" / f"pch_{family}.hpp")]
    if macros:
        # NOTE: g++ refuses a precompiled header behind a macro that the header might use.
        (out / "options.hpp").write_text(macros, encoding="utf-8")
        others = ("-include", "options.hpp", *others)
    argv = [
        str(host.cxx),
        *compile_flags(host, family),
        *precompiled,
        "-include",
        str(prepared.pch / f"{prepared.arch}.hpp"),
        *(f"-D{array}=(*cge_dynamic_shared())" for array in dynamic or ()),
        *(f"-I{path}" for path in prepared.includes[: -len(host.cuda)]),
        *(f"-isystem{path}" for path in host.cuda),
        *others,
        "-pipe",
        "-c",
        "-xc++",
        str(compiled.relative_to(out)),
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
