"""The streams of the command line: what can go wrong with them, and warnings as plain lines."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import TextIO

import click

from cutegen.errors import CutegenWarning

__all__ = ["OutputError", "Session", "abandon", "current", "echo_failure", "emit", "session"]


class OutputError(Exception):
    """Standard output cannot be written.

    Attributes:
        reason: Why not, in words.
        reader_gone: Whether it is a pipe whose reader has ended, as of ``cutegen rules | head -1``.
    """

    def __init__(self, reason: str, *, reader_gone: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reader_gone = reader_gone


@dataclass(kw_only=True)
class Session:
    """What one run of the command line has said so far.

    Attributes:
        notices: What was said as warnings, in the order in which they came.
        document_begun: Whether the JSON document on stdout was begun, after which nothing may follow.
    """

    notices: list[str] = field(default_factory=list)
    document_begun: bool = False


_current = Session()


def current() -> Session:
    """The run of the command line that goes on now."""
    return _current


@contextlib.contextmanager
def session() -> Iterator[Session]:
    """A run of the command line: warnings become one plain line each on stderr."""
    global _current
    outer, _current = _current, Session()
    found = _current

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = str(message)
        found.notices.append(text)
        emit(f"{click.style('warning:', fg='yellow', bold=True)} {text}", err=True)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CutegenWarning)  # also where PYTHONWARNINGS says error
            warnings.showwarning = show
            yield found
    finally:
        _current = outer


def emit(text: str, *, err: bool = False, nl: bool = True, color: bool | None = None) -> None:
    """Write to stdout, or to stderr.

    Raises:
        OutputError: If stdout cannot be written. What stderr does not take is lost: there is no one to tell.
    """
    if sys.stdout is None and not err:
        raise OutputError("it is closed")
    try:
        click.echo(text, err=err, nl=nl, color=color)
    except (OSError, ValueError) as error:
        if not err:
            raise _output_error(error) from None
        abandon(sys.stderr)


def echo_failure(error: OSError) -> OutputError | None:
    """The output error behind an OSError that came out of Click's own printing, as of ``--help``."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        _output_error(error) if trace is not None and trace.tb_frame.f_code is click.echo.__code__ else None
    )


def abandon(stream: TextIO | None) -> None:
    """Send a stream that failed to nowhere, so that Python does not complain of it when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        target = stream.fileno() if stream is not None else -1
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, target)
        os.close(nowhere)


def _output_error(error: OSError | ValueError) -> OutputError:
    if not isinstance(error, OSError):
        return OutputError(str(error))
    return OutputError(error.strerror or str(error), reader_gone=error.errno == errno.EPIPE)
