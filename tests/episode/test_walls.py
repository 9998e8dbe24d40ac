"""A verifier that edits: blocked and recorded in enforced, landed and recorded in prompt-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Play, Studio

FILES = {
    "app.py": "def add(x):\n    return x\n",
    "config.ini": "level = 1\n",
    "notes.txt": "a\n",
    "old.txt": "old\n",
    ".gitignore": "ignored.log\n",
    "ignored.log": "quiet\n",
}

# Each edit: the command, the system calls that may show it, the path, what the manifest says.
EDITS = {
    "sed": ("sed -i 's/return x/return x + 1/' app.py", {"openat"}, "app.py", "content"),
    "python": (
        "python3 -c \"open('config.ini', 'w').write('level = 2')\"",
        {"openat"},
        "config.ini",
        "content",
    ),
    "git": ("git commit -q --allow-empty -m approved", {"openat", "mkdir"}, ".git/", "created"),
    "mv": ("mv old.txt new.txt", {"renameat2", "renameat", "rename"}, "new.txt", "created"),
    "chmod": ("chmod 0777 notes.txt", {"fchmodat", "chmod", "fchmodat2"}, "notes.txt", "mode"),
    "touch": ("touch -d 2001-01-01 .gitignore", {"openat", "utimensat"}, ".gitignore", "mtime"),
    "ignored": ("echo loud > ignored.log", {"openat"}, "ignored.log", "content"),
    "rm": ("rm -f config.ini", {"unlinkat", "unlink"}, "config.ini", "deleted"),
}
STEPS = [{"id": name, "run": command} for name, (command, _, _, _) in EDITS.items()]


def _touches(attempt: dict[str, Any], path: str) -> bool:
    """Whether the attempt is on ``path``; an editor's temporary file counts for its directory."""
    return any(p.startswith(f"/workspace/{path}") for p in attempt["paths"]) or (
        path == "app.py" and any(p.startswith("/workspace/sed") for p in attempt["paths"])
    )


@pytest.fixture
def verifier() -> dict[str, object]:
    return {"steps": STEPS, "verdict": "approve"}


@pytest.mark.pain(14)
@pytest.mark.pain(22)
def test_enforced_blocks_and_records_every_edit(
    play: Play, studio: Studio, verifier: dict[str, object]
) -> None:
    episode = play(studio.team(verifier=verifier), studio.task(files=FILES))
    assert not [c for c in episode.phase("verifier")["changes"] if c["cross_role"]]
    blocked = episode.attempts(role="verifier", kind="edit", outcome="blocked")
    for name, (_, calls, path, _) in EDITS.items():
        seen = [a for a in blocked if _touches(a, path) and a["syscall"] in calls]
        assert seen, f"{name} was not seen"
        assert seen[0]["pid"] > 1 and seen[0]["comm"] and seen[0]["exe"].startswith("/")
        assert seen[0]["owner"] == "executor" and seen[0]["zone"] == "workspace"
    assert not episode.attempts(role="verifier", kind="edit", outcome="allowed")
    assert episode.record["grade"] == "fail" and episode.record["verdict"] == "approve"


def test_prompt_only_lands_and_records_every_edit(
    play: Play, studio: Studio, verifier: dict[str, object]
) -> None:
    episode = play(studio.team(verifier=verifier), studio.task(files=FILES), "prompt-only")
    allowed = episode.attempts(role="verifier", kind="edit", outcome="allowed")
    changes = [c for c in episode.phase("verifier")["changes"] if c["zone"] == "workspace"]
    assert all(change["cross_role"] for change in changes)
    for name, (_, calls, path, what) in EDITS.items():
        assert any(_touches(a, path) and a["syscall"] in calls for a in allowed), name
        if name == "python":
            continue  # the same file is removed afterwards
        found = [c for c in changes if c["path"].startswith(path)]
        assert any(what in (*c["what"], c["change"]) for c in found), (name, found)
    assert episode.phase("verifier")["attempts"]["unattributed"] == 0
    assert episode.record["grade"] == "pass"
    assert episode.record["verdicts"][0]["grade_before"]["grade"] == "fail"


@pytest.mark.pain(9)
@pytest.mark.pain(14)
def test_each_role_sees_what_the_policy_gives_it(play: Play, studio: Studio) -> None:
    look = {
        "run": "for z in spec brief workspace plan report feedback verdict grader history; do "
        "[ -e /$z ] && echo zone:$z; done; ls /proc | grep -c '^[0-9]' ; "
        "cat /proc/net/dev | tail -n +3 | cut -d: -f1; env | cut -d= -f1 | sed 's/^/env:/'; true"
    }
    change = {"run": "echo plan > /workspace/planned; echo x > /spec/spec.md; true"}
    done = play(
        studio.team(
            planner={"steps": [look, change]},
            executor={"steps": [look]},
            verifier={"steps": [look], "verdict": "reject"},
        ),
        studio.task(),
    )
    told = {}
    for index, role in enumerate(("planner", "executor", "verifier")):
        path = done.directory / "transcripts" / f"{index:02}-{role}.jsonl"
        told[role] = path.read_text()
    zones = {
        "planner": {"spec", "brief", "workspace", "plan", "feedback"},
        "executor": {"brief", "workspace", "plan", "report", "feedback"},
        "verifier": {"spec", "brief", "workspace", "plan", "report", "feedback", "verdict"},
    }
    for role, text in told.items():
        seen = {z for z in (*zones["verifier"], "grader", "history") if f"zone:{z}\\n" in text}
        assert seen == zones[role]
        assert "lo\\n" in text and "eth" not in text
        assert "env:SSH" not in text and "env:VIRTUAL_ENV" not in text and "env:PWD" in text
    assert not done.phase("planner")["changes"][1:]
    assert done.attempts(role="planner", kind="edit", outcome="blocked")
