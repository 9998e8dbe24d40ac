from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.policies import Ledger
from rolewall.record import PhaseUsage, SpentLimit
from rolewall.roles import HANDOFF_ZONES, complete_and_seal, read_handoff, sealed_bytes
from rolewall.rolesheet import count_roles, roles_sheet
from rolewall.rundir import open_run
from rolewall.terminal import plain
from rolewall.timeline import SHOWN, find_episode, read_timeline
from rolewall.timelinetext import timeline_lines


def timeline(builder: Any, **fields: Any) -> Any:
    directory = builder.add(**fields)
    run = open_run(builder.finish())
    return read_timeline(directory, run.records[0])


def test_phases_attempts_changes_and_verdict_in_order(builder: Any) -> None:
    lines = timeline_lines(timeline(builder, verdict="approve", grade="fail", edits=2, landed=True))
    text = "\n".join(lines)
    order = [
        "verdict approve, grade fail",
        "phase 0 planner, round 1: +0.00 s, took 0.90 s, done, exit 0",
        "phase 2 verifier",
        "attempts: 2 cross-role edits (1 distinct, 2 allowed), 3 own",
        "+2.01 s allowed openat /workspace/app.py by /usr/bin/sed (the mount is writable)",
        "verifier modified /workspace/app.py (content)  CROSS-ROLE",
        "verdict approve | grade before fail (1 test failed), after fail",
        "claims to have run pytest: seen no",
        "ledger: 4 lines",
    ]
    places = [text.find(part) for part in order]
    assert text.count("handoff sealed") == 3
    assert -1 not in places and places == sorted(places)


def test_blocked_attempts_are_listed_and_change_nothing(builder: Any) -> None:
    text = "\n".join(timeline_lines(timeline(builder, edits=1)))
    assert "blocked openat /workspace/app.py" in text and "CROSS-ROLE" not in text


def test_a_flood_is_capped_with_its_count(builder: Any) -> None:
    made = timeline(builder, edits=SHOWN + 7)
    lines = timeline_lines(made)
    assert sum("blocked openat" in line for line in lines) == SHOWN
    assert any("and 7 more in audit.jsonl" in line for line in lines)
    assert made.json()["attempts"]["2"]["counts"] == {"edit blocked": SHOWN + 7}


def test_errors_are_shown(builder: Any) -> None:
    made = timeline(
        builder, status="error", grade="error", error={"kind": "BoxError", "message": "gone"}
    )
    assert "error BoxError: gone" in timeline_lines(made)


def test_json_is_json(builder: Any) -> None:
    data = json.loads(json.dumps(timeline(builder, edits=1).json(), allow_nan=False))
    assert data["record"]["task"] == "t0" and len(data["attempts"]["2"]["listed"]) == 1


def test_an_altered_ledger_is_refused_with_its_line(builder: Any) -> None:
    directory: Path = builder.add(edits=1)
    run = open_run(builder.finish())
    path = directory / "audit.jsonl"
    path.write_bytes(path.read_bytes().replace(b"sed", b"xed"))
    with pytest.raises(RecordError, match=r"audit\.jsonl:"):
        read_timeline(directory, run.records[0])


def test_an_episode_is_found_by_key_or_name(builder: Any) -> None:
    builder.add(task="a")
    builder.add(task="b")
    records = open_run(builder.finish()).records
    assert find_episode(records, records[0].key[:8]) is records[0]
    assert find_episode(records, "b:enforced:0").task == "b"
    for name in ("c:enforced:0", "zz", ""):
        with pytest.raises(RecordError, match="no such episode"):
            find_episode(records, name)


def test_a_name_that_means_two_is_refused(record: Any) -> None:
    records = [record(task="a", key="ab1"), record(task="b", key="ab2")]
    with pytest.raises(RecordError, match="2 episodes"):
        find_episode(records, "ab")
    assert find_episode(records, "ab2").task == "b"


def test_as_much_of_a_name_as_names_one_episode_is_enough(record: Any) -> None:
    records = [
        record(task="page-window"),
        record(task="page-window", condition="prompt-only"),
        record(task="page-window", condition="prompt-only", trial=1),
        record(task="invoices"),
    ]
    assert find_episode(records, "invoices") is records[3]
    assert find_episode(records, "page-window:enforced") is records[0]
    assert find_episode(records, "page-window:prompt-only:1") is records[2]
    with pytest.raises(RecordError, match="2 episodes: page-window:prompt-only:0, page-window:pro"):
        find_episode(records, "page-window:prompt-only")
    with pytest.raises(RecordError, match="3 episodes: page-window:enforced:0, "):
        find_episode(records, "page-window")
    for part in ("page", "page-window:", "page-window:enforced:", "enforced"):
        with pytest.raises(RecordError, match="no such episode"):
            find_episode(records, part)


def test_a_task_is_not_taken_for_the_beginning_of_a_key(record: Any) -> None:
    records = [record(task="ab", key="ff"), record(task="c", key="ab1")]
    assert find_episode(records, "ab") is records[0]


def failed(builder: Any, outcome: str = "failed") -> Any:
    directory: Path = builder.add(verdict="reject", grade="fail")
    path = directory / "episode.json"
    record = json.loads(path.read_text())
    record["phases"][1] |= {"outcome": outcome, "returncode": 1}
    names = {f"test_{n}": "call failed" for n in range(12)}
    record["verdicts"][0]["grade_after"] |= {"details": {"failed": names}}
    path.write_text(json.dumps(record))
    return directory


def said(directory: Path, name: str, text: str) -> None:
    """Have a transcript of phase 1, and its record have it."""
    (directory / "transcripts" / name).write_text(text)
    record = json.loads((directory / "episode.json").read_text())
    record["phases"][1]["transcript_sha256"][name] = hashlib.sha256(text.encode()).hexdigest()
    (directory / "episode.json").write_text(json.dumps(record))


def shown(builder: Any, directory: Path) -> str:
    run = open_run(builder.finish())
    return "\n".join(timeline_lines(read_timeline(directory, run.records[0])))


def test_a_phase_that_failed_shows_its_last_words(builder: Any) -> None:
    directory = failed(builder)
    said(directory, "01-executor.stderr", "".join(f"line {n}\n" for n in range(9)))
    text = shown(builder, directory)
    assert "  transcript transcripts/01-executor.jsonl\n    stderr: line 4\n" in text
    assert text.count("stderr: ") == 5 and "line 3" not in text
    assert text.count("  transcript ") == 1


def test_a_script_that_failed_shows_what_its_last_step_wrote(builder: Any) -> None:
    directory = failed(builder, "timeout")
    steps = [{"stderr": {"text": "early\n"}}, {"stderr": {"text": "no room\n"}}, {"stderr": {}}]
    said(directory, "01-executor.jsonl", "\n".join(map(json.dumps, steps)) + "\nhalf a li")
    text = shown(builder, directory)
    assert "stderr: no room" in text and "early" not in text


def test_last_words_are_read_through_no_link(builder: Any, tmp_path: Path) -> None:
    directory = failed(builder)
    (tmp_path / "secret").write_text("a secret\n")
    said(directory, "01-executor.stderr", "a secret\n")
    assert "a secret" in shown(builder, directory)
    (directory / "transcripts" / "01-executor.stderr").unlink()
    (directory / "transcripts" / "01-executor.stderr").symlink_to(tmp_path / "secret")
    assert "a secret" not in shown(builder, directory)


@pytest.mark.parametrize("name", ["01-executor.jsonl", "01-executor.stderr"])
def test_last_words_that_were_put_in_later_are_not_shown(builder: Any, name: str) -> None:
    directory = failed(builder)
    said(directory, "01-executor.stderr", "" if name.endswith("jsonl") else "hello\n")
    path = directory / "transcripts" / name
    path.write_text(json.dumps({"stderr": {"text": "all is well"}}))
    with pytest.raises(RecordError, match=f"{name}: changed since it was recorded"):
        shown(builder, directory)


def test_a_ledger_that_was_chained_anew_is_not_told_as_fact(builder: Any) -> None:
    directory = builder.add(edits=3, landed=True)
    assert "cross-role" in shown(builder, directory)
    ledger = directory / "audit.jsonl"
    kept = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    ledger.unlink()
    with Ledger(ledger) as forged:
        for line in kept[1:]:
            forged.append({k: v for k, v in line.items() if k not in ("seq", "prev")})
    with pytest.raises(RecordError, match="not the recorded number of lines"):
        shown(builder, directory)


def test_a_handoff_of_another_phase_is_not_told_as_this_ones(builder: Any) -> None:
    directory: Path = builder.add()
    place = directory / "handoffs"
    (place / "00-planner.json").write_bytes((place / "01-executor.json").read_bytes())
    said = "planner's /plan/handoff.json: the handoff is not the one that the record has"
    assert f"problem with the {said}" in shown(builder, directory)


def test_failed_tests_are_named(builder: Any) -> None:
    text = shown(builder, failed(builder))
    assert "    not passed: test_9: call failed" in text and "test_10" not in text


def handed_over(directory: Path, index: int, role: str, data: bytes | None) -> None:
    """Have a phase's role have left ``data`` as its handoff."""
    file = f"{HANDOFF_ZONES[role]}/handoff.json"
    sealed = complete_and_seal(
        read_handoff(data, file), author=role, phase=index, time=1.0, previous=None
    )
    (directory / "handoffs" / f"{index:02}-{role}.json").write_bytes(sealed_bytes(sealed))
    record = json.loads((directory / "episode.json").read_text())
    record["phases"][index]["handoff"] = sealed.seal.sha256
    (directory / "episode.json").write_text(json.dumps(record))


def test_problems_of_a_handoff_stand_under_its_seal_with_whose_it_is(builder: Any) -> None:
    directory: Path = builder.add(verdict="reject", grade="fail")
    handed_over(directory, 0, "planner", None)
    handed_over(directory, 1, "executor", b"[")
    handed_over(directory, 2, "verifier", None)
    text = shown(builder, directory)
    planned = "    problem with the planner's /plan/handoff.json: no handoff was written"
    assert planned in text.splitlines()
    assert "    problem with the executor's /report/handoff.json:1:2: not JSON" in text
    assert "    problem with the verifier's /feedback/handoff.json: no handoff" in text
    (directory / "handoffs" / "01-executor.json").write_text("{}")
    said = "problem with the executor's /report/handoff.json: the handoff cannot be read"
    assert said in shown(builder, directory)


def test_whoever_approves_owes_no_feedback(builder: Any) -> None:
    directory: Path = builder.add(verdict="approve")
    handed_over(directory, 2, "verifier", None)
    text = shown(builder, directory)
    assert "no /feedback/handoff.json was written: an approval needs none" in text
    assert "problem" not in text
    handed_over(directory, 2, "verifier", b"[")
    assert "problem with the verifier's /feedback/handoff.json:1:2: not JSON" in shown(
        builder, directory
    )


SPENT: dict[str, tuple[dict[str, Any], str]] = {
    "calls": ({"spent": 60, "limit": 60}, "60 of 60 calls"),
    "tokens": ({"spent": 2_000_345, "limit": 2_000_000}, "2000345 of 2000000 tokens"),
    "usd": ({"spent": 2.514, "limit": 2.5}, "$2.51 of $2.50"),
    "seconds": ({"spent": 601.25, "limit": 600.0}, "601.2 of 600 seconds"),
}


@pytest.mark.parametrize("name", SPENT)
def test_which_budget_ran_out_is_told(name: str, builder: Any) -> None:
    (taken, text), directory = SPENT[name], builder.add(verdict="reject")
    record = json.loads((directory / "episode.json").read_text())
    usage = {"calls": 7, "over_budget": True, "spent": [{"name": name, **taken}]}
    record["phases"][2] |= {"outcome": "budget", "usage": usage}
    (directory / "episode.json").write_text(json.dumps(record))
    assert f"model: 7 calls, budget spent ({text} in this episode); " in shown(builder, directory)
    (row,) = (row for row in count_roles(open_run(builder.path).records) if row.budgets)
    assert row.role == "verifier" and row.budgets[0].text == f"{text}, in 1 phase"


def test_each_limit_of_a_table_is_told_with_the_most_that_was_taken(record: Any) -> None:
    made = []
    for trial, spent in enumerate((101, 150, 120)):
        one = record(trial=trial, key=f"k{trial}")
        usage = PhaseUsage(
            over_budget=True, spent=(SpentLimit(name="tokens", spent=spent, limit=100),)
        )
        phase = one.phases[-1].model_copy(update={"usage": usage})
        made.append(one.model_copy(update={"phases": (*one.phases[:-1], phase)}))
    found = plain(roles_sheet([("enforced", count_roles(made))]))
    role = made[0].phases[-1].role
    words = f"budget spent: {role}, enforced: at most 150 of 100 tokens, in 3 phases"
    assert words in " ".join(found.split())


def test_counts_of_nought_are_not_shown(builder: Any) -> None:
    text = "\n".join(timeline_lines(timeline(builder)))
    assert text.count("  attempts: 3 own\n") == 3
