"""Starts that a task's own program makes: in a box, for a seed, and looked at like a stranger's."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import RolewallError, TaskError
from rolewall.graders import ScriptSpec
from rolewall.sandbox import find_backend
from rolewall.tasks import Task, generated_tasks, load_task, stage_grader, whole_task

if TYPE_CHECKING:
    from conftest import Bench, User

pytestmark = [pytest.mark.bubblewrap, pytest.mark.usefixtures("own_cache")]


def made(directory: Path, seed: int = 0, told: Callable[[str], None] | None = None) -> Task:
    task = load_task(directory)
    return generated_tasks([task], [seed], find_backend("bubblewrap"), told=told)(task, seed)


def files_of(task: Task) -> dict[str, str]:
    assert task.workspace is not None
    found = (path for path in task.workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(task.workspace)): path.read_text() for path in found}


def test_a_seed_makes_the_whole_task(bench: Bench, tmp_path: Path) -> None:
    task = made(bench.generated("SUM1_two"), 2)
    assert task.recipe is None
    assert task.spec == "answer.txt holds 5 + 5\n"
    assert task.brief.startswith("write the sum")
    assert files_of(task) == {"numbers.txt": "5 5\n", "src/app.py": "x = 1\n"}
    assert task.grader == ScriptSpec("tasks/SUM1_two/grade.sh", expected="reports/expected.json")
    stage_grader(task, tmp_path / "staged")
    expected = json.loads((tmp_path / "staged" / "reports" / "expected.json").read_text())
    assert expected == {"answer": 10, "secret": "truth-of-seed-2"}
    assert (tmp_path / "staged" / "tasks" / "SUM1_two" / "spec.md").read_text() == task.spec


def test_each_seed_is_a_task_of_its_own_and_the_same_one_each_time(bench: Bench) -> None:
    directory = bench.generated("SUM1_two")
    first, again, other = made(directory, 1), made(directory, 1), made(directory, 2)
    assert first == again
    assert first.digest != other.digest
    assert len({first.digest, other.digest, load_task(directory).digest}) == 3


def test_one_that_is_by_chance_stays_as_it_was(bench: Bench) -> None:
    by_chance = bench.SUM.replace(
        '"src/app.py": "x = 1\\n"', '"src/app.py": str(__import__("uuid").uuid4())'
    )
    directory, told = bench.generated("SUM1_two", by_chance), []
    first = made(directory, told=told.append)
    assert made(directory, told=told.append) == first
    assert len(told) == 1  # the second was kept, and no box was opened


def test_a_kept_start_that_was_altered_is_another_task(bench: Bench) -> None:
    directory = bench.generated("SUM1_two")
    first = made(directory)
    assert first.workspace is not None
    (first.workspace / "numbers.txt").write_text("0 0\n")
    assert made(directory).digest != first.digest


@pytest.mark.parametrize("name", ["generators/gen_sum1_two.py", "generators/base.py"])
def test_the_programs_text_is_a_part_of_the_task(bench: Bench, name: str) -> None:
    directory = bench.generated("SUM1_two")
    before = load_task(directory).digest
    with (bench.root / name).open("a") as file:
        file.write("# more\n")
    assert load_task(directory).digest != before


def test_another_tasks_generator_is_no_part_of_it(bench: Bench) -> None:
    directory = bench.generated("SUM1_two")
    before = load_task(directory)
    bench.generated("SUM2_more")
    assert load_task(directory) == before
    # But one that imports the other has it.
    head = "from generators.gen_sum1_two import Generator as Sum\n\n\nclass Generator(Sum):\n"
    assert made(bench.generated("SUM3_same", "    pass\n", head=head)).spec == made(directory).spec


def test_the_static_files_lie_beneath_what_is_generated(bench: Bench) -> None:
    directory = bench.static(bench.generated("SUM1_two"))
    (directory / "workspace" / "README").write_text("static\n")
    task = made(directory, 1)
    assert files_of(task)["README"] == "static\n"
    assert files_of(task)["numbers.txt"] == "4 3\n"
    assert task.spec == "answer.txt holds 4 + 3\n"


def test_data_and_yaml_are_there_for_a_generator(bench: Bench) -> None:
    (bench.root / "datasets").mkdir()
    (bench.root / "datasets" / "tides.csv").write_text("a,b\n")
    (bench.root / "datasets" / "other.csv").write_text(
        "version https://git-lfs.github.com/spec/v1\n"
    )
    body = bench.SUM.replace(
        '"x = 1\\n"', "__import__('yaml').safe_dump(open('/bench/datasets/tides.csv').read())"
    )
    task = made(bench.generated("SUM1_two", body))
    assert "a,b" in files_of(task)["src/app.py"]
    assert task.notes == ()


def test_data_that_git_lfs_did_not_fetch_is_said(bench: Bench) -> None:
    (bench.root / "datasets").mkdir()
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    (bench.root / "datasets" / "tides.csv").write_text(pointer)
    read = "open('/bench/datasets/tides.csv').read()"
    directory = bench.generated("SUM1_two", bench.SUM.replace('"x = 1\\n"', read))
    assert load_task(directory).notes == (
        "Git LFS pointers stand where data should: datasets/tides.csv",
    )
    address = bench.SUM.replace("a, b =", "at = 'https://tides.com/x'; a, b =")
    assert load_task(bench.generated("SUM3_address", address)).notes == ()
    bench.generated("SUM2_more", bench.SUM.replace("a, b =", f"a, b = int({read}),"))
    with pytest.raises(TaskError, match=r"ValueError.*Git LFS pointers"):
        made(bench.root / "tasks" / "SUM2_more")


def test_without_a_task_file_the_directory_is_the_name(bench: Bench) -> None:
    directory = bench.generated("SUM1_two")
    (directory / "task.yaml").unlink()
    task = made(directory)
    assert (task.id, task.seconds) == ("SUM1_two", 900)
    assert [note.partition(":")[0] for note in task.notes] == ["no task.yaml"]
    (bench.root / "generators" / "gen_sum1_two.py").unlink()
    with pytest.raises(TaskError, match="neither a task"):
        load_task(directory)


def test_a_seed_that_the_task_does_not_name_is_noted(bench: Bench) -> None:
    directory = bench.generated("SUM1_two", said="parameterized: true\nseeds: [0, 1, 2]\n")
    assert made(directory, 2).notes == ()
    assert made(directory, 3).notes == ("seed 3 is none of those that the task names: 0, 1, 2",)


def test_setup_makes_the_start_where_there_is_no_generator(bench: Bench) -> None:
    directory = bench.static(bench.task("SUM1_two"))
    (directory / "setup.sh").write_text(
        'set -eu\necho "$# $4" > "$1/said.txt"\ncp "$(dirname "$0")/spec.md" "$1/copy.md"\n'
    )
    task = made(directory, 7)
    assert files_of(task)["said.txt"] == "4 7\n"
    assert files_of(task)["copy.md"] == task.spec == "answer.txt holds 1 + 3\n"
    assert task.grader == ScriptSpec("tasks/SUM1_two/grade.sh")
    assert made(directory, 8).digest != task.digest


def test_setup_is_not_run_beside_a_generator(bench: Bench) -> None:
    directory = bench.generated("SUM1_two")
    (directory / "setup.sh").write_text("exit 1\n")
    assert made(directory).spec


def test_a_setup_that_fails(bench: Bench) -> None:
    directory = bench.static(bench.task("SUM1_two"))
    (directory / "setup.sh").write_text("echo no such luck >&2\nexit 3\n")
    with pytest.raises(TaskError, match=r"SUM1_two/setup\.sh: .*exit code 3: no such luck"):
        made(directory)


def test_nothing_works_on_a_start_that_is_not_made(bench: Bench, tmp_path: Path) -> None:
    task = load_task(bench.generated("SUM1_two"))
    with pytest.raises(TaskError, match="was not generated"):
        stage_grader(task, tmp_path / "staged")
    with pytest.raises(TaskError, match="was not generated"):
        whole_task(task, 0)


PROBE = """    def generate(self, seed):
        import json, os, socket, subprocess
        def tried(do):
            try:
                return repr(do())
            except BaseException as error:
                return type(error).__name__
        found = {
            "connect": tried(lambda: socket.create_connection(("127.0.0.1", PORT), 2)),
            "host file": tried(lambda: open("FILE").read()),
            "shadow": tried(lambda: open("/etc/shadow").read()),
            "write bench": tried(lambda: open("/bench/generators/base.py", "w")),
            "write root": tried(lambda: open("/planted", "w")),
            "environment": [name for name in os.environ if name == "ROLEWALL_TEST_SECRET"],
            "grader helpers": os.path.exists("/bench/harness"),
            "own zone": tried(lambda: open("/workspace/own.txt", "w").write("x")),
        }
        return Made("s", "b", {"a": 1}, {"found.json": json.dumps(found)})
"""


def test_a_generator_reaches_neither_network_nor_host(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLEWALL_TEST_SECRET", "1")
    (tmp_path / "secret").write_text("secret\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = PROBE.replace("PORT", str(server.getsockname()[1])).replace(
            "FILE", str(tmp_path / "secret")
        )
        found: dict[str, Any] = json.loads(files_of(made(bench.generated("X", body)))["found.json"])
    assert found.pop("own zone") == "1"  # the twin: what it may do, works
    assert found == {
        "connect": "ConnectionRefusedError",
        "host file": "FileNotFoundError",
        "shadow": found["shadow"],
        "write bench": "OSError",
        "write root": "OSError",
        "environment": [],
        "grader helpers": False,
    }
    assert found["shadow"] in ("FileNotFoundError", "PermissionError")


def returning(files: str = "{}", before: str = "pass") -> str:
    return f"""    def generate(self, seed):
        import os, signal, subprocess, sys, time
        {before}
        return Made("s", "b", {{"a": 1}}, {files})
"""


def writing(after: str) -> str:
    later = f"""
    EXPECTED = "/reports/expected.json"

    def write_to_disk(self, made, **where):
        import os, shutil
        super().write_to_disk(made, **where)
        {after.replace("EXPECTED", "self.EXPECTED")}
"""
    return returning() + later


FAILING = {
    "a path out": (returning('{"../x": "1"}'), "Read-only file system"),
    "an absolute path": (returning('{"/etc/x": "1"}'), "Read-only file system"),
    "early": (returning(before="sys.exit(0)"), "expected.json: does not exist"),
    "words": (returning(before="raise ValueError('a\\x1b[31mb')"), r"a\\x1b[31mb"),
    "killed": (returning(before="os.kill(os.getpid(), 9)"), "exit code 137"),
    "empty": (returning().replace('"s"', '" "'), "told/spec.md: the file is empty"),
    "no generator": ("    pass\n", "has no attribute 'generate'"),
    "truth by a link": (
        writing("os.unlink(EXPECTED); os.symlink('/etc/passwd', EXPECTED)"),
        "reports/expected.json: a link in a task is not followed",
    ),
    "a pipe": (writing("os.mkfifo('/workspace/pipe')"), "pipe"),
}


@pytest.mark.parametrize(("body", "said"), FAILING.values(), ids=FAILING)
def test_what_fails_or_is_rubbish_is_refused_by_name(bench: Bench, body: str, said: str) -> None:
    directory = bench.generated("ODD1_out", body)
    with pytest.raises(TaskError) as caught:
        made(directory)
    assert str(bench.root / "generators" / "gen_odd1_out.py") in str(caught.value)
    assert said in str(caught.value)
    kept = Path(os.environ["ROLEWALL_CACHE"]) / "tasks"
    assert not list(kept.iterdir())


def test_links_in_the_work_stay_links(bench: Bench) -> None:
    task = made(bench.generated("X", writing("os.symlink('/etc/passwd', '/workspace/way')")))
    assert task.workspace is not None
    assert os.readlink(task.workspace / "way") == "/etc/passwd"


def test_one_without_end_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolewall.tasks.generated_box.SECONDS", 1.0)
    with pytest.raises(TaskError, match="did not end within 1 second"):
        made(bench.generated("X", returning(before="time.sleep(600)")))


def test_what_it_leaves_running_writes_nothing_more(bench: Bench) -> None:
    late = "subprocess.Popen(['sh', '-c', 'sleep 1; echo late > /workspace/late'])"
    task = made(bench.generated("X", returning('{"on.txt": "time"}', late)))
    assert files_of(task) == {"on.txt": "time"}


@pytest.mark.parametrize(
    ("after", "note"),
    [
        ("os.link(EXPECTED, '/reports/b')", "reports/b, made with the start, is not put into"),
        ("shutil.copy(EXPECTED, '/workspace/t')", "workspace/t shows every role what the grader"),
    ],
)
def test_truth_in_the_wrong_place_is_said(bench: Bench, after: str, note: str) -> None:
    body = writing(after).replace('{"a": 1}', '{"a": "as long as it takes"}')
    (said,) = made(bench.generated("X", body)).notes
    assert said.startswith(note)


@pytest.mark.parametrize(
    "name", ["generators/gen_sum1_two.py", "generators/base.py", "datasets/tides.csv"]
)
def test_links_among_what_it_needs_are_refused(bench: Bench, name: str, tmp_path: Path) -> None:
    directory = bench.generated("SUM1_two", bench.SUM + "    data = 'tides'\n")
    (bench.root / "datasets").mkdir()
    (bench.root / "datasets" / "tides.csv").write_text("a\n")
    load_task(directory)
    (bench.root / name).rename(tmp_path / "gone")
    (bench.root / name).symlink_to(tmp_path / "gone")
    with pytest.raises(TaskError, match="link"):
        load_task(directory)


def test_a_folder_of_generators_by_a_link_is_none(bench: Bench, tmp_path: Path) -> None:
    directory = bench.generated("SUM1_two")
    (bench.root / "generators").rename(tmp_path / "gone")
    (bench.root / "generators").symlink_to(tmp_path / "gone")
    with pytest.raises(RolewallError, match=r"neither there nor generated|link"):
        load_task(directory)


@pytest.mark.root
def test_an_ordinary_user_makes_the_same_start(bench: Bench, ordinary: User) -> None:
    directory = bench.generated("SUM1_two")
    copy = ordinary.home / "bench"
    shutil.copytree(bench.root, copy)
    ordinary.give(copy)
    text = (
        "import pathlib, sys; from rolewall.sandbox import find_backend;"
        "from rolewall.tasks import generated_tasks, load_task;"
        "task = load_task(pathlib.Path(sys.argv[1]));"
        "print(generated_tasks([task], [4], find_backend('bubblewrap'))(task, 4).digest)"
    )
    ran = ordinary.python("-c", text, copy / "tasks" / "SUM1_two")
    assert ran.code == 0, ran.err
    assert ran.out.strip() == made(directory, 4).digest
