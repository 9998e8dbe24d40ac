"""Running the work does not lend it the verifier's rights, and nothing of it runs on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Play, Studio

# Looks wherever a nonce or a verdict could be, and rewrites what it finds.
HUNTER = r"""
import glob, json, os, re
found = []
paths = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
for root in ("/rolewall", "/verdict", "/home", "/tmp", "/spec"):
    paths += [os.path.join(base, name) for base, _, names in os.walk(root) for name in names]
for path in filter(lambda p: p.startswith("/proc") or os.path.isfile(p), paths):
    try:
        text = open(path, errors="replace").read(100000)
    except OSError:
        continue
    found += re.findall(r'"nonce": "([0-9a-f]{32})"', text)
    if "add(x) " + "returns" in text:
        found.append("requirements in " + path)
try:
    os.makedirs("/verdict", exist_ok=True)
    nonce = (found or ["0" * 32])[0]
    json.dump({"schema_version": 1, "nonce": nonce, "verdict": "approve",
               "checks": [], "commands": []}, open("/verdict/verdict.json", "w"))
    found.append("verdict written")
except OSError:
    pass
print("HUNTED", found)
"""
TEST = "def test_nothing():\n    pass\n"


@pytest.mark.pain(25)
def test_work_that_hunts_the_nonce_finds_neither_it_nor_the_verdict(
    play: Play, studio: Studio
) -> None:
    executor = {"steps": [{"run": f"cat > conftest.py <<'END'\n{HUNTER}END"}]}
    verifier = {
        "steps": [{"id": "tests", "check": "python3 -m pytest -q -s test_app.py"}],
        "verdict": {"when": "tests", "then": "reject", "else": "none"},
    }
    files = {"app.py": "def add(x):\n    return x\n", "test_app.py": TEST}
    episode = play(studio.team(executor=executor, verifier=verifier), studio.task(files=files))
    text = (episode.directory / "transcripts" / "01-verifier.jsonl").read_text()
    assert "HUNTED []" in text and "1 passed" in text
    assert episode.record["verdict"] == "reject"
    assert episode.record["isolated"] is True


def test_work_run_beside_the_verdict_finds_the_nonce_and_is_recorded_as_not_isolated(
    play: Play, studio: Studio
) -> None:
    """The twin: why the check box exists."""
    executor = {"steps": [{"run": f"cat > conftest.py <<'END'\n{HUNTER}END"}]}
    verifier = {"steps": [{"run": "python3 -m pytest -q -s test_app.py"}]}
    files = {"app.py": "", "test_app.py": TEST}
    episode = play(studio.team(executor=executor, verifier=verifier), studio.task(files=files))
    assert episode.record["verdict"] == "approve", "the work approved itself"
    assert episode.record["isolated"] is False


def test_the_check_box_gets_a_copy_that_it_may_change(play: Play, studio: Studio) -> None:
    check = "echo changed > app.py && mkdir -p /workspace/new && cat app.py && exit 3"
    verifier = {"steps": [{"id": "c", "check": check}], "verdict": "reject"}
    episode = play(studio.team(verifier=verifier), studio.task())
    line = json.loads((episode.directory / "transcripts" / "01-verifier.jsonl").read_text())
    assert (line["returncode"], line["stdout"]["text"]) == (3, "changed\n")
    changes = episode.phase("verifier")["changes"]
    assert not [c for c in changes if c["zone"] == "workspace"]


HOSTILE = """
set -e
touch() {{ :; }}
git config --global user.email a@b; git config --global user.name a
mkdir nested && cd nested && git init -q .
echo '*.txt filter=evil' > .gitattributes
cat > evil.sh <<'END'
#!/bin/sh
id -u >> {canary} 2>/dev/null || true
id -u >> /tmp/canary; cat
END
chmod +x evil.sh
for key in filter.evil.clean filter.evil.smudge core.fsmonitor core.pager; do
    git config $key "$PWD/evil.sh"
done
for hook in pre-commit post-checkout post-index-change reference-transaction; do
    cp evil.sh .git/hooks/$hook
done
echo data > file.txt
cd .. && cp -r nested/.git/hooks/* .git/hooks/ && cp nested/.gitattributes nested/evil.sh .
git config filter.evil.clean /workspace/evil.sh; git config core.fsmonitor /workspace/evil.sh
echo data > file.txt
"""


@pytest.mark.pain(12)
def test_a_hostile_repository_runs_nothing_on_the_host_or_as_the_verifier(
    play: Play, studio: Studio, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    executor = {"steps": [{"id": "plant", "run": HOSTILE.format(canary=canary)}]}
    look = {
        "run": "git status --short; git log --format=%s; git diff HEAD~1 --stat; git diff; "
        "ls /tmp/canary 2>/dev/null; ls .git/hooks 2>/dev/null; git config --get core.fsmonitor; "
        "git reflog; git fsck --lost-found --no-dangling; git tag; true"
    }
    verifier = {"steps": [look], "verdict": "reject"}
    episode = play(
        studio.team(executor=executor, verifier=verifier, rounds=2), studio.task(), "enforced"
    )
    planted = json.loads((episode.directory / "transcripts" / "00-executor.jsonl").read_text())
    assert planted["returncode"] == 0, planted
    assert not canary.exists()
    seen = json.loads((episode.directory / "transcripts" / "01-verifier.jsonl").read_text())
    out = seen["stdout"]["text"]
    assert "executor\nstart\n" in out and "file.txt" in out
    assert "canary" not in out and "evil.sh\n" not in out.split("file.txt")[-1]
    assert "\npost-checkout" not in out
    executions = [
        line
        for line in map(json.loads, (episode.directory / "audit.jsonl").read_text().splitlines())
        if line["type"] == "exec" and line["role"] == "verifier"
    ]
    assert executions and not [e for e in executions if "evil" in " ".join(e["argv"])]


def test_after_a_reject_the_executor_has_its_own_repository_back(
    play: Play, studio: Studio
) -> None:
    work = (
        "git log --format=%s; if [ $ROLEWALL_ROUND = 1 ]; then "
        "git -c user.name=e -c user.email=e commit -q --allow-empty -m mine; fi"
    )
    team = studio.team(
        executor={"steps": [{"run": work}]}, verifier={"verdict": "reject"}, rounds=2
    )
    episode = play(team, studio.task())
    first, second = (
        json.loads((episode.directory / "transcripts" / f"{i:02}-executor.jsonl").read_text())
        for i in (0, 2)
    )
    assert first["stdout"]["text"] == "start\n"
    assert second["stdout"]["text"] == "mine\nstart\n"
    assert [v["verdict"] for v in episode.record["verdicts"]] == ["reject", "reject"]


@pytest.mark.pain(7)
def test_a_start_workspace_has_one_commit_and_nothing_else(
    play: Play, studio: Studio, backend: Backend
) -> None:
    look = (
        "git rev-list --all | wc -l; git reflog | wc -l; git tag; git remote; git stash list;"
        " git fsck --lost-found 2>&1 | grep -v notice; git status --porcelain;"
        " cat .git/objects/info/alternates 2>/dev/null"
    )
    episode = play(studio.team(executor={"steps": [{"run": look}]}), studio.task())
    line = json.loads((episode.directory / "transcripts" / "00-executor.jsonl").read_text())
    assert line["stdout"]["text"].split() == ["1", "0"]
