"""The figures of docs/teambench.md are those of the cells that a bench measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
PAGE = (Path(__file__).parents[2] / "docs" / "teambench.md").read_text("utf-8")
COMPARED = re.findall(r"^\| `(\w+)`, `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
GRADES = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| ([^|]+) \|$", PAGE, re.M)


@pytest.fixture(scope="module")
def cells() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = json.loads((DATA / "teambench-seed-0.json").read_text())[
        "tasks"
    ]
    known = json.loads((DATA / "teambench-untouched.json").read_text())["tasks"]
    for name, found in known.items():
        grade = "none" if found["noscore"] else "pass" if found["pass"] else "fail"
        score = found["partial"]
        rows[name]["known"] = [grade, score if score is None else round(score, 4)]
    return rows


def test_the_tables_are_there() -> None:
    assert [row[0] for row in GRADES] == ["bubblewrap", "docker", "reference", "machine"]
    assert len(COMPARED) == 5


@pytest.mark.parametrize(("column", "passed", "failed", "others"), GRADES)
def test_grades(
    cells: dict[str, dict[str, Any]], column: str, passed: str, failed: str, others: str
) -> None:
    found = [row[column][0] for row in cells.values()]
    assert (found.count("pass"), found.count("fail")) == (int(passed), int(failed))
    rest = len(found) - found.count("pass") - found.count("fail")
    assert rest == sum(map(int, re.findall(r"\d+", others)))


@pytest.mark.parametrize(("first", "second", "tasks", "grade", "score"), COMPARED)
def test_agreement(
    cells: dict[str, dict[str, Any]], first: str, second: str, tasks: str, grade: str, score: str
) -> None:
    both = [(row[first], row[second]) for row in cells.values() if first in row and second in row]
    assert len(both) == int(tasks)
    assert sum(a[0] == b[0] for a, b in both) == int(grade)
    assert sum(a == b for a, b in both) == int(score)


def test_where_both_gave_a_grade_it_is_the_same(cells: dict[str, dict[str, Any]]) -> None:
    given = [
        (row["docker"][0], row["bubblewrap"][0], row["reference"][0])
        for row in cells.values()
        if {row["docker"][0], row["reference"][0]} <= {"pass", "fail"}
    ]
    assert f"gave pass or fail, {len(given)} tasks, they gave the same" in PAGE
    assert all(len(set(grades)) == 1 for grades in given)
    same = sum(row["same_start"] for row in cells.values())
    assert f"The starts of {same} tasks" in PAGE


def test_every_disagreement_is_explained(cells: dict[str, dict[str, Any]]) -> None:
    explained = PAGE.partition("| task | here | reference | why |")[2]
    for name, row in cells.items():
        if not row["bubblewrap"] == row["docker"] == row["reference"]:
            assert f"`{name}`" in explained, name
