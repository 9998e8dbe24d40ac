"""Which tests a file promises, read from its source and not by importing it.

Work that is imported at collection could make tests disappear; what the source
names must be among what ran. And a test that a task names, but no file defines,
is the task's mistake, whatever the work does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["promised_tests", "undefined_tests"]

_MAKES_NAMES = frozenset(("exec", "globals", "setattr", "vars"))
ANY = "*"  # as in `from x import *`: names that cannot be read from the source


def promised_tests(source: bytes, name: str) -> list[str]:
    """Node ids (without parameters) of the tests that ``source`` defines at its
    top level and in its ``Test…`` classes.

    Raises:
        SyntaxError, ValueError: the source is no Python.
    """
    tree = ast.parse(source, name)
    if _is_opted_out(tree.body):
        return []
    found: list[str] = []
    for node in tree.body:
        if _is_test(node):
            found.append(f"{name}::{node.name}")  # type: ignore[attr-defined]
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            found += [f"{name}::{node.name}::{one}" for one in _methods(node)]
    return found


def undefined_tests(nodes: Iterable[str], sources: Mapping[str, bytes]) -> list[str]:
    """Those of ``nodes`` that no test in ``sources`` (file → content) can be.

    Parameters are not looked at. A name that the source might make in a way
    that cannot be read from it gets the benefit of the doubt.

    Raises:
        SyntaxError, ValueError: a source is no Python.
    """
    trees = {name: ast.parse(source, name) for name, source in sources.items()}
    return [node for node in nodes if not _can_be(node, trees)]


def _can_be(node: str, trees: Mapping[str, ast.Module]) -> bool:
    file, *parts = node.partition("[")[0].split("::")
    return file in trees and _defines(trees[file].body, parts, trees[file].body)


def _defines(body: Sequence[ast.stmt], parts: Sequence[str], module: Sequence[ast.stmt]) -> bool:
    bound = dict(_bound(body))
    if parts[0] not in bound:
        return ANY in bound
    made = bound[parts[0]]
    if len(parts) == 1 or made is None:
        return True
    inside = _defines(made.body, parts[1:], module)
    return inside or any(_inherits(base, parts[1:], made, module) for base in made.bases)


def _inherits(
    base: ast.expr, parts: Sequence[str], child: ast.ClassDef, module: Sequence[ast.stmt]
) -> bool:
    """Whether a base class may bring the test. Those of ``unittest`` bring none."""
    if ast.unparse(base).endswith("TestCase") or ast.unparse(base) == "object":
        return False
    parent = dict(_bound(module)).get(base.id) if isinstance(base, ast.Name) else None
    if parent is None or parent is child:
        return True
    return _defines(module, [parent.name, *parts], module)


def _bound(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.ClassDef | None]]:
    """Names that the statements bind, with the class where one is defined plainly."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, None if node.decorator_list or node.keywords else node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, None
        else:
            yield from ((name, None) for one in ast.walk(node) for name in _names(one))


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Name) and node.id in _MAKES_NAMES:
        yield ANY


def _methods(node: ast.ClassDef) -> list[str]:
    return list(dict.fromkeys(one.name for one in node.body if _is_test(one)))  # type: ignore[attr-defined]


def _is_test(node: ast.stmt) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and node.name.startswith("test") and not _is_fixture(node)


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def _is_test_class(node: ast.ClassDef) -> bool:
    if _is_opted_out(node.body):
        return False
    if any("TestCase" in ast.unparse(base) for base in node.bases):
        return True
    made = any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body)
    return node.name.startswith("Test") and not made


def _is_opted_out(body: list[ast.stmt]) -> bool:
    """Whether the scope says ``__test__ = False``."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(to, ast.Name) and to.id == "__test__" for to in node.targets)
        and isinstance(node.value, ast.Constant)
        and node.value.value is False
        for node in body
    )
