"""Floods that would hide an edit: in the ledger, in the counts, in the attribution."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Episode, Play, Studio

SECONDS = 280  # for a phase: other tests may have the machine


def patient(team: Path, task: Path) -> tuple[Path, Path]:
    stated = json.loads(team.read_text()) | {"observe": "reads"}
    stated["limits"]["phase_seconds"] = SECONDS
    team.write_text(json.dumps(stated))
    described = (task / "task.yaml").read_text()
    (task / "task.yaml").write_text(described.replace("seconds: 60", f"seconds: {SECONDS}"))
    return team, task


FLOOD = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
unshare = {"x86_64": 272, "aarch64": 97}[os.uname().machine]
os.mkdir("/tmp/own")
def refused(function, *args):
    try:
        function(*args)
    except OSError:
        return
    raise SystemExit(f"{function.__name__} {args} was not refused")
KINDS = {
    "peek": lambda: refused(os.open, "/grader/truth", os.O_RDONLY),
    "own": lambda: os.chmod("/tmp/own", 0o700),
    "outside": lambda: refused(os.mkdir, "/usr/there"),
    "privileged": lambda: call(unshare, 0x10000000),
    "read": lambda: os.close(os.open("/brief/brief.md", os.O_RDONLY)),
}
for kind, act in KINDS.items():
    for _ in range(NUMBER):
        act()
    os.chmod(f"/workspace/{kind}", 0o640)
"""
KINDS = ("peek", "own", "outside", "privileged", "read")
# Of each kind more than the ledger has lines for: the edit comes when they are spent. That
# is one program's doing, whatever made the box, so the other backend gets fewer.
NUMBER, FEWER = 20_500, 2_000


@pytest.mark.pain(22)
def test_an_edit_among_a_hundred_thousand_other_events_is_recorded(
    play: Play, cli: Cli, studio: Studio, backend: Backend
) -> None:
    number = NUMBER if backend.name == "bubblewrap" else FEWER
    flood = FLOOD.replace("NUMBER", str(number))
    steps = [{"run": f"cat > /tmp/flood.py <<'END'\n{flood}END\nexec python3 /tmp/flood.py"}]
    team = studio.team(verifier={"steps": steps, "verdict": "reject"})
    task = studio.task(files=dict.fromkeys((*KINDS, "app.py"), "x\n"))
    episode = play(*patient(team, task), "prompt-only")
    phase = episode.phase("verifier")
    transcript = (episode.directory / "transcripts" / "01-verifier.jsonl").read_text()
    assert phase["outcome"] == "done" and '"returncode": 0' in transcript, transcript
    edits = episode.attempts(role="verifier", kind="edit")
    assert [(e["outcome"], *e["paths"]) for e in edits] == [
        ("allowed", f"/workspace/{kind}") for kind in KINDS
    ]
    counts = phase["attempts"]
    assert (counts["edit_attempted"], counts["edit_allowed"]) == (len(KINDS), len(KINDS))
    for kind in KINDS:
        assert counts[kind] >= number
    changed = {c["path"]: c["attributed"] for c in phase["changes"] if c["cross_role"]}
    assert changed == dict.fromkeys(KINDS, True) and counts["unattributed"] == 0
    if number == NUMBER:
        _spent(episode)
    assert cli("audit", episode.directory.parent.parent).code == 0


def _spent(episode: Episode) -> None:
    """What the ledger says when it has no more lines for what is no edit."""
    lines = [json.loads(x) for x in (episode.directory / "audit.jsonl").read_text().splitlines()]
    notes = [line["text"] for line in lines if line["type"] == "note"]
    assert len(notes) == 2 and "spent on peeks" in notes[0] and "spent on the rest" in notes[1]
    assert sum(line.get("kind") == "peek" for line in lines) == 20_000
    assert sum(line["type"] in ("own", "read") for line in lines) < 2_000


# The budget is the tap's own, and the same on every backend; spending it takes a while.
BUBBLEWRAP = [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)]
SPEND = """
import os
for n in range(19_950):
    os.utime("/workspace/app.py", (n, n))
try:
    for n in range(100):
        os.mkdir(f"/workspace/new-{n}")
except PermissionError:
    os._exit(0)
"""


@pytest.mark.parametrize("backend", BUBBLEWRAP, indirect=True)
def test_what_the_ledger_has_no_line_for_does_not_land(play: Play, studio: Studio) -> None:
    """Edits that spend their own budget: the first one without a line is refused, and who ends
    at once after that has not ended well either."""
    steps = [{"run": f"exec python3 -c '{SPEND}'"}]
    team = studio.team(verifier={"steps": steps, "verdict": "approve"})
    episode = play(*patient(team, studio.task()), "prompt-only")
    phase = episode.phase("verifier")
    assert phase["outcome"] == "violation" and episode.record["verdict"] == "missing"
    made = {c["path"] for c in phase["changes"] if c["path"].startswith("new-")}
    logged = {a["paths"][0] for a in episode.attempts(effect="create", outcome="allowed")}
    assert made and {f"/workspace/{path}" for path in made} == logged
    counts = phase["attempts"]
    assert len(episode.attempts(kind="edit")) == 20_000 < counts["edit_attempted"]
    assert counts["edit_allowed"] == 20_000 and counts["unattributed"] == 0


@pytest.mark.parametrize("backend", BUBBLEWRAP, indirect=True)
@pytest.mark.parametrize(("number", "code"), [(19_999, 0), (20_050, 124)])
def test_a_command_that_ends_when_its_budget_is_spent_was_ended(
    cli: Cli, tmp_path: Path, backend: Backend, number: int, code: int
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "app.py").write_text("x\n")
    program = f"""
import errno, os
for n in range({number}):
    try:
        os.utime("/work/app.py", (n, n))
    except OSError as problem:
        if problem.errno != errno.EROFS:
            os._exit(0)
"""
    done = cli("exec", "--role", "verifier", "--backend", backend.name, "--zone",
               f"work={work}:read", "--", "python3", "-c", program)  # fmt: skip
    assert done.code == code, done.err
    assert ("more often than is recorded" in done.err) == (code == 124)
