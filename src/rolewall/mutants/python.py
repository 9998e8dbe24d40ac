"""Faults in Python: found in the syntax tree, made in the text, so that all else stays as it is."""

from __future__ import annotations

import ast
import math
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from rolewall.mutants.edit import Edit, short

__all__ = ["faults", "valid"]

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Lt: ("<", "<=", "boundary"),
    ast.LtE: ("<=", "<", "boundary"),
    ast.Gt: (">", ">=", "boundary"),
    ast.GtE: (">=", ">", "boundary"),
    ast.Eq: ("==", "!=", "condition"),
    ast.NotEq: ("!=", "==", "condition"),
    ast.In: ("in", "not in", "condition"),
    ast.NotIn: (r"not\s+in", "in", "condition"),
    ast.Is: ("is", "is not", "condition"),
    ast.IsNot: (r"is\s+not", "is", "condition"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
}
_NEEDS_BRACKETS = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
_STRING = re.compile(r"([rbuRBU]*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)
_MARK = b"\xef\xbb\xbf"  # of byte order: no part of the first line that the tree counts in
_MOST_BITS = 64  # of a whole number that is off by one


def valid(data: bytes) -> bool:
    """Whether it parses as Python."""
    return _tree(data) is not None


def faults(data: bytes) -> Iterator[Edit]:
    """Every fault that can be made in a Python source; none in what does not parse."""
    if (tree := _tree(data)) is None:
        return
    source = _Source(data)
    for node in _nodes(tree):
        for kind, make in _MAKERS.items():
            if isinstance(node, kind):
                yield from make(source, node)
        yield from _removals(source, node)


def _tree(data: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(data.removeprefix(_MARK).decode())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Without docstrings, and without what stands in an f-string: before Python 3.12 such
    nodes have no true position."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        skipped = _docstring(node)
        pending += [
            child
            for child in ast.iter_child_nodes(node)
            if child is not skipped and not isinstance(child, ast.JoinedStr)
        ]


def _docstring(node: ast.AST) -> ast.AST | None:
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body:
        return None
    first = body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return first if text else None


class _Source:
    """A text by the positions of its syntax tree, which count bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._lines = [len(_MARK) if data.startswith(_MARK) else 0]
        for line in data[self._lines[0] :].splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: Any) -> int:
        return int(self._lines[node.lineno - 1] + node.col_offset)

    def end(self, node: Any) -> int:
        return int(self._lines[node.end_lineno - 1] + node.end_col_offset)

    def text(self, node: Any) -> str:
        return self.data[self.start(node) : self.end(node)].decode()

    def replaced(self, fault: str, node: Any, new: str, what: str = "") -> Edit:
        said = what or f"{short(self.text(node))} became {short(new)}"
        return Edit(fault, node.lineno, said, self.start(node), self.end(node), new.encode())

    def between(self, fault: str, left: Any, right: Any, old: str, new: str) -> Iterator[Edit]:
        """``new`` for the operator ``old`` between two operands."""
        begin = self.end(left)
        gap = self.data[begin : self.start(right)].decode()
        if found := re.search(old, gap):
            at = begin + len(gap[: found.start()].encode())
            what = f"{found[0]} became {new}"
            line, end = bisect_right(self._lines, at), at + len(found[0].encode())
            yield Edit(fault, line, what, at, end, new.encode())

    def lines(self, node: Any) -> tuple[int, int] | None:
        """The whole lines of a statement, where nothing else stands on them."""
        start, end = self._lines[node.lineno - 1], self._lines[node.end_lineno]
        around = self.data[start : self.start(node)] + self.data[self.end(node) : end]
        return None if around.strip() else (start, end)


def _compare(source: _Source, node: ast.Compare) -> Iterator[Edit]:
    operands = [node.left, *node.comparators]
    for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
        old, new, fault = _COMPARISONS[type(op)]
        yield from source.between(fault, left, right, old, new)


def _arithmetic(source: _Source, node: ast.BinOp) -> Iterator[Edit]:
    if type(node.op) in _ARITHMETIC:
        old, new = _ARITHMETIC[type(node.op)]
        yield from source.between("arithmetic", node.left, node.right, old, new)


def _junction(source: _Source, node: ast.BoolOp) -> Iterator[Edit]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in pairwise(node.values):
        yield from source.between("condition", left, right, rf"\b{old}\b", new)


def _negated(source: _Source, node: ast.If | ast.While | ast.IfExp) -> Iterator[Edit]:
    test = node.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        new = source.text(test.operand)
    else:
        text = source.text(test)
        new = f"not ({text})" if isinstance(test, _NEEDS_BRACKETS) else f"not {text}"
    yield source.replaced("condition", test, new)


def _constant(source: _Source, node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield source.replaced("constant", node, str(not value))
    elif isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        yield source.replaced("off-by-one", node, str(value + 1))
        if value > 0:
            yield source.replaced("off-by-one", node, str(value - 1))
    elif isinstance(value, float) and math.isfinite(value) and value + 1.0 != value:
        yield source.replaced("constant", node, repr(value + 1.0))
    elif isinstance(value, str | bytes) and (found := _STRING.fullmatch(source.text(node))):
        body = found[3][:-1] if found[3] else "x"
        new = f"{found[1]}{found[2]}{body}{found[2]}"
        yield source.replaced("constant", node, new)


def _returned(source: _Source, node: ast.Return) -> Iterator[Edit]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield source.replaced("return", node.value, "None")


def _arguments(source: _Source, node: ast.Call) -> Iterator[Edit]:
    given = node.args
    if len(given) > 1 and not any(isinstance(arg, ast.Starred) for arg in given[:2]):
        first, second = source.text(given[0]), source.text(given[1])
        between = source.data[source.end(given[0]) : source.start(given[1])].decode()
        what = f"arguments {short(first)} and {short(second)} changed places"
        begin, end = source.start(given[0]), source.end(given[1])
        new = f"{second}{between}{first}".encode()
        yield Edit("arguments", given[0].lineno, what, begin, end, new)
    values: Sequence[Any] = [*given, *node.keywords]
    for before, keyword in pairwise(values):
        if isinstance(keyword, ast.keyword):
            what = f"argument {short(source.text(keyword))} left out"
            begin, end = source.end(before), source.end(keyword)
            yield Edit("arguments", keyword.lineno, what, begin, end, b"")


def _removals(source: _Source, node: ast.AST) -> Iterator[Edit]:
    """Statements of a block that can be left out without a name going missing."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            for statement in block:
                if _removable(statement):
                    yield _removed(source, statement, alone=len(block) == 1)


def _removable(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets)
    if isinstance(node, ast.If):
        # A guard: without it, what follows happens always.
        return not node.orelse and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.AugAssign | ast.Delete | ast.Raise | ast.Continue | ast.Break)


def _removed(source: _Source, node: Any, *, alone: bool) -> Edit:
    what = f"{short(source.text(node))} left out"
    lines = source.lines(node)
    if alone or lines is None:
        return source.replaced("statement", node, "pass", what)
    return Edit("statement", node.lineno, what, *lines, b"")


_MAKERS: dict[type[ast.AST], Callable[..., Iterator[Edit]]] = {
    ast.Compare: _compare,
    ast.BinOp: _arithmetic,
    ast.BoolOp: _junction,
    ast.If: _negated,
    ast.While: _negated,
    ast.IfExp: _negated,
    ast.Constant: _constant,
    ast.Return: _returned,
    ast.Call: _arguments,
}
