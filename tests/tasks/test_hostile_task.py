"""A task from a stranger reaches nothing but its own directory, and runs in boxes alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks.planted.payload.drive import CATALOGUE
from rolewall.errors import RolewallError, TaskError
from rolewall.sandbox import Backend, copy_tree, remove_tree
from rolewall.tasks import load_task, load_tasks, stage_grader

if TYPE_CHECKING:
    from conftest import Cli, Play, Studio

Spoil = Callable[[Path], object]
TASK = "id: add-one\ngrader: {command: {run: [python3, /grader/check.py], trust: outside}}\n"
TERABYTE = 1 << 40


def body(text: str) -> Spoil:
    return lambda task: (task / "task.yaml").write_text(text)


def instead(name: str, make: Callable[[Path], object]) -> Spoil:
    def spoil(task: Path) -> None:
        (task / name).unlink()
        make(task / name)

    return spoil


def sparse(name: str) -> Spoil:
    def spoil(task: Path) -> None:
        with open(task / name, "wb") as file:
            file.truncate(TERABYTE)

    return spoil


def chain(task: Path) -> None:
    shutil.rmtree(task / "workspace")
    (task / "workspace").symlink_to("second")
    (task / "second").symlink_to("/etc")


def listening(task: Path) -> None:
    here = os.open(task / "grader", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{here}/s")
    os.close(here)


@contextmanager
def below(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def deep(task: Path) -> None:
    with below(task / "grader"):
        for _ in range(1500):
            os.mkdir("dddd")
            os.chdir("dddd")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
RUN = "id: add-one\ngrader: "


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:
    """What is too deep for a path is too deep for pytest, which keeps the last directories."""
    yield
    for path in tmp_path.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)


REFUSED: dict[str, tuple[Spoil, str]] = {
    "task.yaml is a FIFO": (instead("task.yaml", os.mkfifo), "task.yaml: not a regular file"),
    "task.yaml is a directory": (instead("task.yaml", os.mkdir), "got 'directory'"),
    "spec is a FIFO": (instead("spec.md", os.mkfifo), "spec.md: a FIFO in a task"),
    "brief is the environment": (
        instead("brief.md", lambda path: path.symlink_to("/proc/self/environ")),
        "brief.md: a link in a task",
    ),
    "a socket among the tests": (listening, "grader/s: a socket in a task"),
    "a chain of links": (chain, "second: a link in a task"),
    "a name that writes on the terminal": (
        lambda task: (task / "\x1b[2Jx\n").symlink_to("/etc"),
        r"\x1b[2Jx\n: a link",
    ),
    "a tree deeper than a path": (deep, "too long"),
    "a terabyte of spec": (sparse("spec.md"), "spec.md: the file is too large"),
    "a terabyte of task.yaml": (sparse("task.yaml"), "task.yaml: the file is too large"),
    "a terabyte of work": (sparse("workspace/big"), "workspace/big: the file is too large"),
    "a bomb of aliases": (body(BOMB + TASK), "task.yaml:5: not acceptable YAML"),
    "a list in itself": (body(RUN + "&a {command: *a}\n"), "task.yaml:2: not acceptable YAML"),
    "a call in a tag": (
        body(TASK + "image: !!python/object/apply:os.system [id]\n"),
        "could not determine a constructor",
    ),
    "an absolute id": (body(TASK.replace("add-one", "/etc/passwd")), "task.yaml: id"),
    "an id with a NUL": (body(TASK.replace("add-one", r'"a\0b"')), "task.yaml: id"),
    "an id that looks like another": (body(TASK.replace("add-one", "аdd-one")), "task.yaml: id"),
    "an absolute script": (body(RUN + "{script: {run: /etc/passwd}}\n"), "grader.script.run"),
    "a tool that is a path": (
        body(RUN + '{command: {run: [a], tools: ["../x; id"]}}\n'),
        "grader.command.tools",
    ),
    "a number without end": (body(TASK + f"seconds: {'9' * 5000}\n"), "task.yaml"),
}  # fmt: skip


@pytest.mark.pain(15)
@pytest.mark.parametrize("case", REFUSED)
def test_what_leads_out_or_has_no_end_is_refused_by_name(studio: Studio, case: str) -> None:
    spoil, says = REFUSED[case]
    task = studio.task()
    load_task(task)
    spoil(task)
    with pytest.raises(TaskError) as refused:
        load_tasks([task])
    text = str(refused.value)
    assert refused.value.exit_code == 2 and says in text and str(task) in text
    assert "\n" not in text and "\x1b" not in text


@pytest.mark.parametrize(
    "case", ["spec is a FIFO", "a bomb of aliases", "a tree deeper than a path"]
)
def test_a_refused_task_starts_nothing(cli: Cli, studio: Studio, case: str) -> None:
    team, task = studio.team(), studio.task()
    REFUSED[case][0](task)
    done = cli("run", team, "--tasks", task, "--backend", "bubblewrap", "-o", studio.path / "out")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rolewall: ") and done.err.count("\n") == 1
    assert not (studio.path / "out").exists()


@pytest.mark.root
def test_a_device_in_a_task_is_refused_by_name(studio: Studio) -> None:
    task = studio.task()
    load_task(task)
    os.mknod(task / "workspace" / "zero", 0o20666, os.makedev(1, 5))
    with pytest.raises(RolewallError, match="workspace/zero: a device in a task"):
        load_task(task)


@pytest.mark.parametrize("target", ["a" * 300, "b", "/proc/1/root/x", "../" * 400 + "etc"])
def test_a_link_beside_the_tasks_that_leads_nowhere_is_none(studio: Studio, target: str) -> None:
    task = studio.task()
    (task.parent / "b").symlink_to(target)
    assert [found.id for found in load_tasks([task.parent])] == ["add-one"]


def test_hard_links_within_a_task_are_files_like_others(studio: Studio, play: Play) -> None:
    task = studio.task()
    os.link(task / "spec.md", task / "workspace" / "same.md")
    episode = play(studio.team(verifier={"verdict": "reject"}), task)
    assert episode.record["grade"] == "fail"
    assert (task / "spec.md").read_text() == "add(x) returns x + 1\n"


def test_a_task_that_changes_while_it_is_read_gives_nothing_from_elsewhere(
    studio: Studio, tmp_path: Path
) -> None:
    """A directory of the task is a link every other moment, with the same names behind it."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_text("SECRET\n")
    task = studio.task()
    flipping = []
    for place in ("workspace/d", "grader/d"):
        real = task / place
        real.mkdir()
        (real / "file").write_text("plain\n")
        os.rename(real, f"{real}.dir")
        os.symlink(secret, f"{real}.link")
        flipping.append(real)
    loaded = refused = 0
    with _exchanging(flipping):
        for number in range(60):
            copy = tmp_path / f"copy-{number}"
            copy.mkdir()
            try:
                found = load_task(task)
                stage_grader(found, _new(copy / "grader"))
                copy_tree(found.workspace or task, _new(copy / "workspace"))
                loaded += 1
            except RolewallError:
                refused += 1
            texts = [p.read_bytes() for p in copy.rglob("*") if p.is_file() and not p.is_symlink()]
            assert b"SECRET\n" not in texts
    assert loaded + refused == 60 and refused, "it was caught changing"
    for real in flipping:
        if os.path.lexists(real):
            os.rename(real, f"{real}.now")
        for other in (f"{real}.link", f"{real}.now"):
            if os.path.islink(other):
                os.unlink(other)
    assert load_task(task).id == "add-one", "what stands still is read"


def _new(path: Path) -> Path:
    path.mkdir()
    return path


EXCHANGE = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
pairs = [os.fsencode(name) for name in sys.argv[1:]]
print(flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for name in pairs:
        for other in (b".link", b".dir"):
            libc.renameat2(-100, name + other, -100, name, 0)
            time.sleep(0.001)
            libc.renameat2(-100, name, -100, name + other, 0)
"""


@contextmanager
def _exchanging(places: list[Path]) -> Iterator[None]:
    environment = {**os.environ, "PARENT": str(os.getpid())}
    command = [sys.executable, "-I", "-c", EXCHANGE, *map(str, places)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def host() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rolewall-host-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.pain(12)
@pytest.mark.bubblewrap
def test_nothing_of_a_task_runs_on_the_host_even_where_its_user_stands_in_it(
    cli: Cli, studio: Studio, host: Path
) -> None:
    """All that an executor may plant, planted by the task's author before the run."""
    task = studio.task()
    work = task / "workspace"
    subprocess.run(["git", "init", "-q", work], check=True, timeout=60)
    for plant in CATALOGUE.values():
        if not plant.home:
            plant.put(str(work), str(host))
    shutil.copytree(work, task / "grader" / "more", symlinks=True)
    shutil.copytree(work / ".git", task / ".git", symlinks=True)
    assert os.listdir(host) == []
    team = studio.team(verifier={"verdict": "reject"})
    script = Path(sys.executable).with_name("rolewall")
    command = [script] if script.exists() else [sys.executable, "-P", "-m", "rolewall"]
    done = subprocess.run(
        [*command, "run", team, "--tasks", task, "--backend", "bubblewrap",
         "-o", studio.path / "out"],
        cwd=work, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert os.listdir(host) == []
    copy = shutil.copytree(work, studio.path / "copy", symlinks=True)
    careless = "git status >/dev/null 2>&1; python3 -c 'import json'; ls /tmp/rolewall-fired"
    lives = cli("exec", "--backend", "bubblewrap", "--role", "careless",
                "--zone", f"workspace={copy}:write", "--", "sh", "-c", careless)  # fmt: skip
    assert {"git-fsmonitor", "py-shadow-json"} <= set(lives.out.split()), "the plants are alive"
    assert os.listdir(host) == []


def test_a_graders_commands_run_in_the_grade_box_alone(
    play: Play, studio: Studio, host: Path, tmp_path: Path
) -> None:
    act = (
        f"for d in {host} {tmp_path} /etc /usr; do"
        " touch $d/from-grader && exit 3; done 2>/dev/null;"
        " test -e /run/docker.sock -o -e /var/run/docker.sock && exit 4;"
        " touch /workspace/made /reports/made /tmp/made || exit 5; exit 0"
    )
    grader = f'grader: {{command: {{run: [sh, -c, "{act}"], fail_codes: [3, 4, 5]}}}}'
    episode = play(studio.team(verifier={"verdict": "reject"}), studio.task(grader=grader))
    assert episode.record["grade"] == "pass", episode.record["verdicts"]
    assert os.listdir(host) == [] and not (tmp_path / "from-grader").exists()


TEAMBENCH = "task_id: GH1_example\ntime_limit_sec: 60\n"


def teambench(root: Path, host: Path) -> Path:
    task = root / "tasks" / "GH1_example"
    (task / "workspace").mkdir(parents=True)
    (root / "harness").mkdir()
    (task / "task.yaml").write_text(TEAMBENCH)
    for name in ("spec.md", "brief.md"):
        (task / name).write_text("do it\n")
    act = f"touch {host}/from-$1 2>/dev/null || true\n"
    (task / "setup.sh").write_text("#!/bin/bash\n" + act.replace("$1", "setup"))
    (root / "harness" / "grader_helpers.sh").write_text(f"here() {{ {act.strip()}; }}\n")
    (task / "grade.sh").write_text(
        '#!/bin/bash\nsource "$(dirname "$0")/../../harness/grader_helpers.sh"\nhere helper\n'
        'set -- "$@"; printf \'{"pass": true}\' > "$2/score.json"\n'
    )
    for name in ("setup.sh", "grade.sh"):
        (task / name).chmod(0o755)
    return task


def test_a_teambench_tasks_scripts_run_in_boxes_alone(
    play: Play, studio: Studio, host: Path
) -> None:
    task = teambench(studio.path / "bench", host)
    episode = play(studio.team(verifier={"verdict": "reject"}), task)
    assert episode.record["grade"] == "pass"
    assert os.listdir(host) == []


TEAMBENCH_REFUSED: dict[str, tuple[Spoil, str]] = {
    "grade.sh is a FIFO": (instead("grade.sh", os.mkfifo), "grade.sh"),
    "grade.sh is a directory": (instead("grade.sh", os.mkdir), "grade.sh"),
    "a link to a device": (lambda task: (task / "data").symlink_to("/dev/zero"), "data"),
    "an absolute id": (body("task_id: /etc/passwd\n"), "task_id"),
    "an id with a NUL": (body('task_id: "a\\0b"\n'), "task_id"),
    "a bomb": (body(BOMB + TEAMBENCH), "task.yaml:5"),
    "a helper that is a FIFO": (
        lambda task: instead("grader_helpers.sh", os.mkfifo)(task.parent.parent / "harness"),
        "harness/grader_helpers.sh",
    ),
    "a helper without end": (
        lambda task: sparse("grader_helpers.sh")(task.parent.parent / "harness"),
        "harness/grader_helpers.sh",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TEAMBENCH_REFUSED)
def test_a_hostile_teambench_task_is_refused_by_name(studio: Studio, host: Path, case: str) -> None:
    spoil, says = TEAMBENCH_REFUSED[case]
    task = teambench(studio.path / "bench", host)
    load_task(task)
    spoil(task)
    with pytest.raises(TaskError) as refused:
        load_tasks([task])
    assert says in str(refused.value) and refused.value.exit_code == 2


def test_a_task_gets_neither_image_nor_network_unasked(
    cli: Cli, studio: Studio, backend: Backend
) -> None:
    """Not by other spellings, nor by what it hopes nobody will refuse."""
    task, team = studio.task(), studio.team(verifier={"verdict": "reject"})
    plain = (task / "task.yaml").read_text()
    words = ["run", team, "--tasks", task, "--backend", backend.name, "-o", studio.path / "out"]
    for line, says in (
        ("image: --privileged", "--allow-task-image"),
        ('network: {allow: ["127.0.0.1:2375"]}', "--allow-task-network"),
        ('network: {allow: ["169.254.169.254:80"]}', "a name or an IPv4 loopback address"),
        ("network: host", "network"),
        ("mounts: [/]", "mounts: unknown key"),
    ):
        (task / "task.yaml").write_text(f"{plain}{line}\n")
        done = cli(*words)
        assert (done.code, done.err.count("\n")) == (2, 1) and says in done.err, (line, done.err)
    (task / "task.yaml").write_text(f"{plain}image: host\nnetwork: {{allow: []}}\n")
    assert cli(*words).code == 0, "what is anybody's needs no flag"


def test_the_flag_lends_the_network_that_the_task_names(
    play: Play, cli: Cli, studio: Studio, backend: Backend, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        task = studio.task(
            grader="grader: {command: {run: [python3, /grader/check.py], trust: outside}}\n"
            f'network: {{allow: ["127.0.0.1:{port}"]}}'
        )
        ask = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
        executor = {"steps": [{"run": f'python3 -I -c "{ask}"'}]}
        team = studio.team(executor=executor, verifier={"verdict": "reject"})
        out = tmp_path / "lent"
        done = cli("run", team, "--tasks", task, "--backend", backend.name,
                   "--allow-task-network", "-o", out)  # fmt: skip
        assert done.code == 0, done.err
        (transcript,) = out.glob("episodes/*/transcripts/00-executor.jsonl")
        assert '"returncode": 0' in transcript.read_text()
