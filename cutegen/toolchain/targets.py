"""Which GPU a binary is built for: the target, against the feature level of its source."""

from __future__ import annotations

import re

from cutegen.arch import ArchName, arch
from cutegen.errors import ConfigError, ToolchainError, Violation
from cutegen.toolchain.model import Nvcc

__all__ = ["TARGET_RULES", "check_target", "require_target", "target_for_device"]

TARGET_RULES: dict[str, tuple[str, str]] = {
    "target-form": (
        "A binary is for one real architecture, which nvcc names sm_ and a number.",
        "CUDA nvcc documentation, options for steering GPU code generation: --gpu-code",
    ),
    "target-arch-specific": (
        "Instructions of an architecture-specific feature set, such as sm_90a's, are on no other GPU.",
        "CUDA C++ programming guide, compute capabilities: architecture-specific features",
    ),
    "target-family": (
        "A family-specific binary needs PTX that was compiled for that family.",
        "CUDA C++ programming guide, compute capabilities: family-specific features",
    ),
    "target-below-arch": (
        "A GPU runs code of its own or of a lower compute capability; the source uses features of its arch.",
        "CUDA C++ programming guide, application compatibility",
    ),
}
"""Reason and source of each rule about the target of a build, by its id."""

_TARGET = re.compile(r"sm_(\d+)([af]?)")


def check_target(arch_name: ArchName, target: str | None) -> str:
    """The target to build for: what is asked, or the arch itself. Runs nothing.

    Args:
        arch_name: Feature level of the source, for example ``sm_80``.
        target: For example ``sm_90``; None means the arch.

    Raises:
        ConfigError: If no binary for the target can come from a source of this arch.
    """
    if target is None or target == arch_name:
        return arch_name
    match = _TARGET.fullmatch(target) if isinstance(target, str) else None
    cc = arch(arch_name).cc
    if match is None:
        raise _refused(
            "target-form",
            target if isinstance(target, str) else repr(target),
            "must be sm_ and a number, for example sm_90",
            f"use {arch_name}, or what `nvcc --list-gpu-code` lists",
        )
    if arch_name.endswith("a"):
        raise _refused(
            "target-arch-specific",
            target,
            f"must be {arch_name}: features of an 'a' arch exist on that GPU only",
            f"use target {arch_name}, or arch sm_80, which every later GPU runs",
        )
    if match[2] == "f":
        raise _refused(
            "target-family",
            target,
            f"must not be a family target: those need a source for that family (got arch {arch_name})",
            f"use sm_{match[1]}",
        )
    if int(match[1]) < cc:
        raise _refused(
            "target-below-arch",
            target,
            f"must be {arch_name} or later, because the source uses features of {arch_name}",
            f"use target {arch_name}, or set arch to {target}",
        )
    return target


def require_target(nvcc: Nvcc, target: str) -> None:
    """Check that an nvcc can build for a target.

    Raises:
        ToolchainError: Naming the nvcc, its version and what it can build for.
    """
    match = _TARGET.fullmatch(target)
    # nvcc lists sm_90 and accepts sm_90a too; arch-specific targets start with sm_90.
    plain = f"sm_{match[1]}" if match and match[2] and int(match[1]) >= 90 else target
    if target not in nvcc.gpu_codes and plain not in nvcc.gpu_codes:
        raise ToolchainError(
            f"nvcc {nvcc.version} ({nvcc.path}) cannot build for {target}; it lists "
            f"{', '.join(nvcc.gpu_codes)}. Use one of these as target, or another nvcc (CUTEGEN_NVCC)"
        )


def target_for_device(arch_name: ArchName, capability: tuple[int, int]) -> str:
    """The target that fits a device best, for ``--target native``.

    Args:
        arch_name: Feature level of the source.
        capability: The device's compute capability, for example ``(9, 0)``.

    Raises:
        ConfigError: If a source of this arch cannot run on the device.
    """
    native = f"sm_{10 * capability[0] + capability[1]}"
    if arch_name.endswith("a"):
        if native != arch_name[:-1]:
            raise _refused(
                "target-arch-specific",
                native,
                f"must be {arch_name[:-1]}: features of an 'a' arch exist on that GPU only",
                f"use a config for {native}, or arch sm_80, which every later GPU runs",
            )
        return arch_name
    return check_target(arch_name, native)


def _refused(rule: str, got: str, need: str, fix: str) -> ConfigError:
    return ConfigError(
        f"the kernel cannot be built for {got}",
        [Violation(rule=rule, field="target", got=got, need=need, fix=fix)],
    )
