"""The C side of a kernel: a launcher with the binary inside, and a header for C and C++."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from cutegen.arch import arch
from cutegen.render import RenderedKernel, environment, template_root
from cutegen.toolchain import HostCompiler

__all__ = ["Launcher", "launcher_command", "launcher_digest", "library_name", "render_launcher"]

_TEMPLATES = ("launcher.c", "launcher.h")
_PARTS = "parts/launcher_*.c"  # that the templates include
_FLAGS = ("-x", "c", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")
_CXX_LIBRARIES = ("-lstdc++", "-Wl,-z,defs")  # of host code, of which nothing may stay undefined
_LIBRARIES = ("-ldl", "-lpthread")  # parts of libc today, libraries of their own before glibc 2.34


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """The text of a launcher and of its header."""

    source: str
    header: str


def library_name(name: str) -> str:
    """File name of a kernel's shared library."""
    return f"lib{name}.so"


def launcher_digest() -> str:
    """Hash of all that decides the launcher but the kernel itself."""
    digest = hashlib.sha256("\0".join((*_FLAGS, *_CXX_LIBRARIES, *_LIBRARIES)).encode())
    root = template_root()
    for template in (*(root / name for name in _TEMPLATES), *sorted(root.glob(_PARTS))):
        digest.update(b"\0" + template.read_bytes())
    return digest.hexdigest()


def render_launcher(rendered: RenderedKernel, target: str) -> Launcher:
    """The launcher of a kernel that is built for ``target``."""
    values = {
        "name": rendered.name,
        "launch": rendered.launch,
        "target": target,
        "virtual": arch(rendered.arch).virtual,
        "description": json.dumps(_description(rendered, target)),
    }
    source, header = (environment().get_template(template).render(values) for template in _TEMPLATES)
    return Launcher(source=source, header=header)


def _description(rendered: RenderedKernel, target: str) -> dict[str, Any]:
    """What a program that chooses among kernels at run time must know of one."""
    launch = rendered.launch
    matrices = {
        operand.name.lower(): {"dtype": operand.dtype, "major": operand.run, "align": operand.align}
        for operand in (launch.a, launch.b, launch.c, launch.d)
    }
    return {
        "name": rendered.name,
        "target": target,
        "ptx": arch(rendered.arch).virtual,
        "tile": [launch.blk_m, launch.blk_n, launch.blk_k],
        "threads": launch.threads,
        "smem_bytes": launch.smem_bytes,
        "scale": launch.scale,
        **matrices,
        **{vector.name: {"dtype": vector.dtype, "per": vector.kind} for vector in launch.vectors},
    }


def launcher_command(host: HostCompiler, name: str, *, host_code: bool = False) -> list[str]:
    """The command that builds the library, run where ``launcher.c`` and both images are.

    With ``host_code`` the object of the source's host code, ``<name>.o``, is linked in.
    """
    library = library_name(name)
    more = ["-x", "none", f"{name}.o", *_CXX_LIBRARIES] if host_code else []
    return [*host.argv, *_FLAGS, f"-Wl,-soname,{library}", "-o", library, "launcher.c", *more, *_LIBRARIES]
