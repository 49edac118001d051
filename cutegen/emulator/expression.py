"""Expressions over arrays, such as ``a @ b.T`` or ``where(x > 0, x, 0)``, evaluated without ``eval``.

Only what is listed here can be called, so an expression from a file can compute and do nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from cutegen.errors import ArgumentError

__all__ = ["FUNCTIONS", "METHODS", "evaluate"]

_MOST_ELEMENTS = 1 << 28

#: Functions of numpy, by the name that an expression calls them.
FUNCTIONS = (
    "abs", "arange", "arccos", "arcsin", "arctan", "ceil", "clip", "concatenate", "cos", "cosh",
    "cumsum", "diag", "dot", "einsum", "exp", "exp2", "expand_dims", "eye", "flip", "floor", "full",
    "isnan", "log", "log2", "logical_and", "logical_not", "logical_or", "matmul", "max", "maximum",
    "mean", "min", "minimum", "mod", "ones", "outer", "power", "prod", "repeat", "reshape", "rint",
    "roll", "round", "sign", "sin", "sinh", "sort", "sqrt", "stack", "std", "sum", "swapaxes", "tan",
    "tanh", "tile", "trace", "transpose", "tril", "triu", "trunc", "var", "where", "zeros",
)  # fmt: skip

#: Methods and attributes of an array.
METHODS = (
    "T", "argmax", "argmin", "clip", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min",
    "ndim", "prod", "ravel", "repeat", "reshape", "round", "shape", "size", "sort", "squeeze", "std",
    "sum", "swapaxes", "trace", "transpose", "var",
)  # fmt: skip

_CONSTANTS = {"pi": 3.141592653589793, "inf": float("inf"), "nan": float("nan"), "True": True, "False": False}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Args:
        text: Python's operators, numpy's functions of :data:`FUNCTIONS`, arrays' :data:`METHODS`, indices and
            slices.
        names: What names stand for, usually arrays.

    Raises:
        ArgumentError: It is no such expression, or it cannot be evaluated for these values.
    """
    import numpy

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise ArgumentError(f"{text!r} is no expression: {getattr(exc, 'msg', exc)}") from None
    try:
        with numpy.errstate(all="ignore"):
            return _Evaluator(names).value(tree.body)
    except ArgumentError as exc:
        raise ArgumentError(f"{text!r}: {exc}") from None
    except Exception as exc:  # numpy raises many kinds for shapes that do not fit
        raise ArgumentError(f"{text!r} cannot be evaluated: {exc}") from None


class _Evaluator:
    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def value(self, node: ast.expr | None) -> Any:
        if node is None:
            return None
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise ArgumentError(f"{ast.unparse(node)!r} is not allowed in an expression")
        return handler(node)

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, bool | int | float | str):
            return node.value
        raise ArgumentError(f"{node.value!r} is not allowed in an expression")

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        known = ", ".join(self.names) or "none"
        raise ArgumentError(f"nothing is called {node.id!r} (arguments with a name: {known})")

    def _tuple(self, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    _list = _tuple

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow | ast.LShift):
            for side in (left, right):
                if isinstance(side, int) and abs(side) > 1 << 16:
                    raise ArgumentError(f"{ast.unparse(node)!r} is too large")
        return _BINARY[type(node.op)](left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            raise ArgumentError(f"{ast.unparse(node)!r}: write one comparison, and join them with & and |")
        return _COMPARE[type(node.ops[0])](self.value(node.left), self.value(node.comparators[0]))

    def _slice(self, node: ast.Slice) -> slice:
        return slice(self.value(node.lower), self.value(node.upper), self.value(node.step))

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _attribute(self, node: ast.Attribute) -> Any:
        if node.attr not in METHODS:
            raise ArgumentError(f".{node.attr} is not allowed; arrays have {', '.join(METHODS)}")
        owner = self.value(node.value)
        if not hasattr(owner, "dtype"):
            raise ArgumentError(f"{ast.unparse(node.value)!r} is no array")
        return getattr(owner, node.attr)

    def _call(self, node: ast.Call) -> Any:
        import numpy

        function: Any
        if isinstance(node.func, ast.Name):
            if node.func.id not in FUNCTIONS:
                raise ArgumentError(f"no function is called {node.func.id!r}; known: {', '.join(FUNCTIONS)}")
            function = getattr(numpy, node.func.id)
        elif isinstance(node.func, ast.Attribute):
            function = self._attribute(node.func)
        else:
            raise ArgumentError(f"{ast.unparse(node.func)!r} is no function")
        given = [self.value(a) for a in node.args]
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg in ("axis", "keepdims")}
        if len(named) != len(node.keywords):
            raise ArgumentError("only axis= and keepdims= may be given by name")
        if isinstance(node.func, ast.Name) and node.func.id in ("arange", "zeros", "ones", "full", "eye"):
            _check_size(given)
        return function(*given, **named)


def _check_size(given: list[Any]) -> None:
    """Refuse an array that would not fit into memory before numpy tries."""
    for item in given:
        total = 1.0
        for extent in item if isinstance(item, tuple) else (item,):
            if isinstance(extent, int | float):
                total *= abs(extent)
        if total > _MOST_ELEMENTS:
            raise ArgumentError(f"an array may have at most {_MOST_ELEMENTS} elements")
