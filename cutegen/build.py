"""Compile rendered kernels into self-contained libraries, through the cache."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.cache import Cache, Entry, open_cache
from cutegen.cache.cache import BuildFailure, Filled
from cutegen.cache.entry import is_plain_name
from cutegen.errors import CompileError, CutegenError
from cutegen.launcher import launcher_command, launcher_digest, library_name, render_launcher
from cutegen.render import RenderedKernel
from cutegen.toolchain import Toolchain, check_target, find_toolchain, require_target
from cutegen.toolchain.invocation import FLAGS, OBJECT_FLAGS, Links, gencode, nvcc_command
from cutegen.toolchain.process import Children, Completed, parallel_jobs, run, says_full
from cutegen.toolchain.ptxas import Resources, parse_resources

__all__ = ["Artifact", "Progress", "Resources", "compile_kernel", "compile_many", "nvcc_command"]

_LOG = "build.log"
_COMMANDS = "commands.json"
_RESOURCES = "resources.json"
_RESERVED = frozenset({_LOG, _COMMANDS, _RESOURCES, "launcher.c"})

Progress = Callable[[int, int, "Artifact | CutegenError"], None]
"""Called with the number of finished kernels, the number of all, and the one that finished."""


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One built kernel; every file lies in one directory of the cache.

    Attributes:
        key: Content key.
        name: The kernel's name.
        dir: The directory.
        source: The CUDA C++ source.
        so: The shared library, with the cubin and the PTX inside.
        header: Its C header.
        cubin: Binary for ``target``.
        ptx: PTX for the arch, which newer devices can run.
        log: Commands and everything that the compilers wrote.
        command: The nvcc command; pasted into a shell it makes the cubin in the current directory.
        target: What the cubin is for, for example ``sm_90``.
        resources: Registers, spills, shared memory.
        cached: Whether it was found rather than built.
        damaged: What was wrong with the cache's entry that this build replaces; None where it replaces none.
        seconds: How long the compilers took when it was built, in seconds.
    """

    key: str
    name: str
    dir: Path
    source: Path
    so: Path
    header: Path
    cubin: Path
    ptx: Path
    log: Path
    command: tuple[str, ...]
    target: str
    resources: Resources
    cached: bool
    damaged: str | None = None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The artifact as a JSON-ready dictionary."""
        return {
            field: list(value) if field == "command" else (str(value) if isinstance(value, Path) else value)
            for field, value in asdict(self).items()
        }


def compile_kernel(
    rendered: RenderedKernel,
    *,
    target: str | None = None,
    toolchain: Toolchain | None = None,
    cache: Cache | None = None,
    evidence: Mapping[str, str] | None = None,
) -> Artifact:
    """Compile one kernel, or take it from the cache.

    Args:
        rendered: The source and how to launch it.
        target: GPU to build for, for example ``sm_90``; the source's arch when left out.
        toolchain: Compilers and headers; found anew when left out.
        cache: The cache; the one of the settings when left out.
        evidence: Texts to keep beside a newly built binary, by file name, for example ``config.yaml``.

    Raises:
        ConfigError: If no binary for ``target`` can come from this source.
        ToolchainError: If a compiler or headers are missing, or nvcc cannot build for ``target``.
        CompileError: If a compiler stops with an error; its source file stays on disk.
        CacheError: If no directory can hold the result.
    """
    resolved = check_target(rendered.arch, target)
    tools = find_toolchain() if toolchain is None else toolchain
    return _compile(
        rendered, resolved, tools, open_cache() if cache is None else cache, evidence or {}, Children()
    )


def compile_many(
    kernels: Sequence[RenderedKernel],
    *,
    target: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    toolchain: Toolchain | None = None,
    cache: Cache | None = None,
    evidence: Sequence[Mapping[str, str]] | None = None,
) -> list[Artifact | CutegenError]:
    """Compile kernels side by side, each in a compiler process of its own.

    Args:
        kernels: The kernels; equal ones are compiled once.
        target: As for :func:`compile_kernel`.
        jobs: Compilers at a time; by default the setting, or the cores as far as free memory allows.
        progress: Called in this thread after each kernel.
        toolchain: As for :func:`compile_kernel`.
        cache: As for :func:`compile_kernel`.
        evidence: For each kernel, as for :func:`compile_kernel`.

    Returns:
        For each kernel its artifact, or the error that stopped it; errors can be pickled.

    Raises:
        ToolchainError: If there is no toolchain at all.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    if not kernels:
        return []
    tools = find_toolchain() if toolchain is None else toolchain
    store = open_cache() if cache is None else cache
    children = Children()
    first: dict[RenderedKernel, int] = {}
    for index, kernel in enumerate(kernels):
        first.setdefault(kernel, index)

    def one(index: int) -> Artifact | CutegenError:
        kernel = kernels[index]
        try:
            resolved = check_target(kernel.arch, target)
            texts = evidence[index] if evidence is not None else {}
            return _compile(kernel, resolved, tools, store, texts, children)
        except CutegenError as error:
            return error

    outcomes: dict[RenderedKernel, Artifact | CutegenError] = {}
    copies = Counter(kernels)
    done = 0
    workers = min(len(first), parallel_jobs(jobs if jobs is not None else settings.jobs()))
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="cutegen-compile") as pool:
        running = {pool.submit(one, index): kernel for kernel, index in first.items()}
        try:
            for future in as_completed(running):
                outcome = outcomes[running[future]] = future.result()
                for _ in range(copies[running[future]]):
                    done += 1
                    if progress is not None:
                        progress(done, len(kernels), outcome)
        except BaseException:
            children.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [outcomes[kernel] for kernel in kernels]


def _compile(
    rendered: RenderedKernel,
    target: str,
    tools: Toolchain,
    cache: Cache,
    evidence: Mapping[str, str],
    children: Children,
) -> Artifact:
    require_target(tools.nvcc, target)
    job = _Job(rendered, target, tools, evidence, children)
    entry, built = cache.fetch(
        _key_parts(rendered, target, tools), job.fill, stopped=lambda: children.stopped
    )
    return _artifact(
        entry, tools, cached=not built, damaged=cache.store.damage.get(entry.key) if built else None
    )


def _key_parts(rendered: RenderedKernel, target: str, tools: Toolchain) -> dict[str, Any]:
    """Everything that decides the bytes of a build; no path and no time."""
    return {
        "source": hashlib.sha256(rendered.text.encode()).hexdigest(),
        "name": rendered.name,
        "style": rendered.style,
        "flags": [
            *(OBJECT_FLAGS if rendered.launch.host_code else FLAGS),
            *gencode(rendered.arch, target),
        ],
        "launch": asdict(rendered.launch),
        "launcher": launcher_digest(),
        "compiler": tools.nvcc.identity,
        "headers": tools.headers,
        "host": [tools.host.version, tools.host.machine, *tools.host.argv[1:]],
        "variables": settings.compiler_variables(),
    }


def _artifact(entry: Entry, tools: Toolchain, *, cached: bool, damaged: str | None) -> Artifact:
    name, meta = entry.name, entry.meta
    source = entry.dir / f"{name}.cu"
    return Artifact(
        key=entry.key,
        name=name,
        dir=entry.dir,
        source=source,
        so=entry.dir / library_name(name),
        header=entry.dir / f"{name}.h",
        cubin=entry.dir / f"{name}.cubin",
        ptx=entry.dir / f"{name}.ptx",
        log=entry.dir / _LOG,
        command=nvcc_command(tools, meta["arch"], meta["target"], str(source), f"{name}.cubin"),
        target=meta["target"],
        resources=Resources(**meta["resources"]),
        cached=cached,
        damaged=damaged,
        seconds=float(meta.get("seconds", 0.0)),
    )


class _Job:
    """One cold build: fills a private directory of the cache."""

    def __init__(
        self,
        rendered: RenderedKernel,
        target: str,
        tools: Toolchain,
        evidence: Mapping[str, str],
        children: Children,
    ) -> None:
        for name in evidence:
            if not is_plain_name(name) or name in _RESERVED or name.startswith((rendered.name, "lib")):
                raise ValueError(f"a name of evidence must be a plain file name of its own (got {name!r})")
        self.rendered = rendered
        self.target = target
        self.tools = tools
        self.evidence = evidence
        self.children = children
        self.log = ""
        self.seconds = 0.0

    def fill(self, directory: Path, final: Path) -> Filled:
        """Build into ``directory``, which will be published as ``final``."""
        name = self.rendered.name
        self.log, self.seconds = "", 0.0
        self._write(directory / f"{name}.cu", self.rendered.text)
        resources = self._compile_device(directory, final)
        self._compile_launcher(directory, final)
        for file, text in self.evidence.items():
            self._write(directory / file, text)
        self._write(directory / _RESOURCES, json.dumps(resources.to_dict(), indent=1) + "\n")
        self._write(directory / _COMMANDS, json.dumps(self._commands(f"{name}.cu"), indent=1) + "\n")
        self._write(directory / _LOG, self.log)
        shutil.rmtree(directory / "work")
        return Filled(
            name=name,
            meta={
                "arch": self.rendered.arch,
                "style": self.rendered.style,
                "target": self.target,
                "launch": asdict(self.rendered.launch),
                "resources": resources.to_dict(),
                "toolchain": self.tools.describe(),
                "seconds": round(self.seconds, 3),
            },
        )

    def _compile_device(self, directory: Path, final: Path) -> Resources:
        name = self.rendered.name
        work = directory / "work"
        (work / "tmp").mkdir(parents=True)
        # Line information names the published source, so that profilers and sanitizers find it.
        path = str(final / f"{name}.cu")
        for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
            path = path.replace(character, escaped)
        self._write(work / "unit.cu", f'#line 1 "{path}"\n{self.rendered.text}')
        host_code = self.rendered.launch.host_code
        command = nvcc_command(
            self.tools,
            self.rendered.arch,
            self.target,
            "unit.cu",
            f"../{name}.{'o' if host_code else 'cubin'}",
            Links(work),
            OBJECT_FLAGS if host_code else FLAGS,
        )
        # NOTE: -keep costs nothing: nvcc writes the PTX in any case, to TMPDIR.
        done = self._run((command[0], "-keep", "-keep-dir", ".", *command[1:]), work, work / "tmp")
        ptx, kept = work / "unit.ptx", work / "unit.cubin"
        if host_code and kept.is_file():
            kept.rename(directory / f"{name}.cubin")
        complaint = ""
        resources = parse_resources(done.output, self.rendered.launch.kernel, self.rendered.launch.smem_bytes)
        if done.returncode != 0:
            complaint = f"error: nvcc failed ({done.describe_end()})"
        elif not _has_content(directory / f"{name}.cubin") or not _has_content(ptx):
            complaint = "error: nvcc wrote no cubin or no PTX"
        elif resources is None:
            complaint = f"error: the source has no kernel named {self.rendered.launch.kernel}"
        if complaint or resources is None:
            raise self._failure(directory, final, done, complaint, f"{name}.cu")
        ptx.rename(directory / f"{name}.ptx")
        return resources

    def _compile_launcher(self, directory: Path, final: Path) -> None:
        name = self.rendered.name
        launcher = render_launcher(self.rendered, self.target)
        self._write(directory / "launcher.c", launcher.source)
        self._write(directory / f"{name}.h", launcher.header)
        done = self._run(self._launcher_command(), directory, directory / "work" / "tmp")
        complaint = ""
        if done.returncode != 0:
            complaint = f"error: the host C compiler failed ({done.describe_end()})"
        elif not _has_content(directory / library_name(name)):
            complaint = "error: the host C compiler wrote no library"
        if complaint:
            raise self._failure(directory, final, done, complaint, "launcher.c")
        (directory / f"{name}.o").unlink(missing_ok=True)

    def _launcher_command(self) -> list[str]:
        launch = self.rendered.launch
        return launcher_command(self.tools.host, self.rendered.name, host_code=launch.host_code)

    def _run(self, command: Sequence[str], cwd: Path, tmp: Path) -> Completed:
        done = run(command, cwd=cwd, env=settings.child_environment(tmp), children=self.children)
        self.log += f"$ {shlex.join(command)}\n{done.output}"
        self.log += f"# {done.describe_end()}, {done.seconds:.2f} s\n"
        self.seconds += done.seconds
        return done

    def _failure(
        self, directory: Path, final: Path, done: Completed, complaint: str, source: str
    ) -> BuildFailure | OSError:
        """The right exception for a compiler that said no: the disk's fault, or the source's."""
        if says_full(done):
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))
        output = done.output.rstrip("\n")
        log = f"{output}\ncutegen: {complaint}\n" if output else f"cutegen: {complaint}\n"
        shutil.rmtree(directory / "work", ignore_errors=True)
        self._write(directory / _LOG, self.log + f"cutegen: {complaint}\n")

        def make_error(kept: Path) -> CompileError:
            command = self._repeat(kept)
            if source == "launcher.c":
                command = ["env", "-C", str(kept), *self._launcher_command()]
            return CompileError(str(kept / source), command, log.replace(str(final), str(kept)))

        return BuildFailure(make_error)

    def _repeat(self, kept: Path) -> list[str]:
        """The device command, to be pasted into a shell: with absolute paths, or where links are needed."""
        file, arch_name = f"{self.rendered.name}.cu", self.rendered.arch
        shutil.rmtree(kept / "links", ignore_errors=True)
        links = Links(kept)
        linked = nvcc_command(self.tools, arch_name, self.target, file, f"{self.rendered.name}.cubin", links)
        return (
            ["env", "-C", str(kept), *linked] if links.count else self._commands(str(kept / file))["device"]
        )

    def _commands(self, source: str) -> dict[str, list[str]]:
        name = self.rendered.name
        return {
            "device": list(
                nvcc_command(self.tools, self.rendered.arch, self.target, source, f"{name}.cubin")
            ),
            "launcher": self._launcher_command(),
        }

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")  # a path may be no UTF-8


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0
