"""A page is below 1 MB however many names there are, and of whatever signs they are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape as quoted

from rolewall.records import read_dataset
from rolewall.report import LIMIT, Episodes, build_report, render
from rolewall.report.fit import ROOMS, shorten

Report = Callable[..., Any]
LONG = 990
SHOWN = ("x", "名", "<", "'", "&", "\U0001f600")  # as themselves, however they are quoted
HIDDEN = ("\U000f0000", "\x1b", "\u202e", "\ud800")


def records(path: Path, sign: str, *, sources: bool = False, trials: int = 1) -> Path:
    """16 conditions, or sources, of 20 tasks, with as many different sets of episodes as
    chance makes."""
    chance, tail = random.Random(1), sign * LONG
    rows = []
    for group in range(16):
        made = {"team": f"T{group}{tail}", "verifier": f"v{group}{tail}", "model": tail + "m"}
        for task, trial in ((t, n) for t in range(20) for n in range(trials)):
            rows.append({
                "task": f"t{task}{tail}", "trial": trial,
                "condition": "c" if sources else f"c{group}{tail}",
                "verdict": chance.choice(["approve", "reject", "missing"]),
                "grade": chance.choice(["pass", "fail"]), "attempts": chance.randint(0, 3),
                "landed": chance.randint(0, 2), "edits": chance.randint(0, 3),
                "isolated": chance.random() < 0.5, "seconds": 9 * chance.random(),
                **(made if sources else {}),
            })  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("sign", "sources"), [("\U000f0000", False), ("<", False), ("\U0001f600", True)]
)
def test_a_page_is_below_1_mb_whatever_the_names(tmp_path: Path, sign: str, sources: bool) -> None:
    found = read_dataset(records(tmp_path / "r.jsonl", sign, sources=sources))
    page = render(build_report(found), Episodes(None))
    assert 100_000 < len(page.html) <= LIMIT < 1_000_000
    assert page.detailed > 0


def test_such_a_page_is_whole_and_its_numbers_are(tmp_path: Path, report: Report) -> None:
    """Held to all that is true of every page: strict HTML, every link leads somewhere."""
    page = report(records(tmp_path / "r.jsonl", "\U000f0000"))
    (heading,) = page.all("h1")
    assert "".join(heading.itertext()) and len(page.table("Verdict beside grade")) >= 8
    assert "\\U000f0000" in page.text and "characters ...]" in page.text
    counts = page.table("Verdict beside grade")
    columns = next(iter(counts.values()))
    assert len(columns) == 16
    for column in columns:
        shown = [int("".join(line[column].itertext())) for name, line in counts.items()
                 if ", " in name]  # fmt: skip
        assert sum(shown) == 20


def test_names_stay_whole_where_there_is_room(tmp_path: Path, report: Report) -> None:
    name = "a name in 名前 of some length, with <marks> and \U0001f600, but of no great one"
    table = tmp_path / "r.jsonl"
    rows = [{"task": name, "condition": f"c{n}", "verdict": "approve", "grade": "fail"}
            for n in range(16)]  # fmt: skip
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = report(table)
    assert f"{name}:c3:0" in page.text and "characters ...]" not in page.text


@pytest.mark.parametrize("most", sorted({room.name for room in ROOMS} | {400, 1500}))
@pytest.mark.parametrize("sign", SHOWN + HIDDEN)
def test_a_text_is_cut_to_characters_and_to_bytes(sign: str, most: int) -> None:
    assert shorten(sign * 3, most) == 3 * shorten(sign, most)
    for length in (most - 1, most, most + 1, 50 * most):
        shown = shorten(sign * length, most)
        head, _, cut = shown.partition("[... ")
        gone, _, tail = cut.partition(" characters ...]")
        assert len(quoted(head + tail).encode()) <= 4 * most
        if sign in SHOWN:
            assert len(head) + int(gone or 0) + len(tail) == length
            assert bool(gone) == (length > most or len(quoted(sign * length).encode()) > 4 * most)
