"""What the commands print: text for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from cutegen import settings
from cutegen.cli.output import current, emit
from cutegen.errors import CompileError, ConfigError, CutegenError, SourceError, Violation
from cutegen.yamlread import LocatedViolation

__all__ = [
    "Progress",
    "bad",
    "bold",
    "bytes_text",
    "caution",
    "dim",
    "error_document",
    "error_lines",
    "good",
    "print_error",
    "print_json",
    "progress_bar",
    "say",
    "size_text",
    "table",
    "violation_lines",
    "warn",
]


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line; colours reach terminals only, and none when NO_COLOR is set."""
    emit(text, err=err, color=False if _no_color() else None)


def _no_color() -> bool:
    return settings.get("NO_COLOR") is not None


def bold(text: str) -> str:
    """``text`` in bold."""
    return click.style(text, bold=True) if text else ""


def dim(text: str) -> str:
    """``text``, less visible."""
    return click.style(text, dim=True) if text else ""


def good(text: str) -> str:
    """``text`` as good news."""
    return click.style(text, fg="green")


def bad(text: str) -> str:
    """``text`` as bad news."""
    return click.style(text, fg="red", bold=True)


def caution(text: str) -> str:
    """``text`` as a warning."""
    return click.style(text, fg="yellow", bold=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    say(f"{caution('warning:')} {text}", err=True)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout.

    One that has ``ok`` also gets ``exit_code`` (0 unless it says another) and the ``notices`` so far.
    """
    if isinstance(document, dict) and "ok" in document:
        ok, rest = document["ok"], {k: v for k, v in document.items() if k not in ("ok", "exit_code")}
        document = {
            "ok": ok,
            "exit_code": document.get("exit_code", 0),
            "notices": current().notices,
            **rest,
        }
    text = json.dumps(document, indent=2, default=str)
    current().document_begun = True
    emit(text)


def error_document(error: CutegenError) -> dict[str, Any]:
    """An error as a JSON-ready document."""
    document = error.to_dict()
    nowhere = dict.fromkeys(("position", "file", "line", "column"))
    violations = [{**v, **{k: v.get(k) for k in nowhere}} for v in document.get("violations", ())]
    return {"ok": False, "exit_code": error.exit_code, **document, "violations": violations}


def print_error(error: CutegenError, *, as_json: bool) -> None:
    """Print an error: as JSON on stdout, or as text on stderr."""
    if as_json:
        print_json(error_document(error))
        return
    for line in error_lines(error):
        say(line, err=True)


def error_lines(error: CutegenError) -> Iterator[str]:
    """An error in lines, the way out last."""
    head = bad("error:")
    violations = getattr(error, "violations", ())
    if violations or isinstance(error, ConfigError):
        yield f"{head} {getattr(error, 'message', error)}"
        yield from violation_lines(violations)
    elif isinstance(error, CompileError):
        first, *rest = str(error).splitlines()
        yield f"{head} {first}"
        yield from rest
        if isinstance(error, SourceError):
            yield from (f"  {line.strip()}" for line in error.more_errors)
            return
        if error.out_of_memory:
            yield "  it ended for lack of memory; fewer --jobs leave each compiler more"
            return
        yield "  the rules passed this config: please report this as a fault of cutegen or of the toolchain"
    else:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        yield f"{head} {first}"
        yield from rest


def violation_lines(violations: Iterable[Violation]) -> Iterator[str]:
    """Two lines a violation: what is wrong and where; the way out."""
    for v in violations:
        place = f"{v.position}: " if isinstance(v, LocatedViolation) else ""
        field = f"{v.field}: " if v.field else ""
        yield f"  {bold(f'{place}{field}')}{v.need} (got {v.got}) {dim(f'[{v.rule}]')}"
        yield f"      {click.style('fix:', fg='cyan')} {v.fix}"


def table(rows: Sequence[Sequence[str]], *, indent: int = 2, right: Iterable[int] = ()) -> Iterator[str]:
    """Rows as aligned lines; columns in ``right`` are aligned to the right."""
    numbers = set(right)
    widths = [max(len(click.unstyle(row[i])) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            pad = " " * (widths[i] - len(click.unstyle(cell)))
            cells.append(pad + cell if i in numbers else cell + pad)
        yield (" " * indent + "  ".join(cells)).rstrip()


def bytes_text(count: int) -> str:
    """A number of bytes, with KiB where it is a round figure."""
    return f"{count} B ({count // 1024} KiB)" if count >= 1024 and count % 1024 == 0 else f"{count} B"


def size_text(count: int) -> str:
    """A number of bytes in the largest unit that fits."""
    if count < 1024:
        return f"{count} B"
    value = count / 1024
    for unit in ("KiB", "MiB"):
        if value < 1024:
            return f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


class Progress:
    """A progress bar on stderr; silent unless stderr is a terminal."""

    _WIDTH = 24

    def __init__(self, total: int, label: str) -> None:
        self.total = max(1, total)
        self.label = label
        self.visible = total > 0 and sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, done: int) -> None:
        """Show that ``done`` of the total are finished."""
        if self.visible:
            filled = self._WIDTH * min(done, self.total) // self.total
            bar = "#" * filled + "." * (self._WIDTH - filled)
            emit(f"\r{self.label} [{bar}] {done}/{self.total}", err=True, nl=False)

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are finished."""
        self.total = max(1, total)
        self(done)

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self.visible:
            emit("\r\x1b[K", err=True, nl=False)


@contextmanager
def progress_bar(total: int, label: str) -> Iterator[Progress]:
    """A progress bar that is gone when the block ends."""
    bar = Progress(total, label)
    bar(0)
    try:
        yield bar
    finally:
        bar.clear()
