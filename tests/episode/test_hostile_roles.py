"""Roles that want an error, a false verdict, or more time than they have."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import BoxError
from rolewall.sandbox import Backend, load_manifest

if TYPE_CHECKING:
    from conftest import Cli, Play, Studio, User

FIX = "sed -i 's/return x/return x + 1/' app.py"


def only_episode(run: Path) -> tuple[Path, dict[str, Any]]:
    (directory,) = (run / "episodes").iterdir()
    return directory, json.loads((directory / "episode.json").read_text())


@pytest.mark.parametrize("mode", ["555", "000"])
@pytest.mark.parametrize("zone", ["workspace", "report"])
def test_closing_a_zone_makes_no_error(play: Play, studio: Studio, mode: str, zone: str) -> None:
    executor = {"steps": [{"run": f"chmod {mode} /{zone}"}]}
    verifier = {"steps": [{"id": "c", "check": "touch /workspace/new"}], "verdict": "approve"}
    episode = play(studio.team(executor=executor, verifier=verifier, rounds=2), studio.task())
    assert (episode.record["status"], episode.record["grade"]) == ("complete", "fail")
    check = json.loads((episode.directory / "transcripts" / "01-verifier.jsonl").read_text())
    assert check["returncode"] == 0


@pytest.mark.root
def test_closing_the_zone_of_a_handoff_makes_no_error_for_an_ordinary_user(
    ordinary: User, studio: Studio, backend: Backend
) -> None:
    """Who is not root can write none of it either, until the harness opens it again."""
    studio = dataclasses.replace(studio, path=ordinary.directory("studio"))
    team = studio.team(
        planner={"steps": [{"run": "chmod 500 /plan"}]},
        executor={"steps": [{"run": f"{FIX}; chmod 000 /report"}]},
        verifier={"steps": [{"run": "chmod 000 /feedback"}], "verdict": "approve"},
    )
    task, out = studio.task(), ordinary.home / "out"
    ordinary.give(studio.path)
    done = ordinary.cli("run", team, "--tasks", task, "--backend", backend.name, "-o", out)
    assert done.code == 0, done.err
    directory, record = only_episode(out)
    assert (record["status"], record["grade"]) == ("complete", "pass")
    for name, mode in (("00-planner-plan", 0o500), ("01-executor-report", 0),
                       ("02-verifier-feedback", 0)):  # fmt: skip
        kept = load_manifest(directory / "manifests" / f"{name}.jsonl")
        assert kept.entries[0].mode == mode, "what the role set is what is recorded"


SNEAK = (
    "import mmap, os, sys\n"
    "data = mmap.mmap(os.open('/workspace/app.py', os.O_RDWR), 0)\n"
    "at = data.find(b'#')\n"
    "data[at : at + 6] = b'#x + 1'\n"
)


@pytest.mark.parametrize("condition", ["enforced", "prompt-only"])
def test_what_a_mapping_wrote_is_seen_though_no_time_of_the_file_says_so(
    cli: Cli, studio: Studio, backend: Backend, condition: str
) -> None:
    """In memory a page that was read before is written without a word to the file system."""
    sneak = f"cat > /tmp/s.py <<'END'\n{SNEAK}END\npython3 /tmp/s.py"
    wait = "printf 'y = 1\\n#aaaaaaaa\\n' > app.py; sleep 0.3"
    again = f"if [ $ROLEWALL_ROUND = 1 ]; then {wait}; else\n{sneak}\nfi"
    mine = condition == "enforced"
    steps = [{"run": "true" if mine else sneak}, {"id": "c", "check": "grep 'x + 1' app.py"}]
    verifier = {"steps": steps, "verdict": {"when": "c", "then": "approve", "else": "reject"}}
    executor = {"steps": [{"run": again if mine else wait}]}
    team = studio.team(executor=executor, verifier=verifier, rounds=2 if mine else 1)
    with tempfile.TemporaryDirectory(prefix="rolewall-test-", dir="/dev/shm") as memory:
        out = Path(memory) / "out"
        done = cli("run", team, "--tasks", studio.task(), "--condition", condition,
                   "--backend", backend.name, "-o", out)  # fmt: skip
        assert done.code == 0, done.err
        _, record = only_episode(out)
    phase = record["phases"][2 if mine else 1]
    changed = [(c["zone"], c["path"]) for c in phase["changes"]]
    assert ("workspace", "app.py") in changed
    assert (record["verdict"], record["grade"]) == ("approve", "pass")


def test_a_verifier_that_moves_what_is_copied_for_it_is_refused_and_makes_no_error(
    play: Play, studio: Studio
) -> None:
    race = (
        "import os, time\n"
        "os.chdir('/workspace')\n"
        "deep = 'm' + '/d' * 70\n"
        "os.makedirs('p/' + deep); os.mkdir('q')\n"
        "for n in range(200): os.mknod(f'p/{deep}/{n}')\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "for fd in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), fd)\n"
        "while True:\n"
        "    for one, two in (('p/m', 'q/m'), ('q/m', 'p/m')):\n"
        "        os.rename(one, two); time.sleep(0.05)\n"
    )
    run = f"cat > /tmp/race.py <<'END'\n{race}END\npython3 /tmp/race.py"
    verifier = {"steps": [{"run": run}, *[{"check": "true"}] * 4], "verdict": "reject"}
    episode = play(studio.team(verifier=verifier), studio.task(), "prompt-only")
    said = (episode.directory / "transcripts" / "01-verifier.jsonl").read_text()
    codes = [json.loads(line)["returncode"] for line in said.splitlines()[1:5]]
    assert episode.record["status"] == "complete", said
    assert said.count("the work changed while it was copied") == sum(code == 125 for code in codes)


def test_a_verifier_that_holds_the_check_socket_ends_with_its_phase(
    play: Play, studio: Studio
) -> None:
    hold = (
        "import socket, time, os\n"
        "if os.fork() == 0:\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect('\\0rolewall-check')\n"
        "    while True: s.send(b'\\0'); time.sleep(0.5)\n"
    )
    verifier = {"steps": [{"run": f'python3 -c "{hold}" >/dev/null 2>&1'}], "verdict": "reject"}
    episode = play(studio.team(verifier=verifier), studio.task())
    phase = episode.phase("verifier")
    assert phase["outcome"] == "done"
    assert phase["ended"] - phase["started"] < 20, "the phase limit is 60 s"


@pytest.mark.pain(25)
def test_work_too_large_to_keep_is_said_to_the_verifier_and_fails(
    play: Play, studio: Studio
) -> None:
    big = "dd if=/dev/urandom of=big.bin bs=1M count=300 2>/dev/null"
    executor = {"steps": [{"run": f"{FIX} && {big}"}]}
    verifier = {"steps": [{"id": "c", "check": "ls"}], "verdict": "approve"}
    episode = play(studio.team(executor=executor, verifier=verifier), studio.task())
    check = json.loads((episode.directory / "transcripts" / "01-verifier.jsonl").read_text())
    assert "not in the copy: big.bin" in check["stderr"]["text"]
    grade = episode.record["verdicts"][0]["grade_after"]
    assert grade["grade"] == "fail" and "big.bin" in grade["why"]


def test_the_executors_own_repository_is_graded(play: Play, studio: Studio) -> None:
    check = (
        "import subprocess, sys\n"
        "log = subprocess.run(['git', '-C', '/workspace', 'log', '--format=%s'],"
        " capture_output=True, text=True).stdout\n"
        "sys.exit('release 1.0' not in log)\n"
    )
    commit = "git -c user.name=e -c user.email=e commit -q --allow-empty -m 'release 1.0'"
    verifier = {"steps": [{"run": "git log --format=%s"}], "verdict": "approve"}
    task = studio.task(check=check)
    good = play(studio.team(executor={"steps": [{"run": commit}]}, verifier=verifier), task)
    assert good.record["grade"] == "pass"
    seen = json.loads((good.directory / "transcripts" / "01-verifier.jsonl").read_text())
    assert seen["stdout"]["text"] == "executor\nstart\n"
    bad = play(studio.team(verifier=verifier), task)
    assert bad.record["grade"] == "fail"


def test_a_planted_cache_repairs_nothing(play: Play, studio: Studio) -> None:
    """Byte code that differs from the source everybody reads must not be what is graded."""
    plant = (
        "import importlib.util, marshal, os\n"
        "code = compile('def add(x):\\n    return x + 1\\n', 'app.py', 'exec')\n"
        "path = importlib.util.cache_from_source('/workspace/app.py')\n"
        "path = '/workspace/__pycache__/' + os.path.basename(path)\n"
        "os.makedirs('/workspace/__pycache__', exist_ok=True)\n"
        "flags = (1).to_bytes(4, 'little') + bytes(8)\n"
        "data = importlib.util.MAGIC_NUMBER + flags + marshal.dumps(code)\n"
        "open(path, 'wb').write(data)\n"
    )
    check = (
        "import subprocess, sys\n"
        "code = 'import sys; sys.path.insert(0, \"/workspace\"); import app; print(app.add(1))'\n"
        "out = subprocess.run(['python3', '-c', code], capture_output=True, text=True).stdout\n"
        "sys.exit(out.strip() != '2')\n"
    )
    run = f"cat > /tmp/plant.py <<'END'\n{plant}END\npython3 /tmp/plant.py && ls __pycache__"
    team = studio.team(verifier={"steps": [{"run": run}], "verdict": "approve"})
    task = studio.task(check=check)
    episode = play(team, task, "prompt-only")
    row = episode.record["verdicts"][0]
    assert (row["grade_before"]["grade"], row["grade_after"]["grade"]) == ("fail", "fail")
    fixed = play(studio.team(executor={"steps": [{"run": FIX}]}), task)
    assert fixed.record["verdicts"][0]["grade_after"]["grade"] == "pass"


def test_a_planner_that_says_nothing_new_keeps_its_plan(play: Play, studio: Studio) -> None:
    plan = (
        'if [ $ROLEWALL_ROUND = 1 ]; then echo \'{"schema_version": 1, "text": "step one"}\''
        " > /plan/handoff.json; fi"
    )
    team = studio.team(
        planner={"steps": [{"run": plan}]},
        executor={"steps": [{"run": "cat /plan/handoff.json"}]},
        verifier={"verdict": "reject"},
        rounds=2,
        replan=True,
    )
    episode = play(team, studio.task())
    roles = [phase["role"] for phase in episode.record["phases"]]
    assert roles == ["planner", "executor", "verifier"] * 2
    second = json.loads((episode.directory / "handoffs" / "03-planner.json").read_text())
    assert second["text"] == "step one" and "earlier round" in second["problems"][0]


def test_a_blocked_executor_goes_to_the_planner(play: Play, studio: Studio) -> None:
    blocked = {"handoff": {"status": "blocked", "text": "what is x?"}}
    team = studio.team(
        planner={}, executor=blocked, verifier={"verdict": "reject"}, rounds=2, replan=True
    )
    episode = play(team, studio.task())
    roles = [phase["role"] for phase in episode.record["phases"]]
    assert roles == ["planner", "executor", "planner", "executor", "verifier"]
    assert episode.record["phases"][1]["outcome"] == "blocked"


def test_a_check_box_that_cannot_be_made_is_no_reject(
    studio: Studio, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolewall.episode import boxes
    from rolewall.plan import make_plan
    from rolewall.roles import load_team
    from rolewall.run import run_plan
    from rolewall.tasks import load_tasks

    def broken(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(boxes, "check_spec", broken)
    verifier = {
        "steps": [{"id": "c", "check": "true"}],
        "verdict": {"when": "c", "then": "approve", "else": "reject"},
    }
    team = load_team(studio.team(verifier=verifier))
    plan = make_plan(team, load_tasks([studio.task()]), ["enforced"], backend)
    run = run_plan(plan, studio.path / "out")
    (record,) = run.records
    assert record.status == "error" and record.error is not None
    assert record.error.kind == BoxError.__name__ and "Too many open files" in record.error.message


@pytest.mark.parametrize("command", ["no-such-agent", "/rolewall/prompt.md"])
def test_an_agent_that_is_not_there_is_the_teams_fault(
    cli: Cli, studio: Studio, backend: Backend, command: str
) -> None:
    team = studio.team(executor={"command": [command]}, verifier={"verdict": "reject"})
    done = cli("run", team, "--tasks", studio.task(), "--backend", backend.name,
               "-o", studio.path / "out")  # fmt: skip
    assert done.code == 2
    assert command in done.err and "roles.executor.agent.command" in done.err


def test_an_agent_that_fails_is_an_outcome(play: Play, studio: Studio) -> None:
    team = studio.team(executor={"command": ["false"]}, verifier={"verdict": "reject"})
    episode = play(team, studio.task())
    assert episode.phase("executor")["outcome"] == "failed"


def test_a_flood_of_files_leaves_a_record_that_can_be_read(
    play: Play, cli: Cli, studio: Studio
) -> None:
    flood = (
        "python3 -c \"import os\nfor n in range(6000): open('\\xe9' * 60 + str(n), 'w').close()\""
    )
    team = studio.team(executor={"steps": [{"run": flood}]}, verifier={"verdict": "reject"})
    episode = play(team, studio.task())
    phase = episode.phase("executor")
    assert (len(phase["changes"]), phase["changes_omitted"]) == (
        2000,
        phase["changed"]["own"] - 2000,
    )
    assert phase["changed"]["own"] >= 6000 and phase["changed"]["cross_role"] == 0
    run = episode.directory.parent.parent
    assert cli("audit", run).code == 0
    assert cli("show", run, "add-one").code == 0


@pytest.mark.root
def test_a_role_that_uses_up_its_memory_has_failed_and_made_no_error(
    play: Play, studio: Studio
) -> None:
    """Files in memory are nobody's to kill: the kernel ends the box with its init."""
    fill = "for d in /tmp /home /dev/shm; do head -c 200M /dev/zero > $d/x & done; wait; sleep 1"
    team = studio.team(
        executor={"steps": [{"run": fill}]}, verifier={"verdict": "reject"}, memory_mb=64
    )
    episode = play(team, studio.task())
    assert (episode.record["status"], episode.record["grade"]) == ("complete", "fail")


def test_a_check_with_too_many_arguments_is_refused_and_no_error(
    play: Play, studio: Studio
) -> None:
    many = (
        "import socket, struct\n"
        "body = b'/workspace\\0' + b'70000\\0' + b'x\\0' * 70000\n"
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0rolewall-check')\n"
        "s.sendall(struct.pack('<I', len(body)) + body); print(s.recv(200))\n"
    )
    run = f"cat > /tmp/m.py <<'END'\n{many}END\npython3 /tmp/m.py"
    episode = play(
        studio.team(verifier={"steps": [{"run": run}], "verdict": "reject"}), studio.task()
    )
    said = (episode.directory / "transcripts" / "01-verifier.jsonl").read_text()
    assert "too many arguments" in said and episode.record["status"] == "complete"
