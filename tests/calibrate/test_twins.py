"""From inside its box a verifier finds nothing that tells twins apart but what was changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.calibrate.conftest import Calibrate, Calibrated, Solved

pytestmark = pytest.mark.bubblewrap

# All that can be seen, but for the random words of an episode (its seed too: see
# test_lots.py) and the time of day.
LOOK = r"""
import hashlib, json, os, re, subprocess
def said(*words):
    done = subprocess.run(words, capture_output=True, text=True, cwd="/workspace")
    return done.stdout + done.stderr
facts = {}
for zone in ("spec", "brief", "workspace", "plan", "report", "feedback", "verdict", "history"):
    for folder, folders, files in os.walk(f"/{zone}"):
        for name in [".", *folders, *files]:
            path = os.path.join(folder, name)
            s = os.lstat(path)
            in_git = "/.git" in path
            mine = [s.st_uid == os.getuid(), s.st_gid == os.getgid()]  # leased anew each time
            entry = [oct(s.st_mode), *mine, s.st_nlink]
            if not in_git:
                entry += [s.st_mtime_ns]
                entry += [s.st_size, hashlib.sha256(open(path, "rb").read()).hexdigest()] \
                    if os.path.isfile(path) else []
            facts[re.sub("pack-[0-9a-f]+", "pack", path)] = entry
facts["order"] = [os.listdir(p) for p in ("/workspace", "/workspace/docs", "/report", "/plan")]
facts["log"] = said("git", "log", "--format=%an %ae %at %cn %ce %ct %s %d")
facts["status"] = said("git", "status", "--short", "--branch")
facts["refs"] = said("git", "for-each-ref", "--format=%(refname)")
kinds = said("git", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
facts["kinds"] = sorted(kinds.split())
facts["config"] = said("git", "config", "--list", "--local")
facts["env"] = {k: v for k, v in os.environ.items() if k != "ROLEWALL_SEED"}
facts["mounts"] = re.sub("rolewall-[0-9a-f-]+|[0-9a-f]{16,}", "KEY", "\n".join(
    " ".join(line.split()[3:6]) for line in open("/proc/self/mountinfo")))
prompt = "/rolewall/prompt.md"
if os.path.exists(prompt):
    facts["prompt"] = re.sub("[0-9a-f]{32}", "NONCE", open(prompt).read())
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def looker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team whose verifier looks at everything."""
    root = tmp_path_factory.mktemp("looker")
    (root / "verifier").mkdir()
    (root / "verifier" / "look.py").write_text(LOOK)
    steps = [{"run": "python3 /rolewall/agents/verifier/look.py"}]
    (root / "verifier.yaml").write_text(json.dumps({"steps": steps, "verdict": "reject"}))
    (root / "other.yaml").write_text("{}")
    roles = {name: {"agent": {"script": "other.yaml"}} for name in ("planner", "executor")}
    team = {
        "team": "looker",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "rounds": 2,
        "roles": {**roles, "verifier": {"agent": {"script": "verifier.yaml"}}},
    }
    (root / "team.yaml").write_text(json.dumps(team))
    return root / "team.yaml"


def seen(made: Calibrated, record: Any) -> dict[str, Any]:
    directory = made.run / "episodes" / record["key"] / "transcripts"
    for line in (directory / "00-verifier.jsonl").read_text().splitlines():
        text = json.loads(line).get("stdout", {}).get("text", "")
        if text.startswith("{"):
            found: dict[str, Any] = json.loads(text)
            return found
    raise AssertionError("the verifier saw nothing")


def test_only_the_fault_tells_twins_apart(
    calibrate: Calibrate, solved: Solved, looker: Path, tmp_path: Path
) -> None:
    task = solved()
    more = ("--mutants", "4", "--reports", "plain,silent")
    made = calibrate(looker, task, out=tmp_path / "run", more=more)
    assert made.code == 0, made.err
    records = {(r["condition"], r["trial"]): r for r in made.episodes()}
    pairs = [
        (record, records[record["condition"], record["candidate"]["twin"]])
        for record in records.values()
        if record["candidate"]["kind"] == "mutant"
    ]
    assert len(pairs) == 8
    for mutant, solution in pairs:
        one, other = seen(made, mutant), seen(made, solution)
        assert "/workspace/sign.py" in one and "/report/handoff.json" in one
        differs = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
        assert differs == {"/workspace/sign.py"}, differs
        # Of the file that is another, its contents alone.
        mode, owner, group, links, moment, *_ = one["/workspace/sign.py"]
        assert [mode, owner, group, links, moment] == other["/workspace/sign.py"][:5]
        assert moment != one["/workspace/docs/notes.md"][4], "as if an executor had written it"


def test_the_untouched_workspace_shows_itself(
    calibrate: Calibrate, solved: Solved, looker: Path, tmp_path: Path
) -> None:
    """Why it is reported apart: it has no change, and so all else but that is the same too."""
    task = solved()
    made = calibrate(
        looker, task, out=tmp_path / "run", more=("--mutants", "0", "--reports", "plain")
    )
    assert made.code == 0, made.err
    assert "has no mutant that its grader fails" in made.err
    bare, solution = sorted(made.episodes(), key=lambda r: r["candidate"]["kind"] != "untouched")
    one, other = seen(made, bare), seen(made, solution)
    differs = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    assert differs == {"/workspace/sign.py", "kinds"}
    assert made.report("plain")["untouched"]["events"] == 1
    assert made.report("plain")["measures"]["excluded"]["catch"]["total"] == 0
