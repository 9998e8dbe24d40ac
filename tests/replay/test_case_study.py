"""The comparison with a real model, by its recording: the same table, and no network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rolewall.rundir import Run, open_run

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "offline_model"
RECORDING = ROOT / "tests" / "recordings" / "offline-model" / "run.tar.xz"
PAGE = ROOT / "docs" / "case-study.md"
CONDITIONS = ("prompt-only", "enforced")
# With a verdict under both conditions, and with none: what an answer says, and how a turn ends.
FEW = ("page-window", "settings-merge")
SECONDS = 1800
APART = re.compile(r"incomplete: |graders unchecked: |in \d+ of \d+ episodes a recording ")
NO_NETWORK = ("unshare", "--net", "--") if os.geteuid() == 0 else ()

pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    to = tmp_path_factory.mktemp("recording")
    with tarfile.open(RECORDING) as tar:
        # Python 3.11.0 to 3.11.3 have no filters, and later ones warn where none is chosen.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(to)
    return open_run(to / "recorded")


def test_the_page_shows_what_was_recorded(recorded: Run) -> None:
    rows = list(_bench("table").table(recorded.records))
    assert len(rows) == 2 + len(recorded.records)
    assert "\n".join(rows) in PAGE.read_text("utf-8")


def test_the_page_shows_the_comparison_as_the_command_prints_it(recorded: Run) -> None:
    page = PAGE.read_text("utf-8")
    assert all(table in page for table in _tables(_compared(recorded.path)))


def test_the_page_names_the_model_that_is_served() -> None:
    page = PAGE.read_text("utf-8")
    named = [digest for digest in _bench("serve").KNOWN if digest in page]
    assert len(named) == 1
    repository, file = _bench("serve").KNOWN[named[0]].split(": ")
    assert repository in page and file in page


def test_a_few_tasks_replay_to_the_same_rows(recorded: Run, tmp_path: Path) -> None:
    _same_rows(recorded, _replayed(recorded, FEW, tmp_path))


def test_the_whole_comparison_replays_to_the_same_table(recorded: Run, tmp_path: Path) -> None:
    names = tuple(sorted({record.task for record in recorded.records}))
    replayed = _replayed(recorded, names, tmp_path)
    _same_rows(recorded, replayed)
    assert _compared(replayed.path) == _compared(recorded.path)


def _replayed(recorded: Run, names: tuple[str, ...], out: Path) -> Run:
    _bench("run").prepare(out / "tasks", names, SECONDS)
    done = subprocess.run(
        [*NO_NETWORK, sys.executable, "-m", "rolewall", "compare",
         str(BENCH / "team" / "team.yaml"), "--tasks", str(out / "tasks"),
         "--conditions", ",".join(CONDITIONS), "--seed", str(recorded.info.seed),
         "--replay", str(recorded.path), "-o", str(out / "run")],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 4), done.stderr
    return open_run(out / "run")


def _same_rows(recorded: Run, replayed: Run) -> None:
    asked = {task.id for task in replayed.info.tasks}
    table = _bench("table").table
    then = list(table([record for record in recorded.records if record.task in asked]))
    assert list(table(replayed.records)) == then
    assert all(record.replay_of and record.status == "complete" for record in replayed.records)
    usage = [phase.usage for record in replayed.records for phase in record.phases]
    assert all(one is not None and one.replayed and not one.failed for one in usage)


def _compared(run: Path) -> list[str]:
    """What ``rolewall compare`` prints, without what tells a replay, and a part of a plan,
    from the whole."""
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", "compare", str(run)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode in (0, 4), done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return [line for line in lines if not APART.match(line)]


def _tables(lines: list[str]) -> Iterator[str]:
    """The rows of both tables, each as one text."""
    for first, after in (("condition ", "attempted,"), ("outcome ", "difference:")):
        begins = next(i for i, line in enumerate(lines) if line.startswith(first))
        ends = next(i for i, line in enumerate(lines) if line.startswith(after))
        yield "\n".join(lines[begins:ends])


def _bench(name: str) -> ModuleType:
    """A program of the bench, which is no package."""
    spec = importlib.util.spec_from_file_location(f"offline_model_{name}", BENCH / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
