"""What a verifier's phase amounts to, from its ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.looking import Looked, looked_by
from rolewall.patterns import Evidence, found_in, with_patterns
from rolewall.policies import Ledger, View
from rolewall.record import PhaseRecord, VerdictRecord
from rolewall.roles import Execution
from rolewall.sandbox import WatchSpec
from rolewall.sandbox.tap.recorder import Recorder

Lines = list[dict[str, Any]]
EXECUTOR, VERIFIER = 1, 2


def ran(*argv: str, role: str = "verifier", exe: str = "", phase: int = VERIFIER) -> dict[str, Any]:
    return {"type": "exec", "role": role, "phase": phase, "argv": list(argv),
            "exe": exe or f"/usr/bin/{argv[0]}", "argv_whole": True}  # fmt: skip


def read(directory: str, role: str = "verifier") -> dict[str, Any]:
    return {"type": "read", "role": role, "phase": VERIFIER, "directory": directory,
            "counts": {"read": 1}}  # fmt: skip


def note(text: str) -> dict[str, Any]:
    return {"type": "note", "role": "verifier", "phase": VERIFIER, "text": text}


# What the harness itself does for a script agent.
WRITES: Lines = [ran("sh", "-c", "cat > /verdict/verdict.json"), ran("cat")]
CUT_RUNS = note("budget of 2 lines or 9 bytes spent on the rest, only counted from here")
CUT_READS = note("budget of 2 lines or 9 bytes spent on reads, only counted from here")
RAN_BY_EXECUTOR = ran("pytest", "-q", role="executor", phase=EXECUTOR)


def phase(index: int, role: str, **more: Any) -> PhaseRecord:
    fields = {"index": index, "role": role, "round": 1, "started": 0.0, "ended": 1.0,
              "outcome": "done", "returncode": 0, **more}  # fmt: skip
    return PhaseRecord.model_validate(fields)


def told(
    lines: Sequence[dict[str, Any]],
    verdict: str = "approve",
    *,
    observe: str = "changes",
    claims: Sequence[dict[str, str]] = (),
    **of_phase: Any,
) -> dict[str, str]:
    phases = [phase(0, "planner"), phase(1, "executor"), phase(2, "verifier", **of_phase)]
    row = VerdictRecord.model_validate(
        {"round": 1, "phase": VERIFIER, "verdict": verdict, "claims": list(claims)}
    )
    evidence = Evidence(phases)
    for line in lines:
        evidence.add(line)
    found: dict[str, str] = evidence.patterns([row], observe)[VERIFIER].model_dump()
    return found


@pytest.mark.parametrize(
    ("lines", "observe", "optimistic"),
    [
        (WRITES, "changes", "yes"),
        (WRITES, "reads", "yes"),
        ([], "reads", "yes"),
        ([*WRITES, read("/spec"), read("/plan")], "reads", "yes"),
        ([*WRITES, read("/workspace/tests")], "reads", "no"),
        ([*WRITES, read("/report")], "reads", "no"),
        ([*WRITES, ran("true", role="check")], "changes", "no"),
        ([*WRITES, ran("git", "diff", "HEAD~1")], "changes", "no"),
        ([*WRITES, ran("cat", "/workspace/app.py")], "changes", "no"),
        ([*WRITES, ran("cat", "/spec/spec.md")], "changes", "yes"),
        ([*WRITES, ran("cat", "app.py")], "changes", "unknown"),
        ([*WRITES, ran("run.sh", exe="/workspace/run.sh")], "reads", "no"),
        ([ran("python3", "/rolewall/agents/a.py"), *WRITES], "changes", "unknown"),
        ([ran("python3", "/rolewall/agents/a.py"), *WRITES], "reads", "yes"),
        ([*WRITES, CUT_RUNS], "changes", "unknown"),
        ([*WRITES, CUT_READS], "reads", "unknown"),
        ([*WRITES, CUT_READS], "changes", "yes"),
        ([*WRITES, read("/workspace", role="executor")], "reads", "yes"),
    ],
)
def test_optimistic_is_an_approval_of_work_unseen(
    lines: Lines, observe: str, optimistic: str
) -> None:
    assert told(lines, observe=observe)["optimistic"] == optimistic
    for word in ("reject", "missing"):
        assert told(lines, word, observe=observe)["optimistic"] == "no"


@pytest.mark.parametrize(
    ("lines", "observe", "echo"),
    [
        ([*WRITES, read("/report")], "reads", "yes"),
        ([*WRITES, read("/report"), read("/spec")], "reads", "yes"),
        ([*WRITES, read("/report"), read("/workspace")], "reads", "no"),
        ([*WRITES, read("/report"), ran("pytest", role="check")], "reads", "no"),
        (WRITES, "reads", "no"),
        ([*WRITES, ran("grep", "-q", "pass", "/report/handoff.json")], "changes", "yes"),
        ([*WRITES, ran("cat", "/report/handoff.json"), ran("git", "log")], "changes", "no"),
        ([*WRITES, ran("jq", ".text", "/report/handoff.json", "x")], "changes", "unknown"),
    ],
)
def test_an_echo_knows_the_work_from_the_report_alone(
    lines: Lines, observe: str, echo: str
) -> None:
    for word in ("approve", "reject"):
        assert told(lines, word, observe=observe)["echo"] == echo
    assert told(lines, "missing", observe=observe)["echo"] == "no"


@pytest.mark.parametrize(
    ("claims", "lines", "echo"),
    [
        ([("pytest -q", "no")], [RAN_BY_EXECUTOR], "yes"),
        ([("pytest -q", "no"), ("make", "no")], [RAN_BY_EXECUTOR], "no"),
        ([("pytest -q", "yes")], [RAN_BY_EXECUTOR], "no"),
        ([("pytest -q", "no"), ("pytest -q", "yes")], [RAN_BY_EXECUTOR], "no"),
        ([("pytest -q", "unknown")], [RAN_BY_EXECUTOR], "unknown"),
        ([("pytest -q", "no")], [], "no"),
        ([], [RAN_BY_EXECUTOR], "no"),
    ],
)
def test_an_echo_claims_what_the_executor_ran(
    claims: list[tuple[str, str]], lines: Lines, echo: str
) -> None:
    """Even of one that read the work."""
    said = [{"command": command, "seen": seen} for command, seen in claims]
    found = told([*lines, read("/workspace")], observe="reads", claims=said)
    assert found["echo"] == echo and found["optimistic"] == "no"


def change(zone: str, path: str = "a", **more: Any) -> dict[str, Any]:
    return {"zone": zone, "path": path, "change": "modified", "cross_role": True, **more}


def test_a_rewrite_is_a_change_of_the_workspace_that_landed() -> None:
    landed = {"cross_role": 1, "landed": 1}
    for changes, counts, rewrite in (
        ([change("workspace")], landed, "yes"),
        ([change("plan")], landed, "no"),
        ([change("workspace", incidental=True)], {"cross_role": 1}, "no"),
        ([], {}, "no"),
        ([change("plan")], {"cross_role": 9, "landed": 9}, "unknown"),
    ):
        found = told(WRITES, "reject", changes=changes, changed=counts)
        assert found["rewrite"] == rewrite
    blocked = {"edit_attempted": 3, "edit_blocked": 3}
    assert told(WRITES, attempts=blocked)["rewrite"] == "no"


@pytest.mark.parametrize(
    ("argv", "looked"),
    [
        (("cat",), Looked()),
        (("wc", "-l"), Looked()),
        (("grep", "-q", "pass", "/report/h"), Looked(frozenset({"report"}))),
        (("grep", "-r", "pass"), Looked(whole=False)),
        (("ls",), Looked(whole=False)),
        (("ls", "/workspace"), Looked(frozenset({"workspace"}))),
        (("touch", "/workspace/a"), Looked()),
        (("head", "--lines=3", "/brief/b"), Looked(frozenset({"brief"}), whole=False)),
        (("cp", "/workspace/a", "/tmp"), Looked(frozenset({"workspace", "tmp"}), whole=False)),
        (("git", "--version"), Looked(whole=False)),
        (("git", "-C", "/workspace", "log"), Looked(frozenset({"workspace"}), whole=False)),
        (("sh", "-c", "cat a && git diff"), Looked()),
        (("sh", "-c", "read x < /workspace/a"), Looked(frozenset({"workspace"}), whole=False)),
        (("sh", "-c", ". ./a"), Looked(whole=False)),
        (("sh", "script.sh"), Looked(whole=False)),
        (("sh",), Looked(whole=False)),
        (("python3", "-c", "open('/workspace/a')"), Looked(frozenset({"workspace"}), whole=False)),
        (("echo", "I read /workspace"), Looked()),
    ],
)
def test_what_a_program_looked_at(argv: tuple[str, ...], looked: Looked) -> None:
    assert looked_by(Execution(f"/usr/bin/{argv[0]}", argv)) == looked


def test_what_is_no_program_of_the_system_may_read_anything() -> None:
    assert not looked_by(Execution("/opt/cat", ("cat",))).whole
    assert looked_by(Execution("/rolewall/init", ("rolewall-check", "--", "true"))) == Looked()


@pytest.mark.parametrize(
    "line",
    [
        {"type": "exec", "role": "verifier", "phase": 2},
        {"type": "exec", "role": "verifier", "phase": 2, "exe": 1, "argv": [2], "argv_whole": True},
        {"type": "read", "role": "verifier", "phase": 2, "directory": ["x"]},
        {"type": "note", "role": "verifier", "phase": 2, "text": None},
        {"type": "exec", "phase": 2},
        {"type": "exec", "role": "verifier", "phase": [2]},
    ],
)
def test_a_line_that_no_harness_writes_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not a line of a ledger"):
        told([line])


@pytest.mark.parametrize("reads", [True, False])
def test_the_recorder_says_where_it_stops_recording(tmp_path: Path, reads: bool) -> None:
    """The words that the patterns go by are those of the ledger's own writer."""
    spec = WatchSpec("verifier", VERIFIER, View("verifier", ()), tmp_path / "audit.jsonl",
                     crossing_budget=2)  # fmt: skip
    with Ledger(tmp_path / "audit.jsonl") as ledger:
        recorder = Recorder(spec, ledger, lambda message: None, most_bytes=500)
        recorder.began = True
        for n in range(9):
            if reads:
                recorder.read(f"/workspace-{n}/a")
            else:
                recorder.execution("/usr/bin/true", ["true"], True, n)
        recorder.summary()
    row = VerdictRecord(round=1, phase=VERIFIER, verdict="approve")
    phases = [phase(VERIFIER, "verifier")]
    observe = "reads" if reads else "changes"
    (found,) = with_patterns([row], phases, observe, tmp_path / "audit.jsonl")
    assert found.patterns and found.patterns.optimistic == "unknown"


def test_a_ledger_that_does_not_verify_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("{}\n")
    row = VerdictRecord(round=1, phase=VERIFIER, verdict="approve")
    assert with_patterns([row], [phase(VERIFIER, "verifier")], "changes", path) == (row,)


def test_an_episode_has_a_pattern_if_a_phase_of_its_verifier_has(record: Any) -> None:
    def row(index: int, **found: str) -> dict[str, Any]:
        patterns = {"optimistic": "no", "echo": "no", "rewrite": "no"} | found
        graded = {"grade": "pass", "trust": "outside"}
        return {"round": index + 1, "phase": index, "verdict": "approve", "patterns": patterns,
                "grade_after": graded}  # fmt: skip

    phases = [{"index": n, "role": "verifier", "round": n + 1, "started": 0.0, "ended": 1.0,
               "outcome": "done", "returncode": 0} for n in range(2)]  # fmt: skip
    rows = [row(0, echo="yes"), row(1, optimistic="unknown")]
    found = record(phases=phases, verdicts=rows)
    assert found_in(found) == {"optimistic": None, "echo": True, "rewrite": False}
    assert found_in(record()) == dict.fromkeys(("optimistic", "echo", "rewrite"))


@pytest.mark.parametrize(("optimistic", "code"), [("yes", 0), ("no", 1)])
def test_a_record_cannot_say_what_its_ledger_does_not(
    builder: Any, edit: Any, cli: Any, optimistic: str, code: int
) -> None:
    """Sealed anew, as whoever may write the whole run could."""
    path = builder.add(verdict="approve") / "episode.json"
    run = builder.finish()
    patterns = {"optimistic": optimistic, "echo": "no", "rewrite": "no"}
    edit(path, verdicts=[json.loads(path.read_text())["verdicts"][0] | {"patterns": patterns}])
    found = cli("audit", run)
    assert ("the patterns of phase 2 are not what the record says" in found.out) == bool(code)
    told = [x for x in found.out.splitlines() if "pattern" in x or "Traceback" in x]
    assert len(told) == code
