"""Shortcuts of Python work: what a module can do to whoever imports or runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from rolewall.checkgrader.shortcuts.model import Plant, Shortcut, files
from rolewall.checkgrader.shortcuts.payloads import (
    EQUAL,
    EQUAL_VALUE,
    HUGE,
    OS_EXIT,
    PATCH_EXIT,
    PATCH_PYTEST,
    PATCH_UNITTEST,
    RAN,
    SYS_EXIT,
    TRUTH,
)
from rolewall.checkgrader.subject import Subject
from rolewall.mutants import Overlay

__all__ = ["PYTHON_WORK", "before", "instead"]

KINDS = ("list", "tuple", "dict", "str", "int", "float")
NO_MODULE = "the work has no Python module"


def instead(code: str) -> Callable[[Subject], Plant | str]:
    """``code`` in place of each module."""
    return lambda subject: _modules(subject, lambda _: code)


def before(code: str) -> Callable[[Subject], Plant | str]:
    """``code`` at the head of each module."""
    return lambda subject: _modules(subject, lambda source: _with_head(source, code))


def after(code: str) -> Callable[[Subject], Plant | str]:
    """``code`` at the end of each module."""
    return lambda subject: _modules(subject, lambda source: f"{source}\n{code}")


def _modules(subject: Subject, change: Callable[[str], str]) -> Plant | str:
    if not subject.modules:
        return NO_MODULE
    made = {
        path: _with_head(change(source.decode("utf-8", "replace")), RAN)
        for path, source in subject.modules.items()
    }
    return Plant(Overlay(files(made), ()))


def _with_head(source: str, code: str) -> str:
    """``source`` with ``code`` after what must stand first; alone, if it is no Python."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return code
    lines = source.split("\n")  # as Python counts them: a form feed ends none
    line = 0
    for index, node in enumerate(body):
        if not (_is_future(node) or (index == 0 and _is_docstring(node))):
            break
        line = node.end_lineno or 0
    return "\n".join([*lines[:line], code, *lines[line:]])


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


PYTHON_WORK = (
    Shortcut("sys-exit", "the work calls sys.exit(0) at import", instead(SYS_EXIT)),
    Shortcut("os-exit", "the work calls os._exit(0) at import", instead(OS_EXIT)),
    Shortcut("equal-to-all", "the work returns objects that are equal to everything", after(EQUAL)),
    *(Shortcut(f"equal-{kind}", f"the work returns a {kind} that is equal to everything",
               after(EQUAL_VALUE % {"kind": kind})) for kind in KINDS),
    Shortcut("patch-pytest", "the work rewrites pytest, so that each test passes",
             before(PATCH_PYTEST)),
    Shortcut("patch-unittest", "the work rewrites unittest, so that each test passes",
             before(PATCH_UNITTEST)),
    Shortcut("patch-exit", "the work has every exit and uncaught error end with status 0",
             before(PATCH_EXIT)),
    Shortcut("copied-truth", "the work copies the grader's data files over its own", before(TRUTH)),
    Shortcut("huge-output", "the work prints 70 MB on both streams", before(HUGE)),
)  # fmt: skip
