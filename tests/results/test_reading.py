"""How figures read: no more digits than say something, nothing that is not known as nought, a
legend once, and one thing as one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rolewall.cli.exec import _reads
from rolewall.errors import InputError
from rolewall.figures import limit_text, percent
from rolewall.gate import decide, not_decided
from rolewall.gaterules import Rules
from rolewall.gating.badge import badge
from rolewall.gating.junit import junit
from rolewall.gating.summary import summary
from rolewall.rows import Row, row_of
from rolewall.sandbox.tap.wire import WatchSummary
from rolewall.tables import result_table
from rolewall.terminal import plain

TEN = Rules(max_false_approval=0.10)
RARE = [("approve", "fail")] + [("reject", "fail")] * 1999
COMMON = [("approve", "fail")] * 1999 + [("reject", "fail")]
SCIENTIFIC = re.compile(r"\d[eE][-+]?\d")
TABLE = "task,verdict,grade\n" + "".join(f"t{n},reject,fail\n" for n in range(40))


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0.0%"),
        (2.2e-9, "<0.1%"),
        (0.00099, "<0.1%"),
        (0.001, "0.1%"),
        (0.0089, "0.9%"),
        (0.5, "50.0%"),
        (0.999, "99.9%"),
        (0.99951, ">99.9%"),
        (1 - 1e-12, ">99.9%"),
        (1.0, "100.0%"),
    ],
)
def test_a_rate_has_one_decimal_and_reads_as_nothing_it_is_not(fraction: float, text: str) -> None:
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("limit", "text"),
    [(0.1, "10.0%"), (0.125, "12.5%"), (0.1255, "12.55%"), (0.0005, "0.05%"), (1e-7, "0.00001%")],
)
def test_a_limit_reads_as_it_was_set(limit: float, text: str) -> None:
    assert limit_text(limit) == text


@pytest.mark.parametrize(
    ("pairs", "shown"), [(RARE, "0.1% [<0.1, 0.3]"), (COMMON, ">99.9% [99.7, >99.9]")]
)
def test_no_output_shows_powers_of_ten(many: Any, pairs: Any, shown: str) -> None:
    rows = many(pairs)
    decision = decide([row_of(record) for record in rows], Rules(0.10, max_missing=0.10))
    outputs = [
        plain(result_table(rows, team="fixers").sheet()),
        "\n".join(decision.lines()),
        summary(decision),
        badge(decision)["message"],
        junit(decision).decode(),
    ]
    for text in outputs:
        assert not SCIENTIFIC.search(text)
    assert all(shown in text for text in outputs[:2])


def foreign(number: int) -> list[Row]:
    return [Row(f"t{n}", "theirs", 0, "reject", "fail") for n in range(number)]


def test_what_records_cannot_know_is_not_nought(many: Any) -> None:
    theirs = decide(foreign(40), TEN)
    assert theirs.json()["repaired"] is None and theirs.json()["phases_failed"] is None
    for text in ("\n".join(theirs.lines()), summary(theirs)):
        assert "epaired by a verifier: not stated" in text
        assert "ailed phases: not stated" in text
    ours = decide([row_of(record) for record in many([("reject", "fail")] * 40)], TEN)
    assert (ours.json()["repaired"], ours.json()["phases_failed"]) == (0, {})
    assert "repaired by a verifier: 0 episodes" in ours.lines()
    assert not ours.unstated() and "not stated" not in summary(ours)


def test_the_report_does_not_know_it_either(tmp_path: Path, here: Any, builder: Any) -> None:
    (tmp_path / "theirs.csv").write_text(TABLE)
    builder.add(task="a", verdict="reject", grade="fail")
    unknown = line(tmp_path, here, tmp_path / "theirs.csv")
    assert unknown == {"repaired": "not stated", "failed": "not stated"}
    assert line(tmp_path, here, builder.finish()) == {"repaired": "0/1", "failed": "0/1"}


def line(tmp_path: Path, here: Any, records: Path) -> dict[str, str]:
    page = tmp_path / "page.html"
    found = here("report", records, "-o", page)
    assert found.code == 0, found.err
    words = {"repaired": "the verifier repaired the work", "failed": "a phase failed"}
    cells = {
        key: re.findall(rf"<th[^>]*>{text}</th>\s*<td[^>]*>(.*?)</td>", page.read_text(), re.S)
        for key, text in words.items()
    }
    page.unlink()
    return {key: re.sub("<[^>]*>", "", found[0]).strip() for key, found in cells.items()}


def test_a_table_says_once_how_its_intervals_are_read(record: Any) -> None:
    records = [record(task=f"t{n % 3}", trial=n, condition=condition, verdict="reject",
                      grade="fail")
               for condition in ("enforced", "no-plan") for n in range(9)]  # fmt: skip
    text = plain(result_table(records, team="fixers").sheet())
    assert text.count("[ ]: 95 % interval") == text.count("no verdict is missing") == 1
    assert "as reject" not in text
    assert "failing work under no-plan: 9 episodes of 3 tasks count as" in text
    once = plain(result_table(records[:3], team="fixers").sheet())
    assert "[ ]: 95 % interval" in once and "count as" not in once


def test_treatments_are_told_where_a_verdict_is_missing(record: Any) -> None:
    records = [record(task="a", verdict="missing", grade="fail"),
               record(task="a", condition="no-plan", verdict="reject", grade="fail")]  # fmt: skip
    text = plain(result_table(records, team="fixers").sheet())
    assert "false approvals under enforced, missing verdicts excluded 0/0" in text
    assert "elsewhere no verdict is missing; wrong verdicts, of all: 0/1" in text
    assert "no-plan, missing" not in text


def test_failed_phases_name_where_to_look(record: Any) -> None:
    phases = record().model_dump()["phases"]
    phases[-1]["outcome"] = "timeout"
    text = plain(result_table([record(phases=phases)], team="fixers").sheet())
    assert "1 phase failed (1 timeout); `rolewall show RUN EPISODE`" in text


def test_one_of_each_is_one() -> None:
    one = Row("t", "c", 0, "reject", "fail", isolated=False, trust="outside")
    alone = decide([one], TEN)
    refused = [
        decide([one], Rules(0.10, require_isolated=True)),
        decide([replace(one, isolated=None)], Rules(0.10, require_isolated=True)),
        decide([replace(one, trust="untrusted")], TEN),
    ]
    assert [decision.status for decision in refused] == ["refused"] * 3
    texts = [*alone.lines(), summary(alone), *(d.reasons[0] for d in refused)]
    assert any("1 episode, 0 errors" in said for said in texts)
    for said in texts:
        assert not re.search(r"\b1 (episodes|tasks|errors|pairs|reads|trials)\b", said), said


def test_no_decision_says_nothing_of_episodes() -> None:
    none = not_decided(InputError("no such condition", place="--condition"))
    for text in (summary(none), "\n".join(none.lines()), junit(none).decode()):
        assert "0 episodes" not in text and "no such condition" in text
    assert "Condition" not in summary(none)


@pytest.mark.parametrize(("number", "words"), [(1, "1 other read in"), (2, "2 other reads in")])
def test_reads_are_counted_in_words(number: int, words: str) -> None:
    seen = WatchSummary(attempts={"peek": {"blocked": number}}, reads=number)
    peeks = "1 peek at" if number == 1 else "2 peeks at"
    assert words in _reads(seen) and _reads(seen).startswith(peeks)
