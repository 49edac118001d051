"""``cutegen cache``: look at and look after the kernel cache."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import bad, dim, print_json, say, size_text, table
from cutegen.errors import CacheError

if TYPE_CHECKING:
    from cutegen.cache import Cache, Pruned
    from cutegen.cache.archive import Transfer

__all__ = ["command"]

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _age(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    match = _AGE.fullmatch(value.strip().lower())
    if match is None:
        raise click.BadParameter(f"must be a time such as 12h, 30d or 4w (got {value!r})", ctx, param)
    return float(match[1]) * _SECONDS[match[2]]


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    from cutegen.settings import parse_size

    size = None if value is None else parse_size(value)
    if value is not None and size is None:
        raise click.BadParameter(f"must be a size such as 500M or 2GiB (got {value!r})", ctx, param)
    return size


def _cache() -> Cache:
    from cutegen.cache import open_cache

    return open_cache()


def _writable_cache() -> Cache:
    from cutegen.cache import info

    cache = _cache()
    facts = info(cache.store)
    if facts.exists and facts.problem is not None:
        raise CacheError(f"the kernel cache cannot be written ({facts.problem}), so nothing can be dropped")
    return cache


@click.group(name="cache", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look at and look after the kernel cache (CUTEGEN_CACHE_DIR says where it is)."""


@command.command(name="ls")
@click.option("--verify", is_flag=True, help="Compare every file with its checksum.")
@json_option
def _ls(verify: bool, as_json: bool) -> None:
    """List the kernels, most recently used first."""
    from cutegen.cache import ls

    cache = _cache()
    entries = ls(cache.store, verify=verify)
    if as_json:
        print_json({"ok": True, "root": cache.store.root, "entries": [e.to_dict() for e in entries]})
        return
    if not entries:
        say(f"no kernels in {cache.store.root}; 'cutegen build CONFIG' puts one there")
        return
    rows = [
        [
            dim(e.key[:12]),
            e.name,
            e.target,
            size_text(e.bytes),
            _ago(e.used),
            bad("damaged; the next build renews it") if e.damaged else "",
        ]
        for e in entries
    ]
    for line in table(rows, indent=0, right=[3]):
        say(line)


@command.command(name="info")
@json_option
def _info(as_json: bool) -> None:
    """Say where the cache is, how big it is and how big it may grow."""
    from cutegen.cache import info

    cache = _cache()
    facts = info(cache.store, size_limit=cache.size_limit)
    if as_json:
        print_json({"ok": True, **facts.to_dict()})
        return
    limit = size_text(facts.size_limit) if facts.size_limit else "none"
    state = "writable" if facts.problem is None else f"cannot be written: {facts.problem}"
    rows = [
        ["directory", facts.root],
        ["state", state if facts.exists else f"{state}; not made yet"],
        ["kernels", f"{facts.entries} in {size_text(facts.bytes)}"],
        ["limit", f"{limit} (CUTEGEN_CACHE_SIZE)"],
    ]
    if facts.free is not None:
        rows.append(["free", size_text(facts.free)])
    if facts.damaged or facts.failed:
        size = f"{size_text(facts.aside_bytes)}, which count towards the limit"
        rows.append(["kept aside", f"{facts.damaged} damaged, {facts.failed} failed, in {size}"])
    if facts.other_bytes:
        other = f"{size_text(facts.other_bytes)} of the emulator and the renderer, apart from the limit"
        rows.append(["besides", other])
    for line in table(rows, indent=0):
        say(line)


@command.command(name="prune")
@click.option(
    "--max-size",
    metavar="SIZE",
    callback=_size,
    help="Drop the least recently used until SIZE is left, for example 2GiB.",
)
@click.option(
    "--max-age", metavar="AGE", callback=_age, help="Drop what was not used for AGE, for example 30d."
)
@json_option
def _prune(max_size: int | None, max_age: float | None, as_json: bool) -> None:
    """Drop kernels that were not used for long. Without options: down to CUTEGEN_CACHE_SIZE."""
    from cutegen.cache import prune

    cache = _writable_cache()
    if max_size is None and max_age is None:
        max_size = cache.size_limit or None
    _show_pruned(prune(cache.store, max_bytes=max_size, max_age=max_age), as_json)


@command.command(name="clear")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def _clear(yes: bool, as_json: bool) -> None:
    """Drop every kernel and what failed builds left.

    Asks first; where there is no terminal to ask at, --yes must be given.
    """
    from cutegen.cache import clear

    cache = _cache()
    if not yes:
        if as_json or sys.stdin is None or not sys.stdin.isatty():
            raise click.UsageError(f"dropping every kernel in {cache.store.root} needs --yes here")
        if not click.confirm(f"drop every kernel in {cache.store.root}?", err=True):
            say("nothing was dropped", err=True)
            return
    cache = _writable_cache()
    _show_pruned(clear(cache.store), as_json)


@command.command(name="export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@json_option
def _export(file: Path, keys: tuple[str, ...], as_json: bool) -> None:
    """Write kernels to a tar file (.tar.gz compresses): all of them, or those whose keys are named."""
    from cutegen.cache.archive import export_entries

    _show_transfer(export_entries(_cache().store, file, keys or None), "wrote", "to", as_json)


@command.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def _import(file: Path, as_json: bool) -> None:
    """Take kernels from a tar file that 'export' wrote. Import only files from people you trust."""
    from cutegen.cache.archive import import_entries

    _show_transfer(import_entries(_cache().store, file), "took", "from", as_json)


def _show_pruned(result: Pruned, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, **result.to_dict()})
        return
    say(
        f"dropped {_kernels(len(result.dropped))} ({size_text(result.freed_bytes)}); "
        f"{_kernels(result.left_entries)} left ({size_text(result.left_bytes)})"
    )


def _show_transfer(result: Transfer, verb: str, preposition: str, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, **result.to_dict()})
        return
    known = f"; {len(result.present)} were there already" if result.present else ""
    what = f"{_kernels(len(result.keys))} ({size_text(result.bytes)})"
    say(f"{verb} {what} {preposition} {result.path}{known}")


def _kernels(count: int) -> str:
    return f"{count} kernel{'' if count == 1 else 's'}"


def _ago(when: float) -> str:
    seconds = max(0.0, time.time() - when)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
