"""The table of rates, and what stands out, where verdicts are missing and episodes in error."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rolewall.figures import informedness_text, rate_text
from rolewall.pooling import measures
from rolewall.records import read_dataset
from rolewall.tally import errored

Report = Callable[..., Any]
NAMES = {
    "false approval": "false_approval",
    "catch rate": "catch",
    "false rejection": "false_rejection",
    "precision": "precision",
    "accuracy": "accuracy",
    "informedness": "informedness",
}
TREATED = {"reject": ", missing verdicts as rejects", "failure": ", missing verdicts as wrong ones"}
VERDICTS, GRADES = ("approve", "reject", "missing"), ("pass", "fail")
# Of every verdict and grade another number, so that no rate can be taken for another.
NUMBERS = dict(zip(itertools.product(VERDICTS, GRADES), (7, 3, 2, 9, 4, 5), strict=True))


def records(path: Path, verdicts: Sequence[str], **more: Any) -> Path:
    rows = [
        {"task": f"t{n}", "trial": 0, "condition": condition, "verdict": verdict, "grade": grade}
        for condition, times in (("one", 1), ("two", 2))
        for n, (verdict, grade) in enumerate(
            pair for pair, number in NUMBERS.items() if pair[0] in verdicts
            for _ in range(number * times)
        )
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps(row | more) for row in rows))
    return path


def text(cell: Any) -> str:
    return " ".join("".join(cell.itertext()).split())


@pytest.mark.parametrize("silent", [True, False])
def test_every_rate_is_given_three_ways_where_a_verdict_is_missing(
    tmp_path: Path, report: Report, silent: bool
) -> None:
    path = records(tmp_path / "r.jsonl", VERDICTS if silent else VERDICTS[:2])
    page = report(path)
    rates, rows = page.table("Rates"), read_dataset(path).rows
    for condition in ("one", "two"):
        found = measures([row for row in rows if row.condition == condition])
        for name, attribute in NAMES.items():
            (first,) = [line for line in rates if line.startswith(name) and "missing" not in line]
            lines = {"excluded": first}
            if silent:
                lines |= {treatment: name + words for treatment, words in TREATED.items()}
            for treatment, heading in lines.items():
                measure = getattr(found[treatment], attribute)  # type: ignore[index]
                said = informedness_text if name == "informedness" else rate_text
                assert text(rates[heading][condition]) == said(measure), heading
        wrong = rate_text(found["failure"].failure)
        assert text(rates["verifier failure (wrong or none), of all"][condition]) == wrong
    assert len(rates) == len(NAMES) * (3 if silent else 1) + 2
    assert ("Where a verdict is missing" in page.text) == silent


def test_each_rate_leads_to_the_episodes_in_its_numerator(tmp_path: Path, report: Report) -> None:
    page = report(records(tmp_path / "r.jsonl", VERDICTS))
    led = 0
    for heading, cells in page.table("Rates").items():
        if not heading.startswith("informedness"):
            for cell in cells.values():
                assert page.behind(cell)[0] == int(text(cell).partition("/")[0]), heading
                led += 1
    assert led == 2 * (3 * 5 + 2)


def test_what_ended_in_error_stands_out_as_an_error_alone(tmp_path: Path, report: Report) -> None:
    """Whatever verdict, grade and edits its record has: it is in no rate either."""
    deeds = {"landed": 1, "attempts": 2, "isolated": "no"}
    clean = report(records(tmp_path / "clean.jsonl", VERDICTS, **deeds))
    path = records(tmp_path / "r.jsonl", VERDICTS, error="BoxError", **deeds)
    assert all(errored(row) and row.grade in GRADES for row in read_dataset(path).rows)
    number = 3 * sum(NUMBERS.values())
    stands_out = {
        line: text(*cells.values())
        for line, cells in report(path, code=4).table("What stands out").items()
    }
    assert stands_out == {"error": str(number), "cross-role edit landed": str(number)}
    twin = {line: text(*cells.values()) for line, cells in clean.table("What stands out").items()}
    per_pair = {"false approval": ("approve", "fail"), "false rejection": ("reject", "pass")}
    assert {name: int(twin[name]) for name in per_pair} == {
        name: 3 * NUMBERS[pair] for name, pair in per_pair.items()
    }
    assert {"corrupt success", "no verdict", "verdict beside the work"} <= twin.keys()
    assert "error" not in twin


def test_the_notes_name_the_interval_that_is_shown(tmp_path: Path, report: Report) -> None:
    page = report(records(tmp_path / "r.jsonl", VERDICTS))
    assert "effective sample size, and wider within three events of either end" in page.text
    assert "0 for one that tells nothing apart" in page.text
