"""The syntax of expressions: enough of C++ for layout algebra, and layouts as CuTe prints them."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.errors import ExpressionError
from cutegen.playground.lexer import Token, tokens

__all__ = ["Call", "Literal", "Member", "Name", "Node", "Operation", "Statement", "Tuple", "parse"]

#: What may stand before the name in a declaration.
_DECLARING = {"auto", "int", "Layout", "Tensor", "using", "const", "constexpr", "static", "size_t"}
_INFIX = "o"
_MOST_NESTED = 60


@dataclass(frozen=True)
class Node:
    """A part of an expression, with its place."""

    start: int
    end: int


@dataclass(frozen=True)
class Literal(Node):
    """A number, a static number, an underscore or a text; ``kind`` is that of the token."""

    kind: str
    text: str


@dataclass(frozen=True)
class Name(Node):
    """A variable, a type or a function, with template arguments if ``arguments`` is not None."""

    name: str
    arguments: tuple[Node, ...] | None


@dataclass(frozen=True)
class Tuple(Node):
    """Elements in parentheses; one in ``grouping`` parentheses is itself, except in a layout."""

    elements: tuple[Node, ...]
    grouping: bool


@dataclass(frozen=True)
class Call(Node):
    """``function(arguments)``, or with ``braces`` ``Type{arguments}``."""

    function: Node
    arguments: tuple[Node, ...]
    braces: bool


@dataclass(frozen=True)
class Member(Node):
    """``value.name`` with template arguments."""

    value: Node
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Operation(Node):
    """``o``, ``:``, ``-`` of one operand, or arithmetic."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Statement:
    """An expression, with the variable that it is assigned to."""

    target: str | None
    value: Node


class _Parser:
    def __init__(self, source: str) -> None:
        self.source, self.tokens, self.at, self.nesting = source, tokens(source), 0, 0

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def is_sign(self, *signs: str) -> bool:
        return self.peek().kind == "sign" and self.peek().text in signs

    def next(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def fail(self, need: str, token: Token | None = None) -> ExpressionError:
        token = token or self.peek()
        got = repr(token.text) if token.text else "the end"
        return ExpressionError(
            f"{need} (got {got})", self.source, (token.start, max(token.end, token.start + 1))
        )

    def expect(self, sign: str) -> Token:
        if not self.is_sign(sign):
            raise self.fail(f"{sign!r} must follow here")
        return self.next()

    def last_end(self) -> int:
        return self.tokens[self.at - 1].end

    # Statements

    def program(self) -> list[Statement]:
        statements = []
        while self.peek().kind != "end":
            if self.is_sign(";"):
                self.next()
                continue
            statements.append(self.statement())
            if self.peek().kind != "end":
                if not self.is_sign(";"):
                    raise self.fail("';' or the end must follow an expression")
                self.next()
        if not statements:
            raise ExpressionError("an expression is needed (got nothing)", self.source, (0, 1))
        return statements

    def statement(self) -> Statement:
        while self.peek().text in _DECLARING and self.peek(1).kind == "name":
            self.next()
        if self.peek().kind == "name" and self.peek(1).text == "=":
            return self.assignment()
        value = self.expression()
        if self.peek().kind == "name":  # a declaration: Layout<...> name{};
            if self.peek(1).text == "=":
                return self.assignment()
            target = self.next().text
            if self.is_sign("{"):
                self.next()
                self.expect("}")
            return Statement(target, value)
        return Statement(None, value)

    def assignment(self) -> Statement:
        target = self.next().text
        self.next()
        return Statement(target, self.expression())

    # Expressions, the loosest first

    def expression(self) -> Node:
        self.nesting += 1
        if self.nesting > _MOST_NESTED:
            raise self.fail(f"an expression must be nested at most {_MOST_NESTED} deep")
        operands = [self.pair()]
        while self.peek().kind == "name" and self.peek().text == _INFIX:
            self.next()
            operands.append(self.pair())
        self.nesting -= 1
        if len(operands) == 1:
            return operands[0]
        return Operation(operands[0].start, operands[-1].end, _INFIX, tuple(operands))

    def pair(self) -> Node:
        left = self.sum()
        if not self.is_sign(":"):
            return left
        self.next()
        right = self.sum()
        return Operation(left.start, right.end, ":", (left, right))

    def sum(self) -> Node:
        left = self.term()
        while self.is_sign("+", "-"):
            sign, right = self.next().text, self.term()
            left = Operation(left.start, right.end, sign, (left, right))
        return left

    def term(self) -> Node:
        left = self.unary()
        while self.is_sign("*", "/", "%"):
            sign, right = self.next().text, self.unary()
            left = Operation(left.start, right.end, sign, (left, right))
        return left

    def unary(self) -> Node:
        if not self.is_sign("-"):
            return self.postfix()
        start = self.next().start
        operand = self.postfix()
        return Operation(start, operand.end, "-", (operand,))

    def postfix(self) -> Node:
        node = self.primary()
        while self.is_sign("(", "{", "."):
            if self.next().text == ".":
                node = self.member(node)
            else:
                braces = self.tokens[self.at - 1].text == "{"
                arguments = self.arguments("}" if braces else ")")
                node = Call(node.start, self.last_end(), node, arguments, braces)
        return node

    def member(self, value: Node) -> Node:
        if self.peek().text == "template":
            self.next()
        name = self.next()
        if name.kind != "name":
            raise self.fail("a name must follow '.'", name)
        return Member(value.start, self.last_end(), value, name.text, self.template() or ())

    def arguments(self, close: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.is_sign(close):
            found.append(self.expression())
            if not self.is_sign(","):
                break
            self.next()
        self.expect(close)
        return tuple(found)

    def template(self) -> tuple[Node, ...] | None:
        if not self.is_sign("<"):
            return None
        self.next()
        return self.arguments(">")

    def primary(self) -> Node:
        token = self.next()
        if token.kind in ("number", "static", "any", "string"):
            return Literal(token.start, token.end, token.kind, token.text)
        if token.kind == "name":
            while self.is_sign("::"):
                self.next()
                token = self.next()
            if token.kind != "name":
                raise self.fail("a name must follow '::'", token)
            arguments = self.template()
            return Name(token.start, self.last_end(), token.text, arguments)
        if token.text == "(" and token.kind == "sign":
            elements = self.arguments(")")
            grouping = len(elements) == 1 and self.tokens[self.at - 2].text != ","
            return Tuple(token.start, self.last_end(), elements, grouping)
        raise self.fail("an expression must stand here", token)


def parse(source: str) -> list[Statement]:
    """The statements of a program.

    Raises:
        ExpressionError: It is not one; the error has the place.
    """
    return _Parser(source).program()
