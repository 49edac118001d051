"""What an expression can call, by name, with the numbers of arguments that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutegen.playground.integers import Refusal
from cutegen.playground.layouts import Composed, Layout, Tensor, layout_of, text

__all__ = [
    "MANY",
    "Function",
    "Table",
    "integer",
    "layout_argument",
    "plain_layout",
    "tensor_or_layout",
]

Body = Callable[[tuple[Any, ...], tuple[Any, ...]], Any]

#: More arguments than anyone writes.
MANY = 99


@dataclass(frozen=True)
class Function:
    """A function that expressions can call.

    Attributes:
        body: Takes the template arguments and the arguments.
        templates: Least and greatest number of template arguments.
        arguments: Least and greatest number of arguments.
    """

    body: Body
    templates: tuple[int, int]
    arguments: tuple[int, int]

    def __call__(self, templates: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """The value of a call."""
        for what, got, (low, high) in (
            ("template argument", len(templates), self.templates),
            ("argument", len(arguments), self.arguments),
        ):
            if not low <= got <= high:
                need = str(low) if low == high else f"at least {low}" if high == MANY else f"{low} to {high}"
                plural = "" if low == high == 1 else "s"
                raise Refusal(f"there must be {need} {what}{plural} (got {got})")
        return self.body(templates, arguments)


class Table(dict[str, Function]):
    """Functions by name."""

    def add(
        self, name: str, arguments: tuple[int, int], templates: tuple[int, int] = (0, 0)
    ) -> Callable[[Body], Body]:
        """Register a function under one name, or several with spaces between them."""

        def register(body: Body) -> Body:
            for one in name.split():
                self[one] = Function(body, templates, arguments)
            return body

        return register


def layout_argument(value: Any) -> Any:
    """A layout, swizzled or not; that of a tensor."""
    value = layout_of(value)
    if not isinstance(value, (Layout, Composed)):
        fix = "write a layout, as (8,4):(4,1) or make_layout(...)" if isinstance(value, (int, tuple)) else ""
        raise Refusal(f"a layout is needed here (got {text(value)})", fix)
    return value


def plain_layout(value: Any) -> Layout:
    """A layout that is not swizzled."""
    value = layout_argument(value)
    if not isinstance(value, Layout):
        raise Refusal(f"the layout must not be swizzled or composed here (got {text(value)})")
    return value


def integer(value: Any) -> int:
    """An integer."""
    if not isinstance(value, int):
        raise Refusal(f"an integer is needed here (got {text(value)})")
    return value


def tensor_or_layout(value: Any) -> Any:
    """A tensor or a layout."""
    return value if isinstance(value, Tensor) else layout_argument(value)
