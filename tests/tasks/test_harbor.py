"""Harbor's task directories, loaded from their files alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.errors import TaskError
from rolewall.graders import HarborSpec
from rolewall.policies import ROLES, compile_mounts, condition
from rolewall.roles import TaskFacts, render_prompt
from rolewall.tasks import load_task, role_environment, stage_grader, work_environment

WORDS = Path(__file__).with_name("data") / "harbor-words"
FETCH = WORDS.with_name("harbor-fetch")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    shutil.copytree(WORDS, tmp_path / "harbor-words")
    return tmp_path / "harbor-words"


def test_a_task_as_it_is(task: Path, tmp_path: Path) -> None:
    loaded = load_task(task)
    assert (loaded.id, loaded.origin, loaded.file) == ("harbor-words", "harbor", "task.toml")
    assert loaded.spec == loaded.brief == (task / "instruction.md").read_text()
    assert (loaded.seconds, loaded.grader_seconds) == (60.0, 30.0)
    assert loaded.image == "rolewall-test-words:1"
    assert loaded.grader == HarborSpec(env=(("GOAL", "10"),))
    assert loaded.env == (("UNIT", "words"),)
    stage_grader(loaded, tmp_path / "staged")
    staged = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "staged").iterdir()}
    assert staged == {"test.sh": 0o755, "about.txt": 0o644}


def test_what_changes_the_tests_changes_the_task_and_nothing_else_does(task: Path) -> None:
    before = load_task(task).digest
    (task / "environment" / "text.txt").write_text("other\n")
    (task / "solution" / "solve.sh").write_text("other\n")
    assert load_task(task).digest == before
    (task / "tests" / "about.txt").write_text("other\n")
    assert load_task(task).digest != before


def test_only_a_test_that_fetches_is_said_to(task: Path) -> None:
    assert "its tests call" not in " ".join(load_task(task).notes)
    (task / "tests" / "test.sh").write_text("# curl it\ncurl http://localhost:80/\npytest\n")
    assert "its tests call" not in " ".join(load_task(task).notes)
    (task / "tests" / "more.sh").write_text("pip3 install --quiet pytest && git clone x\n")
    assert "its tests call git, pip3: what" in " ".join(load_task(task).notes)
    found = load_task(FETCH).grader
    assert isinstance(found, HarborSpec) and found.fetches == ("apt-get", "curl", "uvx")


def test_unknown_keys_are_told_of(task: Path) -> None:
    text = (task / "task.toml").read_text() + "\n[environment.news]\na = 1\n[more]\nb = 2\n"
    (task / "task.toml").write_text(text)
    (note,) = [note for note in load_task(task).notes if "not known" in note]
    assert note.endswith("without effect: environment.news, more")


def section(name: str, line: str) -> Callable[[Path], object]:
    def spoil(task: Path) -> None:
        file = task / "task.toml"
        head, _, rest = file.read_text().partition(f"[{name}]\n")
        file.write_text(f"{head}[{name}]\n{line}\n{rest}")

    return spoil


def text(body: str) -> Callable[[Path], object]:
    return lambda task: (task / "task.toml").write_text(body)


def leading(task: Path) -> None:
    (task / "tests" / "link.txt").symlink_to("/etc/passwd")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "several steps": (text('[[steps]]\nname = "a"\n'), "several steps"),
    "several containers": (
        lambda task: (task / "environment" / "docker-compose.yaml").write_text("a: 1\n"),
        "several containers",
    ),
    "an accelerator": (text("[environment]\ngpus = 1\n"), "no box has accelerators"),
    "another system": (text('[environment]\nos = "windows"\n'), "only Linux"),
    "servers": (text('[environment]\nmcp_servers = [{name = "a"}]\n'), "servers beside an agent"),
    "a service": (text('[environment.healthcheck]\ncommand = "x"\n'), "services"),
    "tests of their own": (section("verifier", 'environment_mode = "separate"'), "of their own"),
    "hooks": (section("verifier", 'collect = [{command = "x"}]'), "hooks before the tests"),
    "a secret of the host": (
        section("verifier.env", 'KEY = "${OPENAI_API_KEY}"'),
        "variables of the host",
    ),
    "no variable": (section("verifier.env", '"A=B" = "c"'), "not an environment variable"),
    "no time": (text("[agent]\ntimeout_sec = 0\n"), "agent.timeout_sec"),
    "a time that is none": (text("[verifier]\ntimeout_sec = nan\n"), "verifier.timeout_sec"),
    "an image that is none": (text("[environment]\ndocker_image = 7\n"), "docker_image"),
    "no TOML": (text("[environment\n"), "not TOML"),
    "nesting": (text("a = " + "[" * 20_000), "nested too deep"),
    "no text": (lambda task: (task / "task.toml").write_bytes(b"\xff\xfe"), "not text"),
    "no instruction": (lambda task: (task / "instruction.md").unlink(), "does not exist"),
    "an empty instruction": (lambda task: (task / "instruction.md").write_text(" "), "empty"),
    "no test": (lambda task: (task / "tests" / "test.sh").unlink(), "does not exist"),
    "a link among the tests": (leading, "a link in a task is not followed"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_had_is_refused_by_name(task: Path, case: str) -> None:
    spoil, said = REFUSED[case]
    load_task(task)
    spoil(task)
    with pytest.raises(TaskError) as caught:
        load_task(task)
    assert said in str(caught.value)
    assert str(task) in (caught.value.place or "")


def test_without_an_image_and_without_a_recipe_for_one_there_is_no_task(task: Path) -> None:
    text = (task / "task.toml").read_text().replace("docker_image", "#")
    (task / "task.toml").write_text(text)
    assert load_task(task).image == "hb__harbor-words"
    (task / "environment" / "Dockerfile").unlink()
    with pytest.raises(TaskError, match="the task names no image"):
        load_task(task)


def test_a_prompt_names_both_places_of_the_work() -> None:
    policy = condition("enforced")(ROLES)
    plain, both = (
        render_prompt(compile_mounts(policy, "executor"), TaskFacts("t", 60.0, workdir=place))
        for place in (None, "/app")
    )
    line = "- `/app`: the work too, the same files; commands start there\n"
    assert line in both and both.replace(line, "") == plain


def test_only_who_does_the_work_has_its_environment(task: Path) -> None:
    loaded = load_task(task)
    path = "/app/bin:/usr/bin:relative:/usr/../app/bin:/workspace/bin:/report:/home/x:/tmp"
    env = (("PATH", path), ("PYTHONPATH", "/app"), ("BASH_ENV", "/app/rc"))
    loaded = replace(loaded, env=env, workdir="/app")
    assert role_environment(loaded, works=False) == {"PATH": "/usr/bin"}
    works = {
        "PATH": path,
        "PYTHONPATH": "/rolewall/python:/app",
        "BASH_ENV": "/app/rc",
    }
    assert role_environment(loaded, works=True) == work_environment(loaded) == works
