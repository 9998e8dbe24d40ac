"""Text that a role, a task or another harness chose stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Report = Callable[..., Any]
HOSTILE = "<script>hit()</script>\x1b[31m\u202egnp.exe $x^2$ &amp; '\"><img src=x onerror=hit()>"
SHOWN = "<script>hit()</script>\\x1b[31m\\u202egnp.exe $x^2$ &amp; '\"><img src=x onerror=hit()>"
PLAIN = "a plain name"


@pytest.fixture(params=[(HOSTILE, SHOWN), (PLAIN, PLAIN)], ids=["hostile", "plain"])
def named(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A text, and how it is to be seen."""
    found: tuple[str, str] = request.param
    return found


def test_names_of_a_run_are_shown_and_nothing_more(
    builder: Any, report: Report, named: tuple[str, str]
) -> None:
    """Task, condition, team and error; in tables, lists and pictures."""
    name, shown = named
    for condition in ("prompt-only", name):
        builder.add(task=name, condition=condition, edits=1, grade="fail")
        builder.add(task="t", condition=condition, grade="error",
                    status="error", error={"kind": name, "message": name})  # fmt: skip
    path = builder.finish(conditions=("prompt-only", name), team=name)
    page = report(path)  # which holds what is true of every page: nothing runs, nothing is odd
    short = shown[:40]
    assert "".join(page.all("h1")[0].itertext()).startswith(f"Team {short}")
    assert any(short in "".join(e.itertext()) for e in page.all("article"))
    assert any(short in "".join(e.itertext()) for e in page.all("svg"))
    assert any(a.startswith(shown) for a in page.answers)
    assert f"error {shown}: {shown}" in page.text


def test_what_roles_said_and_did_is_shown_and_nothing_more(
    builder: Any, report: Report, named: tuple[str, str], tmp_path: Path
) -> None:
    """Verdict, tests, standard error; targets of attempts and changes."""
    name, shown = named
    details = {"failed": {name: "failed"}}
    graded = {"grade": "fail", "trust": "outside", "why": name, "details": details}
    verdict = {"round": 1, "phase": 0, "verdict": "approve", "why": name,
               "claims": [{"command": name, "seen": "no"}],
               "grade_before": graded, "grade_after": graded}  # fmt: skip
    change = {"zone": "workspace", "path": name, "change": "created", "cross_role": True}
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 1.7e9, "ended": 1.7e9 + 1,
             "outcome": "done", "returncode": 0, "changes": [change],
             "changed": {"cross_role": 1, "landed": 1}}  # fmt: skip
    builder.add(grade="fail")
    directory = builder.path / "episodes" / builder.records[0].key
    full = {**builder.records[0].model_dump(mode="json"), "verdicts": [verdict],
            "phases": [phase], "attempts": {"verifier": {}}}  # fmt: skip
    (directory / "episode.json").write_text(json.dumps(full))
    page = report(builder.finish())
    for words in (
        f"grade before it{{}}fail ({shown})", f"why{{}}{shown}", f"not passed{{}}{shown}: failed",
        f"claims to have run{{}}{shown} (seen: no)", f"CROSS-ROLE /workspace/{shown} created",
    ):  # fmt: skip
        assert words.format("") in page.text or words.format(" ") in page.text, words


@pytest.mark.parametrize("name", [HOSTILE, PLAIN, "=1+1", "../../etc", "x" * 1000])
def test_records_of_another_harness_are_shown_and_nothing_more(
    tmp_path: Path, report: Report, name: str
) -> None:
    table = tmp_path / "records.jsonl"
    rows = [{"task": name, "condition": "c", "trial": n, "verdict": "approve", "grade": "fail"}
            for n in range(3)]  # fmt: skip
    table.write_text("\n".join(map(json.dumps, rows)))
    page = report(table)
    assert "approved 3 of 3 pieces" in page.text


@pytest.mark.bubblewrap
def test_a_real_run_is_shown_with_what_it_planted(real_run: Path, report: Report) -> None:
    page = report(real_run)
    text = page.text
    assert "/workspace/<img src=x onerror=hit()> \\x1b[31m \\xe2\\x80\\xaegnp created" in text or (
        "/workspace/<img src=x onerror=hit()> \\x1b[31m \\u202egnp created" in text
    )
    assert "+\treturn x + 2 # \\x1b[31m <script>hit()</script>" in page.html.replace(
        "&lt;", "<"
    ).replace("&gt;", ">")
    assert "why fine <script>hit()</script> \\u202e\\x1b[31m" in text.replace("whyfine", "why fine")
    assert "/workspace/data.bin created (binary, 2 bytes)" in text
    assert "CROSS-ROLE /workspace/app.py modified" in text
    assert re.search(r"blocked edit of /workspace/\S+ .*by /usr/bin/sed", text)
    assert "the verifier repaired the work" in text
