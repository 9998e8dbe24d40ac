"""Every row of ``docs/pain-points.md`` has tests that bear its number, and lists exactly those."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "pain-points.md"
ROWS = range(1, 27)
HEADING = re.compile(r"^## ([0-9]+)\. \S.*$", re.MULTILINE)
LISTED = re.compile(r"^- `([^`]+)`$", re.MULTILINE)


def rows_of(nodes: Sequence[ast.expr]) -> Iterator[int]:
    """The numbers in ``pytest.mark.pain(N)``, in decorators or in ``pytestmark``."""
    for node in nodes:
        for found in ast.walk(node):
            if isinstance(found, ast.Call) and ast.unparse(found.func).endswith("mark.pain"):
                (row,) = found.args
                assert isinstance(row, ast.Constant) and type(row.value) is int, ast.unparse(found)
                yield row.value


def marked(source: str, name: str) -> Iterator[tuple[int, str]]:
    """Rows and tests of one module: those of the module's own mark, and each test's."""
    body = ast.parse(source).body
    whole = [
        row
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for row in rows_of([node.value])
    ]
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for row in {*whole, *rows_of(node.decorator_list)}:
                yield row, f"{name}::{node.name}"


@cache
def by_row() -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for row, test in marked(path.read_text(), str(path.relative_to(TESTS))):
            found[row].append(test)
    return {row: sorted(tests) for row, tests in found.items()}


def section(row: int) -> str:
    """The text under the row's heading."""
    text = PAGE.read_text()
    heads = [(int(found[1]), found.start()) for found in HEADING.finditer(text)]
    starts = dict(heads)
    ends = [start for _, start in heads if start > starts[row]]
    return text[starts[row] : ends[0] if ends else len(text)]


def test_rows_are_numbered_as_they_stand() -> None:
    assert [int(found[1]) for found in HEADING.finditer(PAGE.read_text())] == list(ROWS)


def test_no_mark_is_of_an_unknown_row() -> None:
    assert set(by_row()) == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_lists_the_tests_that_bear_its_mark(row: int) -> None:
    tests = by_row().get(row, [])
    right = "\n".join(f"- `{test}`" for test in tests)
    assert tests, f"no test bears pain({row})"
    assert LISTED.findall(section(row)) == tests, f"under row {row} should stand:\n\n{right}\n"


def test_marks_are_found_where_they_may_stand() -> None:
    """And a mark that is only spoken of is none."""
    source = (
        "pytestmark = [pytest.mark.root, pytest.mark.pain(3)]\n"
        "@pytest.mark.pain(4)\n@pytest.mark.pain(5)\ndef test_a(): 'pytest.mark.pain(6)'\n"
        "def test_b(): pass\n"
        "@pytest.mark.pain(7)\ndef helper(): pass\n"
    )
    assert sorted(marked(source, "m.py")) == [
        (3, "m.py::test_a"), (3, "m.py::test_b"), (4, "m.py::test_a"), (5, "m.py::test_a"),
    ]  # fmt: skip
    with pytest.raises(AssertionError):
        list(marked("@pytest.mark.pain('8')\ndef test_a(): pass\n", "m.py"))
