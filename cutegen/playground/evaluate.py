"""Values of programs: statements one after the other, errors with their place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cutegen.errors import ExpressionError
from cutegen.playground import integers, registry
from cutegen.playground.algebra import remarks
from cutegen.playground.functions import FUNCTIONS, checked_layout, compose
from cutegen.playground.integers import Refusal, Static
from cutegen.playground.layouts import Composed, Layout, Pointer, Tensor, text
from cutegen.playground.parser import Call, Literal, Member, Name, Node, Operation, Tuple, parse
from cutegen.playground.table import print_layout
from cutegen.playground.tensors import call
from cutegen.playground.tiled import METHODS
from cutegen.playground.tuples import ANY
from cutegen.playground.types import NAMES, TEMPLATES, atom

__all__ = ["Evaluation", "evaluate"]

_ARITHMETIC = {"+": integers.add, "-": integers.sub, "*": integers.mul, "/": integers.div, "%": integers.mod}
_PRINTING = ("print", "print_layout")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}


@dataclass(frozen=True)
class Evaluation:
    """What a program gave.

    Attributes:
        value: The value of its last statement, or None after a print.
        printed: What it printed.
        remarks: Sentences about results that CuTe does not check.
    """

    value: Any
    printed: str
    remarks: tuple[str, ...]


def evaluate(source: str, *, static: bool = False) -> Evaluation:
    """Run a program.

    Args:
        source: Statements with ``;`` between them.
        static: Whether plain integers are static too, as if written ``_8``.

    Raises:
        ExpressionError: It cannot be read, or CuTe would refuse it.
    """
    machine = _Machine(source, static)
    value = None
    try:
        with remarks() as said:
            for statement in parse(source):
                value = machine.value(statement.value)
                if statement.target is not None:
                    machine.names[statement.target] = value
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply", source, (0, len(source))) from None
    return Evaluation(value, machine.printed(), tuple(said))


class _Text(str):
    """A string of the program."""

    __slots__ = ()


@dataclass
class _Machine:
    source: str
    static: bool
    names: dict[str, Any] = field(default_factory=dict)
    out: list[tuple[bool, str]] = field(default_factory=list)

    def printed(self) -> str:
        """As C++ prints it, and two values in a row on lines of their own."""
        result, after_value = "", False
        for is_text, words in self.out:
            result += ("\n" if after_value and not is_text and not result.endswith("\n") else "") + words
            after_value = not is_text
        return result

    def fail(self, node: Node, message: str, fix: str = "") -> ExpressionError:
        return ExpressionError(message, self.source, (node.start, node.end), fix)

    def value(self, node: Node) -> Any:
        try:
            if isinstance(node, Literal):
                return self.literal(node)
            if isinstance(node, Tuple):
                elements = tuple(map(self.value, node.elements))
                return elements[0] if node.grouping else elements
            if isinstance(node, Operation):
                return self.operation(node)
            if isinstance(node, Name):
                return self.name(node)
            if isinstance(node, Member):
                return self.method(node, node, ())
            if isinstance(node, Call):
                return self.call(node)
        except Refusal as refusal:
            head = f"{_called(node)}: " if _called(node) else ""
            raise self.fail(node, f"{head}{refusal}", refusal.fix) from None
        raise self.fail(node, "this has no value")

    def literal(self, node: Literal) -> Any:
        if node.kind == "any":
            return ANY
        if node.kind == "string":
            words = node.text[1:-1]
            for written, meant in _ESCAPES.items():
                words = words.replace(written, meant)
            return _Text(words)
        digits = node.text.removesuffix("_c").removeprefix("_").replace("m", "-")
        if len(digits) > 12:
            raise Refusal(f"every number must fit into 32 bits, as CuTe's int (got {digits})")
        number = integers.add(int(digits), Static(0))
        return Static(number) if self.static or node.kind == "static" or node.text.endswith("_c") else number

    def operation(self, node: Operation) -> Any:
        if node.sign == ":":
            return checked_layout(*map(self.modes, node.operands))
        values = [self.value(x) for x in node.operands]
        if node.sign == "o":
            if len(values) == 3:
                return FUNCTIONS["composition"]((), tuple(values))
            result = values[-1]
            for left in reversed(values[:-1]):
                result = compose(left, result)
            return result
        for value, operand in zip(values, node.operands, strict=True):
            if not isinstance(value, int):
                raise self.fail(operand, f"the operands of {node.sign} must be integers (got {text(value)})")
        if len(values) == 1:
            return integers.sub(Static(0), values[0])
        return _ARITHMETIC[node.sign](*values)

    def modes(self, node: Node) -> Any:
        """The shape or stride of a layout, where parentheses around one element make a tuple too."""
        return tuple(map(self.modes, node.elements)) if isinstance(node, Tuple) else self.value(node)

    def name(self, node: Name) -> Any:
        if node.arguments is None:
            if node.name in self.names:
                return self.names[node.name]
            if node.name in NAMES:
                return NAMES[node.name]
            found: Any = atom(node.name, ())
        else:
            arguments = tuple(map(self.value, node.arguments))
            if node.name in TEMPLATES:
                return TEMPLATES[node.name]((), arguments)
            found = atom(node.name, arguments)
        if found is not None:
            return found
        if node.name in FUNCTIONS or node.name in _PRINTING:
            raise self.fail(node, f"{node.name} is a function and needs arguments in parentheses")
        if node.name in TEMPLATES:
            raise self.fail(node, f"{node.name} needs template arguments, as {node.name}<...>")
        known = (*self.names, *NAMES, *FUNCTIONS, *TEMPLATES)
        raise self.fail(node, f"{node.name} is not known here", _similar(node.name, known))

    def call(self, node: Call) -> Any:
        function = node.function
        if node.braces:
            value = self.value(function)
            if isinstance(value, Pointer) and len(node.arguments) == 1:
                return Pointer(registry.integer(self.value(node.arguments[0])))
            if node.arguments:
                raise self.fail(node, "braces must be empty here", "write make_layout(shape, stride)")
            return value
        if isinstance(function, Member):
            return self.method(node, function, node.arguments)
        if isinstance(function, Name) and function.name not in self.names:
            if function.name in _PRINTING:
                return self.print(node, function.name)
            if function.name in FUNCTIONS:
                templates = tuple(map(self.value, function.arguments or ()))
                arguments = tuple(map(self.value, node.arguments))
                return FUNCTIONS[function.name](templates, arguments)
            if function.name in TEMPLATES or atom(function.name, ()) is not None:
                raise self.fail(node, f"a type is made a value with braces: {function.name}<...>{{}}")
        value, arguments = self.value(function), tuple(map(self.value, node.arguments))
        if not isinstance(value, (Layout, Composed, Tensor)):
            raise self.fail(
                function, f"only functions, layouts and tensors can be called (got {text(value)})"
            )
        if not arguments:
            raise self.fail(node, "a coordinate is needed (got none)")
        return call(value, arguments[0] if len(arguments) == 1 else arguments)

    def method(self, node: Node, member: Member, arguments: Iterable[Node]) -> Any:
        value = self.value(member.value)
        if member.name not in METHODS:
            raise self.fail(member, f"{member.name} is not known here", _similar(member.name, METHODS))
        if node is member:
            raise self.fail(member, f"{member.name} needs parentheses: {member.name}()")
        templates = tuple(map(self.value, member.arguments))
        return METHODS[member.name](templates, (value, *map(self.value, arguments)))

    def print(self, node: Call, name: str) -> None:
        if len(node.arguments) != 1:
            raise Refusal(f"there must be 1 argument (got {len(node.arguments)})")
        value = self.value(node.arguments[0])
        if name == "print_layout":
            self.out.append((False, print_layout(value)))
        else:
            self.out.append((isinstance(value, _Text), text(value)))


def _called(node: Node) -> str:
    if isinstance(node, Call):
        node = node.function
    return node.name if isinstance(node, (Name, Member)) else ""


def _similar(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else "docs/layout.md lists what is known"
