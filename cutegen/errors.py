"""Every error that cutegen raises on purpose, and the exit code that the CLI gives each one.

All of them survive pickling, because builds run in worker processes.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "ArgumentError",
    "CacheError",
    "CheckFailedError",
    "CompileError",
    "ConfigError",
    "ConfigValueError",
    "CutegenError",
    "CutegenWarning",
    "ExpressionError",
    "LaunchError",
    "SanitizerError",
    "SourceError",
    "ToolchainError",
    "UnwritableCacheError",
    "Violation",
]


_NO_MEMORY = (
    "out of memory",
    "for lack of memory",
    "annot allocate memory",
    "std::bad_alloc",
    "virtual memory exhausted",
)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One fact about a config that makes it impossible.

    Attributes:
        rule: Stable rule id, for example ``smem-atom-divides``.
        field: Dotted path of the config field, for example ``smem.a.shape``.
        got: The offending value, as a person would write it.
        need: What the value must be.
        fix: At least one way out.
    """

    rule: str
    field: str
    got: str
    need: str
    fix: str

    def __str__(self) -> str:
        return f"{self.field}: {self.need} (got {self.got}); {self.fix} [{self.rule}]"

    def to_dict(self) -> dict[str, Any]:
        """The violation as a JSON-ready dictionary."""
        return asdict(self)


class CutegenError(Exception):
    """Base of all errors that cutegen raises on purpose."""

    exit_code = 1

    def to_dict(self) -> dict[str, Any]:
        """The error as a JSON-ready dictionary."""
        return {"error": type(self).__name__, "message": str(self)}


class CutegenWarning(UserWarning):
    """Base of all warnings that cutegen gives; the command line prints each as one plain line."""


class CheckFailedError(CutegenError):
    """A result or a budget is not what was asked for."""

    exit_code = 1


class SanitizerError(CheckFailedError):
    """The emulator's sanitizer found faults in a kernel.

    Args:
        message: The findings in words.
        report: The ``EmulatorReport`` of the run.
    """

    def __init__(self, message: str, report: Any) -> None:
        super().__init__(message)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.report))

    def to_dict(self) -> dict[str, Any]:
        """The error with its findings as a JSON-ready dictionary."""
        return {**super().to_dict(), "findings": self.report.to_dict()["findings"]}


class ConfigError(CutegenError):
    """A config cannot work; ``violations`` holds every reason, not only the first."""

    exit_code = 2

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.violations = tuple(violations)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.violations))

    def __str__(self) -> str:
        return "\n  ".join([self.message, *(str(v) for v in self.violations)])

    def to_dict(self) -> dict[str, Any]:
        """The error with its violations as a JSON-ready dictionary."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "violations": [v.to_dict() for v in self.violations],
        }


class ConfigValueError(ConfigError, ValueError):
    """A field of a config was given, in Python, a value that it cannot have."""


class ToolchainError(CutegenError):
    """A compiler, header set or driver that the request needs is missing or too old."""

    exit_code = 3


class CacheError(CutegenError):
    """The kernel cache cannot be used as asked."""

    exit_code = 3


class UnwritableCacheError(CacheError):
    """A kernel must be built, and the cache cannot hold it."""


class CompileError(CutegenError):
    """A compiler stopped with an error.

    Args:
        source: Path of the source file that was compiled.
        command: The command as an argument list; the message shows it shell-quoted.
        log: Everything that the compiler wrote.
    """

    exit_code = 4

    def __init__(self, source: str, command: Sequence[str], log: str) -> None:
        super().__init__(source, tuple(command), log)
        self.source = source
        self.command = tuple(command)
        self.log = log

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.source, self.command, self.log))

    @property
    def out_of_memory(self) -> bool:
        """Whether the compiler ended for lack of memory, which says nothing about the source."""
        return any(words in self.log for words in _NO_MEMORY)

    @property
    def first_error(self) -> str:
        """The first line of the log that names an error, or the log's last line."""
        lines = [line for line in self.log.splitlines() if line.strip()]
        for line in lines:
            lowered = line.lower()
            if "error" in lowered or "fatal" in lowered:
                return line.strip()
        return lines[-1].strip() if lines else "the compiler gave no message"

    def to_dict(self) -> dict[str, Any]:
        """The error as a JSON-ready dictionary, with all that the compiler wrote."""
        facts = {"source": self.source, "command": list(self.command), "log": self.log}
        return {**super().to_dict(), **facts}

    def __str__(self) -> str:
        return (
            f"compiling {self.source} failed: {self.first_error}\n"
            f"  reproduce with: {shlex.join(self.command)}"
        )


class SourceError(CompileError):
    """A compiler refused a source file of the user's own; the log names its lines."""

    @property
    def more_errors(self) -> list[str]:
        """Lines of the log that name errors, after the first one; ten at most."""
        lines = [line.strip() for line in self.log.splitlines() if "error:" in line]
        return [line for line in lines if line != self.first_error][:10]


class ArgumentError(CutegenError, ValueError):
    """A kernel was called with an argument that it cannot take; raised before any launch."""

    exit_code = 5


class LaunchError(CutegenError):
    """The driver refused to load or to launch a kernel."""

    exit_code = 5


class ExpressionError(CutegenError):
    """An expression of layout algebra cannot be read, or CuTe would refuse it.

    Args:
        message: What must be, and what was got.
        expression: The whole expression.
        place: Where in it the fault lies: its first character, and the one after its last.
        fix: A way out, if there is one worth naming.
    """

    exit_code = 2

    def __init__(self, message: str, expression: str, place: tuple[int, int], fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.expression = expression
        self.place = place
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.expression, self.place, self.fix))

    @property
    def line(self) -> int:
        """The line of the fault, counted from 1."""
        return self.expression.count("\n", 0, self.place[0]) + 1

    @property
    def column(self) -> int:
        """The column of the fault, counted from 1."""
        return self.place[0] - (self.expression.rfind("\n", 0, self.place[0]) + 1) + 1

    def __str__(self) -> str:
        lines = self.expression.splitlines() or [""]
        shown = lines[min(self.line, len(lines)) - 1]
        width = min(self.place[1] - self.place[0], max(1, len(shown) - self.column + 1))
        marked = ["^" * max(1, width)] if width == 1 else ["^" + "~" * (width - 1)]
        head = f"line {self.line}: {self.message}" if len(lines) > 1 else self.message
        # NOTE: a tab must stand above a tab for the caret to stand below its place.
        pad = "".join("\t" if c == "\t" else " " for c in shown[: self.column - 1])
        rest = [f"  {shown}", f"  {pad}{marked[0]}"] + ([f"  fix: {self.fix}"] if self.fix else [])
        return "\n".join([head, *rest])

    def to_dict(self) -> dict[str, Any]:
        """The error with its place as a JSON-ready dictionary."""
        place = {"line": self.line, "column": self.column}
        facts = {"expression": self.expression, "fix": self.fix}
        return {"error": type(self).__name__, "message": self.message, **facts, **place}
