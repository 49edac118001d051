"""Build, once, what every emulated kernel is compiled with: headers, precompiled headers and the runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cutegen import settings
from cutegen.emulator.host import HostToolchain
from cutegen.emulator.rewrite.tree import rewrite_tree
from cutegen.emulator.store import digest_of, digest_sources, ensure, root
from cutegen.errors import CompileError
from cutegen.toolchain.process import Workers, parallel_jobs, run

__all__ = ["ARCH_CODES", "Prepared", "compile_flags", "family_of", "is_prepared", "prepare"]

_RUNTIME = Path(__file__).parent / "runtime"
_REWRITER = Path(__file__).parent / "rewrite"

#: ``__CUDA_ARCH__`` of each architecture.
ARCH_CODES = {
    "sm_75": 750,
    "sm_80": 800,
    "sm_86": 860,
    "sm_87": 870,
    "sm_89": 890,
    "sm_90": 900,
    "sm_90a": 900,
    "sm_100": 1000,
    "sm_100a": 1000,
    "sm_120": 1200,
    "sm_120a": 1200,
}

#: One set of precompiled headers serves a family; its library code is that of the newest member.
_FAMILIES = {"ampere": 890, "hopper": 900}
_FLAGS = ("-std=c++17", "-O1", "-g1", "-w", "-fPIC", "-fsanitize=thread", "-fno-strict-aliasing")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is ready for kernels of one architecture.

    Attributes:
        arch: For example ``sm_80``.
        overlay: Rewritten CUTLASS headers, searched before the original ones.
        pch: Directory of the precompiled header.
        runtimes: Directory of the programs that run kernels, with and without the sanitizer.
        includes: All include directories, in order.
        key: Names everything that a kernel's code depends on, but for its source.
    """

    arch: str
    overlay: Path
    pch: Path
    runtimes: Path
    includes: tuple[Path, ...]
    key: str


def family_of(arch: str) -> str:
    """The family whose precompiled headers an architecture uses."""
    return "ampere" if ARCH_CODES[arch] < 900 else "hopper"


def compile_flags(host: HostToolchain, family: str) -> list[str]:
    """Flags of kernels and of their precompiled headers, which must agree."""
    own = ["-fpermissive", "--param=tsan-distinguish-volatile=1"]
    if host.family == "clang":
        own = ["-mllvm", "-tsan-distinguish-volatile=1"]
    return [*_FLAGS, *own, f"-DCGE_ARCH={_FAMILIES[family]}"]


def prepare(host: HostToolchain, arch: str) -> Prepared:
    """Everything for kernels of ``arch``; a first call takes some seconds, later ones read a few files.

    Raises:
        CompileError: If the compiler cannot build the runtime or the precompiled headers.
    """
    keys = _keys(host, family_of(arch))
    overlay, _ = ensure("headers", keys.headers, lambda out: _rewrite(host, out))
    public = _RUNTIME / "include"
    utilities = host.cutlass.parent / "tools" / "util" / "include"
    includes = (public, public / "shim", overlay, host.cutlass, utilities, *host.cuda)
    family = family_of(arch)
    with Workers(2) as pool:
        pch = pool.submit(
            ensure, f"pch-{family}", keys.pch, lambda out: _precompile(host, family, includes, out)
        )
        runtimes = pool.submit(ensure, "runtime", keys.runtime, lambda out: _build_runtimes(host, out))
        return Prepared(
            arch=arch,
            overlay=overlay,
            pch=pch.result()[0],
            runtimes=runtimes.result()[0],
            includes=includes,
            key=digest_of(pch=keys.pch, arch=arch),
        )


def is_prepared(host: HostToolchain, arch: str) -> bool:
    """Whether :func:`prepare` has nothing left to build for this architecture, as far as the cache tells."""
    family = family_of(arch)
    keys = _keys(host, family)
    entries = (f"headers-{keys.headers}", f"pch-{family}-{keys.pch}", f"runtime-{keys.runtime}")
    return all((root() / entry).is_dir() for entry in entries)


@dataclass(frozen=True, kw_only=True)
class _Keys:
    headers: str
    pch: str
    runtime: str


def _keys(host: HostToolchain, family: str) -> _Keys:
    """What the entries of the cache that a family needs are named by."""
    headers = digest_of(
        headers=host.headers, rewriter=digest_sources(_REWRITER.glob("*.py"), _REWRITER.parent)
    )
    public = _RUNTIME / "include"
    api = digest_sources((p for p in public.rglob("*") if p.is_file()), public)
    return _Keys(
        headers=headers,
        pch=digest_of(headers=headers, api=api, compiler=host.identity, flags=compile_flags(host, family)),
        runtime=digest_of(
            sources=digest_sources((_RUNTIME / "src").glob("*"), _RUNTIME),
            api=api,
            compiler=host.identity,
            cpu=_cpu_flags(host),
        ),
    )


def _rewrite(host: HostToolchain, out: Path) -> None:
    result = rewrite_tree(host.cutlass, out)
    utilities = host.cutlass.parent / "tools" / "util" / "include"
    if utilities.is_dir():
        rewrite_tree(utilities, out)
    (out / "rewritten.txt").write_text(
        f"{result.files} files, {result.asm} asm statements\n"
        + "".join(f"{name}: {why}\n" for name, why in result.skipped.items()),
        encoding="utf-8",
    )


def _precompile(host: HostToolchain, family: str, includes: tuple[Path, ...], out: Path) -> None:
    # NOTE: clang remembers the path of what it precompiled; a file of this private directory would be gone.
    source = _RUNTIME / "include" / "cutegen_emu" / f"pch_{family}.hpp"
    for arch, code in ARCH_CODES.items():
        text = f"#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ {code}\n"
        (out / f"{arch}.hpp").write_text(text, encoding="utf-8")
    suffix = "gch" if host.family == "gcc" else "pch"
    _check(
        [
            str(host.cxx),
            *compile_flags(host, family),
            *(f"-I{path}" for path in includes[: -len(host.cuda)]),
            *(f"-isystem{path}" for path in host.cuda),
            "-xc++-header",
            str(source),
            "-o",
            str(out / f"pch.hpp.{suffix}"),
        ],
        out,
    )


def _build_runtimes(host: HostToolchain, out: Path) -> None:
    """Two programs from the same sources: one checks and counts, the other only runs."""
    sources = sorted((_RUNTIME / "src").glob("*.cpp"))
    common = [
        str(host.cxx),
        "-std=c++17",
        "-O2",
        "-ftree-vectorize",
        *_cpu_flags(host),
        "-fno-strict-aliasing",
        "-w",
        f"-I{_RUNTIME / 'include'}",
        *(f"-isystem{path}" for path in host.cuda),
    ]
    jobs = []
    for name, macros in (("sanitize", ["-DCGE_SANITIZE"]), ("plain", [])):
        for source in sources:
            jobs.append([*common, *macros, "-c", str(source), "-o", str(out / f"{name}-{source.stem}.o")])
    with Workers(parallel_jobs(settings.jobs())) as pool:
        for done in [pool.submit(_check, argv, out) for argv in jobs]:
            done.result()
    for name in ("sanitize", "plain"):
        objects = [str(out / f"{name}-{source.stem}.o") for source in sources]
        _check([str(host.cxx), "-rdynamic", "-o", str(out / name), *objects, "-ldl"], out)
    for path in out.glob("*.o"):
        path.unlink()


def _cpu_flags(host: HostToolchain) -> list[str]:
    """x86-64 with AVX2 where this machine has it; part of the key, for caches that machines share."""
    if not host.machine.startswith("x86_64"):
        return []
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    line = next((x for x in text.splitlines() if x.startswith("flags")), "")
    wanted = {"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe"}
    return ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"] if wanted <= set(line.split()) else []


def _check(argv: list[str], out: Path) -> None:
    env = settings.child_environment(out, tools=Path(argv[0]).resolve().parent)
    done = run(argv, env=env, timeout=600.0)
    if done.returncode != 0:
        raise CompileError(
            next((x for x in argv if x.endswith((".cpp", ".hpp"))), "runtime"), argv, done.output
        )
