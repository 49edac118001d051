"""The ways out of the command line: every error, signal and broken stream is a sentence and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

import click

from cutegen.cli.console import print_error, print_json
from cutegen.cli.output import OutputError, Session, abandon, echo_failure, emit, session
from cutegen.errors import CutegenError

__all__ = ["EXIT_CODES", "Stopped", "exit_code_of"]

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "a check failed: wrong result, a finding of the emulator, or over a budget",
    2: "a bad config, or a bad command line",
    3: "compiler, headers, driver or GPU missing, or the cache cannot be written",
    4: "the compiler failed",
    5: "the launch failed",
    70: "a fault in cutegen itself",
    74: "standard output cannot be written",
    129: "the terminal hung up",
    130: "interrupted, as by Ctrl-C",
    141: "who read the output has ended, as in 'cutegen rules | head -1'",
    143: "terminated",
}
_INTERNAL = 70
_OUTPUT = 74
_BROKEN_PIPE = 128 + signal.SIGPIPE
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUDGE_SECONDS = 0.1
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Stopped(BaseException):
    """A signal asks to end; compilers are killed and private directories removed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """The exit code, as shells count it."""
        return 128 + self.number

    def __str__(self) -> str:
        return _WORDS.get(signal.Signals(self.number), "stopped")


def exit_code_of(run: Callable[[], Any], *, as_json: bool) -> int:
    """Run a command; every way in which it can end becomes a message and an exit code.

    Args:
        run: Runs the command as Click does without its standalone mode; returns its exit code or None.
        as_json: Whether errors are printed as one JSON document on stdout.
    """
    with session() as said:
        try:
            with _signals():
                return _outcome(run, said, as_json)
        except Stopped as stop:
            return _stopped(stop, said, as_json)
        except OutputError as error:
            return _no_output(error)


def _outcome(run: Callable[[], Any], said: Session, as_json: bool) -> int:
    try:
        result = run()
    except CutegenError as exc:
        print_error(exc, as_json=as_json)
        return exc.exit_code
    except click.ClickException as exc:
        if as_json:
            document = {"error": type(exc).__name__, "message": exc.format_message(), "violations": []}
            print_json({"ok": False, "exit_code": exc.exit_code, **document})
        else:
            with contextlib.suppress(OSError):
                exc.show()
        return exc.exit_code
    except click.Abort:
        raise Stopped(signal.SIGINT) from None
    except SystemExit:  # Click, printing the help to a pipe that nobody reads any more
        raise OutputError("nobody reads it", reader_gone=True) from None
    except OSError as exc:
        failure = echo_failure(exc)
        if failure is not None:
            raise failure from None
        return _fault(exc, said, as_json)
    except OutputError:
        raise
    except Exception as exc:
        return _fault(exc, said, as_json)
    return result if isinstance(result, int) else 0


def _fault(exc: Exception, said: Session, as_json: bool) -> int:
    emit("".join(traceback.format_exception(exc)), err=True, nl=False)
    emit("this is a fault in cutegen; please report it with the lines above", err=True)
    if as_json and not said.document_begun:
        document = {"error": "InternalError", "message": f"{type(exc).__name__}: {exc}"}
        print_json({"ok": False, "exit_code": _INTERNAL, **document, "violations": []})
    return _INTERNAL


def _stopped(stop: Stopped, said: Session, as_json: bool) -> int:
    emit(str(stop), err=True)
    if as_json and not said.document_begun:
        document = {"error": "Stopped", "message": str(stop), "violations": []}
        with contextlib.suppress(OutputError):
            print_json({"ok": False, "exit_code": stop.code, **document})
    return stop.code


def _no_output(error: OutputError) -> int:
    abandon(sys.stdout)
    if error.reader_gone:
        return _BROKEN_PIPE
    emit(f"error: standard output cannot be written: {error.reason}", err=True)
    return _OUTPUT


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn the first signal that asks to end into :class:`Stopped`; a second Ctrl-C ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        if seen:
            os._exit(128 + number)
        seen.append(number)
        # timeout(1) signals a command and then its process group: one wish to stop, said twice. Ignored
        # signals stay so while the interpreter ends; handlers do not.
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    nudge = _start_nudging(seen)
    # NOTE: a signal that is ignored stays so, as under nohup and in the background of a script.
    before = {
        number: signal.signal(number, handle)
        for number in _STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        nudge()
        if not seen:
            for number, handler in before.items():
                signal.signal(number, handler)


def _start_nudging(seen: list[int]) -> Callable[[], None]:
    """See that the main thread notices signals even while it waits for a lock; returns what ends that.

    A signal that comes in the moment between the interpreter's last look and the wait, or that the kernel
    gives to another thread, does not end the wait. So a thread reads each signal's number from a pipe and, as
    long as nobody handled it, interrupts the main thread with a signal that means nothing.
    """
    main = threading.get_ident()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.signal(signal.SIGURG, lambda number, frame: None)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    ended = threading.Event()

    def watch() -> None:
        while numbers := os.read(reader, 64):
            while set(numbers) & set(_STOPPING) and not seen and not ended.wait(_NUDGE_SECONDS):
                signal.pthread_kill(main, signal.SIGURG)
        os.close(reader)

    thread = threading.Thread(target=watch, name="cutegen-signals", daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        signal.set_wakeup_fd(former)
        os.close(writer)
        thread.join()
        signal.signal(signal.SIGURG, before)

    return end
