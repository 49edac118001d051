"""``cutegen doctor``: what was found, what is missing, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import bad, bold, dim, good, print_json, say, table
from cutegen.errors import ToolchainError

if TYPE_CHECKING:
    from cutegen.device import Gpu
    from cutegen.toolchain.doctor import Diagnosis, Finding

__all__ = ["command"]

_MISSING = ToolchainError.exit_code


@click.command(name="doctor")
@click.option("-v", "--verbose", is_flag=True, help="Show every environment variable, not only those set.")
@json_option
def command(verbose: bool, as_json: bool) -> int:
    """Say what was found of compilers, headers and driver, and what is missing.

    One line each: state, what, version, where. Exit code 0 when kernels can be built here, 3 when not.
    Nothing is changed.
    """
    from dataclasses import replace

    from cutegen.device import gpus
    from cutegen.emulator.doctor import diagnose_emulator
    from cutegen.toolchain.doctor import diagnose

    found = diagnose()
    found = replace(found, findings=found.findings + diagnose_emulator())
    devices = gpus()
    code = 0 if found.can_build else _MISSING
    if as_json:
        listed = [{"ordinal": g.ordinal, "name": g.name, "target": g.target} for g in devices]
        print_json({"ok": found.can_build, "exit_code": code, **found.to_dict(), "gpus": listed})
        return code
    for line in table([_row(finding) for finding in found.findings], indent=0):
        say(line)
    for finding in found.findings:
        for line in _details(finding, verbose=verbose):
            say(line)
    _show_settings(found, verbose=verbose)
    say()
    answers = [
        [bold("build kernels"), good("yes") if found.can_build else bad("no")],
        [bold("run on the CPU"), good("yes") if found.can_emulate else bad("no")],
        [bold("run on a GPU"), _run_line(found, devices)],
    ]
    for line in table(answers, indent=0):
        say(line)
    return code


def _row(finding: Finding) -> list[str]:
    state = good("ok") if finding.ok else (bad if finding.needed_for == "build" else dim)(finding.state)
    place = ""
    if finding.where is not None:
        origin = f" ({finding.origin})" if finding.origin else ""
        place = dim(f"{finding.where}{origin}")
    if finding.state == "missing":
        place = f"needed {finding.use}: {finding.fix}"
    return [state, bold(finding.name), finding.version or "-", place]


def _details(finding: Finding, *, verbose: bool) -> Iterator[str]:
    """What does not fit into the line of a finding: why it is no good, and where it was looked for."""
    shown = verbose or (not finding.ok and (finding.needed_for == "build" or finding.state == "broken"))
    lines = [*(finding.problem or "").splitlines(), *finding.notes] if shown else []
    if not lines and finding.state != "broken":
        return
    yield ""
    yield f"{bold(finding.name)}"
    for text in lines:
        yield f"  {text}"
    if finding.fix and not finding.ok:
        yield f"  {click.style('fix:', fg='cyan')} {finding.fix}"


def _show_settings(found: Diagnosis, *, verbose: bool) -> None:
    shown = [s for s in found.settings if verbose or (s.value is not None and s.name.startswith("CUTEGEN_"))]
    if not shown:
        return
    say()
    if verbose:
        for setting in shown:
            say(f"{bold(setting.name)}  {setting.value if setting.value is not None else dim('not set')}")
            say(f"      {dim(f'{setting.meaning} Default: {setting.default}.')}")
        return
    for line in table([[bold(s.name), str(s.value)] for s in shown], indent=0):
        say(line)


def _run_line(found: Diagnosis, devices: tuple[Gpu, ...]) -> str:
    if devices:
        return ", ".join(f"{good(g.target)} {g.name}" for g in devices)
    if not found.can_run:
        return "no: there is no GPU driver; build for one with --target, for example sm_90"
    return "no: the driver shows no GPU; see CUDA_VISIBLE_DEVICES and nvidia-smi"
