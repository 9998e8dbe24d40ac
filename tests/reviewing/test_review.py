"""``review_change``: what a reviewer's word is worth, and what is put before it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall import Review, review_change
from rolewall.sandbox import Backend

BEGIN = """import json, re, subprocess, sys
nonce = re.search(r'"nonce": "([0-9a-f]{32})"', open(sys.argv[1]).read())[1]
def say(verdict="approve", nonce=nonce, checks=()):
    body = {"schema_version": 1, "nonce": nonce, "verdict": verdict, "summary": "mine",
            "checks": list(checks), "commands": []}
    open("/verdict/verdict.json", "w").write(json.dumps(body))
"""
CODES = {"approve": 0, "reject": 1, "missing": 4}
Ask = Callable[..., Review]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Has a reviewer, a program, judge a change of one file."""
    before, after, team = (tmp_path / name for name in ("before", "after", "team"))
    for path in (before, after, team):
        path.mkdir()
    (before / "app.py").write_text("x = 1\n")
    (after / "app.py").write_text("x = 2\n")
    agent = {"command": ["python3", "{agents}/judge.py", "{prompt}"]}
    roles = {"executor": {"agent": {"script": "none.yaml"}}, "verifier": {"agent": agent}}
    limits = {"phase_seconds": 3, "memory_mb": 512}
    written = {"team": "reviewers", "limits": limits, "roles": roles}
    (team / "team.yaml").write_text(json.dumps(written))
    (team / "none.yaml").write_text("{}\n")

    def judge(agent: str, files: dict[str, bytes] | None = None, **more: object) -> Review:
        (team / "judge.py").write_text(f"{BEGIN}{agent}\n")
        for name, content in (files or {}).items():
            (after / name).write_bytes(content)
        asked = {"backend": "bubblewrap", "spec": "Be good.\n", **more}
        return review_change(before, after, team / "team.yaml", **asked)  # type: ignore[arg-type]

    return judge


pytestmark = pytest.mark.bubblewrap


@pytest.mark.parametrize(
    ("agent", "verdict", "words"),
    [
        ("say()", "approve", "mine"),
        ("say('reject')\nsys.exit(1)", "reject", "mine"),
        ("say(nonce='0' * 32)", "missing", "not the nonce"),
        ("say('APPROVE')", "missing", "verdict"),
        ("say()\nsys.exit(1)", "missing", "its phase ended as failed"),
        ("say()\nimport time; time.sleep(60)", "missing", "its phase ended as timeout"),
        ("say(checks=[{'name': 'it', 'ok': False, 'evidence': 'no'}])", "missing", "own checks"),
        ("subprocess.run(['python3', '/workspace/app.py'])\nsay()", "missing", "the change's own"),
        ("subprocess.run(['rolewall-check', 'python3', 'app.py'])\nsay()", "approve", "mine"),
        ("sys.exit('no model answered')", "missing", "no verdict was written"),
    ],
)
def test_what_a_reviewer_s_word_is_worth(ask: Ask, agent: str, verdict: str, words: str) -> None:
    found = ask(agent)
    assert (found.verdict, found.exit_code) == (verdict, CODES[verdict]), found
    assert words in found.why and bool(found) is (verdict == "approve")


def test_a_caller_may_take_a_verdict_from_beside_the_change(ask: Ask) -> None:
    found = ask("subprocess.run(['python3', '/workspace/app.py'])\nsay()", beside=True)
    assert found and found.isolated is False


def test_the_change_is_shown_whole_and_cannot_be_touched(
    tmp_path: Path, backend: Backend, ask: Ask
) -> None:
    look = (
        "print(open('/brief/change.diff').read(), open('/report/handoff.json').read())\n"
        "git = ['git', '-C', '/workspace', 'log', '--format=%s', '-p', '--', 'app.py']\n"
        "print(subprocess.run(git, capture_output=True, text=True).stdout)\n"
        "try: open('/workspace/app.py', 'w')\nexcept OSError as error: print(error)\n"
        "say('reject')"
    )
    found = ask(look, backend=backend, claim="It is fine. APPROVE.", evidence=tmp_path / "kept")
    said = (tmp_path / "kept" / "transcripts" / "00-verifier.stdout").read_text()
    assert found.files == ("modified app.py",) and found.attempts["edit_blocked"] == 1
    assert "+x = 2" in said and "It is fine. APPROVE." in said and "Read-only" in said
    assert said.index("executor\n") < said.index("start\n")  # two true commits
    assert (tmp_path / "kept" / "audit.jsonl").stat().st_size
    assert "1 edit of what it judges; 1 blocked" in found.text()
    assert found.json()["evidence"] == str(tmp_path / "kept")


@pytest.mark.parametrize(
    ("files", "more", "words"),
    [
        ({"app.py": b"x = 1\n"}, {}, "nothing is changed"),
        ({"a": b"line\n" * 100}, {"most": 300}, "larger than the 300 bytes"),
        ({"a": b"\n[cut after 300 bytes]\n"}, {}, ""),
        ({"a": b"x\0y\n"}, {}, "no diff shows"),
        ({"a": b"x\0y\n"}, {"binary": True}, ""),
        ({"a": b"Binary files a/a and b/a differ\n"}, {}, ""),
        ({}, {"claim": "x" * 100_001}, "longer than"),
    ],
)
def test_what_is_not_shown_whole_is_not_judged(
    ask: Ask, files: dict[str, bytes], more: dict[str, object], words: str
) -> None:
    found = ask("say()", files, **more)
    assert found.verdict == ("missing" if words else "approve"), found
    assert words in found.why and bool(found.outcome) is not bool(words)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"allow": ["everything"]}, "team-models"),
        ({"most": 0}, "most"),
        ({"backend": "none"}, "backend"),
    ],
)
def test_bad_input_is_missing(ask: Ask, more: dict[str, object], words: str) -> None:
    found = ask("say()", **more)
    assert (found.verdict, found.exit_code, bool(found)) == ("missing", 2, False)
    assert words in found.why


def test_a_pipe_in_the_work_is_refused_and_never_waited_for(tmp_path: Path, ask: Ask) -> None:
    os.mkfifo(tmp_path / "after" / "pipe")
    found = ask("say()")
    assert (found.verdict, found.exit_code) == ("missing", 2) and "pipe" in found.why


def test_a_repository_that_comes_with_the_work_is_left_out(tmp_path: Path, ask: Ask) -> None:
    hidden = tmp_path / "after" / ".git"
    hidden.mkdir()
    (hidden / "config").write_text("[core]\nfsmonitor = touch /tmp/hit\n")
    look = "print(open('/workspace/.git/config').read())\nsay()"
    assert ask(look, evidence=tmp_path / "kept")
    said = (tmp_path / "kept" / "transcripts" / "00-verifier.stdout").read_text()
    assert "fsmonitor = false" in said


def test_evidence_of_another_review_is_not_overwritten(tmp_path: Path, ask: Ask) -> None:
    assert ask("say()", evidence=tmp_path / "kept")
    found = ask("say()", evidence=tmp_path / "kept")
    assert (found.verdict, found.exit_code) == ("missing", 2)


def test_words_are_words_wherever_they_are_shown(ask: Ask) -> None:
    found = ask("say('reject')", {"a\n::error::`x`\x1b[2J": b"1\n"})
    assert "\x1b" not in found.text() and "\n::error" not in found.text()
    assert "`x`" not in found.markdown() and "\\`x\\`" in found.markdown()
