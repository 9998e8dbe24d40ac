"""Which tests a file promises, read from its source and not by importing it.

Work that is imported at collection could make tests disappear; what the source
names must be among what ran.
"""

from __future__ import annotations

import ast

__all__ = ["promised_tests"]


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
