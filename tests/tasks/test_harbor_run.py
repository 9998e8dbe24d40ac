"""Harbor's tasks through the door that a user has, in an image that is made here."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall import review_change
from rolewall.sandbox.docker.engine import Engine, find_engine

from .local_images import root_archive

if TYPE_CHECKING:
    from conftest import Cli, Studio, User

pytestmark = pytest.mark.docker

DATA = Path(__file__).with_name("data")
WORDS, FETCH = DATA / "harbor-words", DATA / "harbor-fetch"
NAMED = "rolewall-test-words:1"  # in both tasks
IMAGE = f"rolewall-test-words-{os.getpid()}"  # tests run side by side on one engine
TEXT = "one wall for every role, and none of them paper\n"
COUNT = "set -- $(cat /app/in/text.txt) && echo $# > count.txt"
# What a role can leave that looks like a reward, wherever it can write at all.
PLANT = (
    "for at in /logs/verifier /workspace/verifier /workspace/logs/verifier /app/logs /tmp/verifier;"
    " do mkdir -p $at; echo 1 > $at/reward.txt; echo '{\"reward\": 1}' > $at/reward.json; done"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    found = find_engine()
    yield found
    found.close()


def add_image(engine: Engine, name: str, archive: bytes, *changes: str) -> None:
    repository, _, tag = name.partition(":")
    engine.call(
        "import a test image",
        lambda c: c.import_image(
            io.BytesIO(archive), repository=repository, tag=tag or "latest", changes=list(changes)
        ),
    )


def drop_image(engine: Engine, name: str) -> None:
    engine.lookup("remove a test image", lambda c: c.remove_image(name, force=True))


@pytest.fixture(scope="module", autouse=True)
def image(engine: Engine) -> Iterator[str]:
    """The image that both tasks ask for: its work looks for programs in the work itself."""
    files = {
        "app/in/text.txt": TEXT,
        "app/bin/helper": "#!/bin/sh\necho helper\n",
        "usr/bin/runs-on-sh": "#!/usr/bin/env -S sh -e\n",
        "usr/bin/runs-on-node": "#!/usr/bin/env node\n",
        "opt/kept.txt": "not of the work\n",
    }
    archive = root_archive(files, links={"app/in/link.txt": "text.txt", "data": "app"})
    changes = ("WORKDIR /app", "ENV PATH=/app/bin:/usr/bin MARK=image HOME=/root")
    add_image(engine, f"{IMAGE}:1", archive, *changes)
    yield f"{IMAGE}:1"
    drop_image(engine, f"{IMAGE}:1")


@pytest.fixture(scope="module")
def images_that_load(engine: Engine) -> Iterator[dict[str, str]]:
    """Images whose programs load what lies at ``/workspace``, or may, and one whose do not."""
    text, pth = {"app/in/text.txt": TEXT}, "usr/lib/python3/dist-packages/work.pth"
    made: dict[str, tuple[dict[str, str], str]] = {
        "clean": ({**text, "usr/lib/readme": "in ./workspace and /workspaces\n"}, "/app"),
        "pth": ({**text, pth: "/workspace/src\n"}, "/app"),
        "own": ({**text, "workspace/in/text.txt": TEXT}, "/workspace"),
    }
    for kind, (files, workdir) in made.items():
        archive = root_archive(files)
        add_image(engine, f"{IMAGE}-{kind}:1", archive, f"WORKDIR {workdir}", "ENV PATH=/usr/bin")
    yield {kind: f"{IMAGE}-{kind}:1" for kind in made}
    for kind in made:
        drop_image(engine, f"{IMAGE}-{kind}:1")


def lay(task: Path, where: Path, *, image: str = f"{IMAGE}:1", workdir: str = "") -> Path:
    """A copy of a task that asks for this process's image, or for another."""
    shutil.copytree(task, where)
    text = (where / "task.toml").read_text().replace(NAMED, image)
    if workdir:
        text = text.replace("[environment]\n", f'[environment]\nworkdir = "{workdir}"\n')
    (where / "task.toml").write_text(text)
    return where


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, image: str) -> Path:
    return lay(WORDS, tmp_path_factory.mktemp("tasks") / WORDS.name)


@pytest.fixture(scope="module")
def fetch(tmp_path_factory: pytest.TempPathFactory, image: str) -> Path:
    return lay(FETCH, tmp_path_factory.mktemp("tasks") / FETCH.name)


def write_team(root: Path, *steps: str) -> Path:
    """A team whose executor takes ``steps`` and whose verifier looks and tries to write."""
    root.mkdir()
    looks = ["pwd; echo $PATH; echo mark=$MARK", "cat /workspace/count.txt; ls /app",
             "echo mine > /workspace/count.txt", "echo mine > /opt/kept.txt"]  # fmt: skip
    executor = {"steps": [{"run": step} for step in steps], "handoff": {"text": "counted"}}
    checks = [{"id": "helper", "check": "pwd; cd in && helper && echo mark=$MARK && rm text.txt"}]
    verifier = {
        "steps": [*({"run": look} for look in looks), *checks],
        "verdict": {"when": "helper", "then": "approve", "else": "reject"},
    }
    for name, body in (("executor", executor), ("verifier", verifier)):
        (root / f"{name}.yaml").write_text(json.dumps(body))
    roles = {name: {"agent": {"script": f"{name}.yaml"}} for name in ("executor", "verifier")}
    limits = {"phase_seconds": 60, "memory_mb": 256, "pids": 64}
    (root / "team.yaml").write_text(json.dumps({"team": "words", "limits": limits, "roles": roles}))
    return root / "team.yaml"


class Played:
    """A finished run of both tasks, or of those that are named."""

    def __init__(self, root: Path, *steps: str, tasks: tuple[Path, ...]) -> None:
        self.out = root / "run"
        named = [word for task in tasks for word in ("--tasks", str(task))]
        argv = ["run", str(write_team(root / "team", *steps)), *named, "--backend", "docker",
                "--allow-task-image", "-o", str(self.out)]  # fmt: skip
        self.done = subprocess.run(
            [sys.executable, "-m", "rolewall", *argv],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def record(self, task: str) -> dict[str, Any]:
        found = [json.loads(path.read_text()) for path in self.out.glob("episodes/*/episode.json")]
        return next(record for record in found if record["task"] == task)

    def grade(self, task: str) -> dict[str, Any]:
        grade = self.record(task)["verdicts"][0]["grade_after"]
        assert isinstance(grade, dict)
        return grade

    def said(self, role: str, task: str = "harbor-words") -> list[dict[str, Any]]:
        found = self.out / "episodes" / self.record(task)["key"] / "transcripts"
        (path,) = found.glob(f"*-{role}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def attempts(self, task: str = "harbor-words") -> list[dict[str, Any]]:
        path = self.out / "episodes" / self.record(task)["key"] / "audit.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [line for line in lines if line["type"] == "attempt"]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory, words: Path, fetch: Path) -> Played:
    return Played(tmp_path_factory.mktemp("solved"), COUNT, tasks=(words, fetch))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, words: Path) -> Played:
    root = tmp_path_factory.mktemp("planted")
    return Played(root, PLANT, "echo 12 > count.txt", tasks=(words,))


def test_work_that_is_right_has_the_whole_reward(solved: Played) -> None:
    grade = solved.grade("harbor-words")
    assert (grade["grade"], grade["score"], grade["trust"]) == ("pass", 1.0, "untrusted")
    assert grade["details"]["rewards"] == {"reward": 1.0}
    # Nothing is in /logs/verifier, tests start in the work, and know of the image and the task.
    assert grade["details"]["output"]["stdout"] == "/app\nwords of a sentence\n"


def test_a_planted_reward_counts_for_nothing(planted: Played) -> None:
    grade = planted.grade("harbor-words")
    assert (grade["grade"], grade["score"], grade["why"]) == ("fail", 0.5, "reward 0.5")
    assert grade["details"]["output"]["stdout"].startswith("/app\n")
    assert planted.done.returncode == 0


def test_the_verifier_has_the_work_at_the_zone_alone_and_read_only(solved: Played) -> None:
    _, read, work, image = solved.said("verifier")[:4]
    # At the image's path is what the image has there, from which it may load code unasked.
    assert read["stdout"]["text"] == "10\nbin\nin\n"
    for tried in (work, image):
        assert "Read-only file system" in tried["stderr"]["text"]
    (edit,) = [one for one in solved.attempts() if one["kind"] == "edit"]
    assert (edit["paths"], edit["zone"]) == (["/workspace/count.txt"], "workspace")
    assert (edit["role"], edit["outcome"], edit["owner"]) == ("verifier", "blocked", "executor")
    counts = solved.record("harbor-words")["phases"][0]["attempts"]
    assert counts["own"] >= 1 and counts["unattributed"] == counts["edit_attempted"] == 0


def test_the_image_tells_no_verifier_to_run_the_work(solved: Played) -> None:
    said = solved.said("verifier")
    assert said[0]["stdout"]["text"] == "/workspace\n/rolewall/bin:/usr/bin\nmark=\n"
    # The check box is there to run it, on a copy: the file that it removes stays.
    assert said[4]["stdout"]["text"] == "/workspace\nhelper\nmark=image\n"
    record = solved.record("harbor-words")
    assert record["verdict"] == "approve" and record["verdicts"][0]["isolated"]


def test_tests_without_their_tools_judge_nothing(solved: Played) -> None:
    record = solved.record("harbor-fetch")
    assert record["status"] == "error" and record["error"]["kind"] == "grader"
    lacking = "the tests ask for what the grade box lacks: apt-get, curl, uvx"
    assert record["error"]["message"].count(lacking) == 2  # of the work, and of the start state
    assert solved.done.returncode == 3


def test_what_a_task_does_not_get_is_said(solved: Played) -> None:
    for line in (
        "harbor-fetch: its tests call apt-get, curl, uvx: what those fetch must be in the image",
        "harbor-fetch: no network, in the grade box neither; the task would have one in Harbor",
        "harbor-fetch: names places outside /app, which no role can change for the tests:"
        " /etc/words.conf",
        "harbor-words: memory and cpus are the team's limits, not the task's",
        "harbor-words: solution/ is a program and is not used",
    ):
        assert line in solved.done.stderr
    assert "harbor-words: no network" not in solved.done.stderr


def test_nothing_of_the_look_into_the_image_is_left(solved: Played, engine: Engine) -> None:
    looks = {"label": "rolewall.label=look"}
    left = engine.call("list", lambda c: c.containers(all=True, filters=looks))
    assert [one for one in left if one["Image"].startswith(IMAGE)] == []


def test_programs_that_are_shown_are_found_in_a_tasks_image(tmp_path: Path, words: Path) -> None:
    install = tmp_path / "install" / "bin" / "my-agent"
    install.parent.mkdir(parents=True)
    install.write_text(f"#!/bin/sh\necho $PATH\n{COUNT}\n")
    install.chmod(0o755)
    team = write_team(tmp_path / "team", COUNT)
    body = json.loads(team.read_text())
    body["roles"]["executor"]["agent"] = {"command": ["my-agent"]}
    body["roles"]["verifier"]["agent"] = {"command": ["cat", "/workspace/count.txt"]}
    team.write_text(json.dumps(body))
    argv = [sys.executable, "-m", "rolewall", "run", str(team), "--tasks", str(words),
            "--backend", "docker", "--allow-task-image", "-o", str(tmp_path / "run")]  # fmt: skip
    lacking = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert lacking.returncode == 2 and "roles.executor.agent.command" in lacking.stderr
    show = [*argv, "--show", str(tmp_path / "install")]
    done = subprocess.run(show, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (printed,) = (tmp_path / "run").glob("episodes/*/transcripts/*-executor.stdout")
    assert "/install/bin:" in printed.read_text() or "/shown/1/bin:" in printed.read_text()
    assert printed.read_text().endswith(":/app/bin:/usr/bin\n")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("cd", "the agent's program is not there"),
        ("runs-on-node", "/usr/bin/runs-on-node is there, its interpreter node is not"),
    ],
)
def test_a_builtin_or_a_script_without_its_interpreter_is_no_program_of_an_image(
    tmp_path: Path, words: Path, program: str, why: str
) -> None:
    """The executor's is one: the image has it behind what is shown of the same name."""
    broken = tmp_path / "install" / "bin" / "runs-on-sh"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/opt/none\n")
    broken.chmod(0o755)
    team = write_team(tmp_path / "team", COUNT)
    body = json.loads(team.read_text())
    body["roles"]["executor"]["agent"] = {"command": ["runs-on-sh"]}
    body["roles"]["verifier"]["agent"] = {"command": [program]}
    team.write_text(json.dumps(body))
    argv = [sys.executable, "-m", "rolewall", "run", str(team), "--tasks", str(words),
            "--backend", "docker", "--allow-task-image", "-o", str(tmp_path / "run"),
            "--show", str(tmp_path / "install")]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stderr
    assert f"roles.verifier.agent.command: {why}; looked in /" in done.stderr


@pytest.mark.root
def test_a_user_who_is_not_root_has_the_same_places(ordinary: User) -> None:
    team = write_team(ordinary.home / "team", COUNT)
    task = lay(WORDS, ordinary.home / "harbor-words")
    ordinary.give(ordinary.home)
    run = ordinary.home / "run"
    done = ordinary.cli("run", team, "--tasks", task, "--backend", "docker",
                        "--allow-task-image", "-o", run)  # fmt: skip
    assert done.code == 0, done.err
    (path,) = run.glob("episodes/*/episode.json")
    record = json.loads(path.read_text())
    assert (record["verdict"], record["grade"]) == ("approve", "pass")
    lines = [json.loads(line) for line in (path.parent / "audit.jsonl").read_text().splitlines()]
    edits = [line for line in lines if line["type"] == "attempt" and line["kind"] == "edit"]
    assert [(one["paths"], one["outcome"]) for one in edits] == [
        (["/workspace/count.txt"], "blocked")
    ]


def test_an_image_is_granted_or_nothing_starts(studio: Studio, cli: Cli) -> None:
    done = cli("run", studio.team(), "--tasks", WORDS, "--backend", "docker")
    assert done.code == 2
    assert "task.toml: the task asks for an image of its own" in done.err
    assert "--allow-task-image grants it" in done.err


def test_an_image_that_is_not_there_is_named_with_the_way_to_it(
    studio: Studio, cli: Cli, tmp_path: Path
) -> None:
    other = lay(WORDS, tmp_path / "Harbor-Absent", image="no.such/image:1")
    text = (other / "task.toml").read_text()
    asked = ("run", studio.team(), "--backend", "docker", "--allow-task-image", "--tasks", other)
    done = cli(*asked)
    assert done.code == 2 and "got 'no.such/image:1'" in done.err
    assert "get it first: `docker pull no.such/image:1`" in done.err
    lines = [line for line in text.splitlines() if not line.startswith("docker_image")]
    (other / "task.toml").write_text("\n".join(lines))
    done = cli(*asked)
    assert done.code == 2 and "got 'hb__harbor-absent'" in done.err
    assert f"`docker build -t hb__harbor-absent {other}/environment`" in done.err


@pytest.mark.bubblewrap
def test_without_images_there_is_no_harbor(studio: Studio, cli: Cli) -> None:
    done = cli(
        "run", studio.team(), "--tasks", WORDS, "--allow-task-image", "--backend", "bubblewrap"
    )
    assert done.code == 2 and "the bubblewrap backend has no images" in done.err


@pytest.mark.parametrize(
    ("workdir", "said"),
    [
        ("/", "not a directory that work can be in"),
        ("/home/agent", "/home is the box's own"),
        ("/usr", "a part of the system"),
        ("/workspace/in", "below /workspace, where roles write"),
        ("/data/in", "not a directory of the image"),
        ("/app/in/text.txt", "not a directory of the image"),
        ("/nowhere", "the image has no such directory"),
    ],
)
def test_work_where_none_can_be_is_refused(
    studio: Studio, cli: Cli, tmp_path: Path, workdir: str, said: str
) -> None:
    other = lay(WORDS, tmp_path / "harbor-elsewhere", workdir=workdir)
    team = studio.team()
    done = cli("run", team, "--tasks", other, "--allow-task-image", "--backend", "docker")
    assert done.code == 2 and said in done.err, done.err


def test_an_image_that_may_load_the_work_has_no_isolated_verdict(
    studio: Studio, cli: Cli, tmp_path: Path, images_that_load: dict[str, str]
) -> None:
    """Beside the verdict too, and wherever it works. Its work is done as any other's."""
    asked = [(kind, "") for kind in images_that_load] + [("own", "/app")]
    tasks = [
        lay(WORDS, tmp_path / f"{kind}{at.replace('/', '-')}", image=images_that_load[kind],
            workdir=at)
        for kind, at in asked
    ]  # fmt: skip
    team = studio.team(
        executor={"steps": [{"run": "set -- $(cat in/text.txt) && echo $# > count.txt"}]},
        verifier={"verdict": "approve"},
    )
    named = [word for task in tasks for word in ("--tasks", task)]
    done = cli("run", team, *named, "--allow-task-image", "--backend", "docker",
               "-o", tmp_path / "run")  # fmt: skip
    assert done.code == 0, done.err
    records = [json.loads(p.read_text()) for p in tmp_path.glob("run/episodes/*/episode.json")]
    assert {one["verdict"] for one in records} == {"approve"}
    beside = {one["task"]: one["verdicts"][0]["beside"] for one in records}
    assert {one["task"] for one in records if one["isolated"]} == {"clean"}
    assert beside.pop("clean") == ""
    told = {
        "pth": "an image that names /workspace in /usr/lib/python3/dist-packages/work.pth",
        "own": "an image that works in /workspace",
        "own-app": "an image that has something of its own at /workspace",
    }
    assert set(beside) == set(told)
    for task, words in told.items():
        assert beside[task].startswith(words), beside


def test_a_reviewers_image_that_loads_the_work_gives_no_approval(
    tmp_path: Path, images_that_load: dict[str, str]
) -> None:
    for name, line in (("before", "a\n"), ("after", "b\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(line)
    for kind, approved in (("pth", False), ("clean", True)):
        root = tmp_path / kind
        team = write_team(root)
        body = json.loads(team.read_text()) | {"sandbox": {"image": images_that_load[kind]}}
        team.write_text(json.dumps(body))
        (root / "verifier.yaml").write_text('{"verdict": "approve"}')
        found = review_change(tmp_path / "before", tmp_path / "after", team, spec="Be good.\n",
                              backend="docker", allow=["team-image"])  # fmt: skip
        assert (bool(found), found.isolated) == (approved, approved), found
