"""A run directory that somebody else prepared: `run` writes and removes nothing outside it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Ran, Studio

pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("honest")


@pytest.fixture
def honest(kept: Path, studio: Studio, cli: Cli) -> tuple[tuple[object, ...], Path]:
    """The arguments of a small run, and what it made; it is run once for all tests here."""
    out, team, task = kept / "out", kept / "team", kept / "tasks"
    asked = ("run", team / "team.yaml", "--tasks", task, "--condition", "enforced",
             "--backend", "bubblewrap")  # fmt: skip
    if not out.exists():
        shutil.copytree(studio.team(verifier={"verdict": "reject"}).parent, team)
        shutil.copytree(studio.task().parent, task)
        done = cli(*asked, "-o", out)
        assert done.code == 0, done.err
    return asked, out


@pytest.fixture
def prepared(honest: tuple[tuple[object, ...], Path], tmp_path: Path) -> Path:
    """The same run again, as if no episode had been begun."""
    out = tmp_path / "out"
    shutil.copytree(honest[1], out)
    shutil.rmtree(out / "episodes")
    for name in ("seals.jsonl", "seal.json"):
        (out / name).unlink()
    return out


@pytest.fixture
def victim(honest: tuple[tuple[object, ...], Path], tmp_path: Path) -> Path:
    """A directory that is no part of the run, with names that a run has or sweeps away."""
    path = tmp_path / "victim"
    (key,) = (p.name for p in (honest[1] / "episodes").iterdir())
    (path / key).mkdir(parents=True)
    for name in ("precious", "obj1", "object-store.txt", f"{key}/precious"):
        (path / name).write_text("precious")
    (path / "empty").touch()
    return path


@pytest.fixture
def resume(honest: tuple[tuple[object, ...], Path], cli: Cli) -> Callable[[Path], Ran]:
    return lambda out: cli(*honest[0], "-o", out)


def seen(path: Path) -> dict[str, tuple[str, int, bytes]]:
    """Kind, mode, and content or target, of all below a directory."""
    found = {}
    for below in sorted(path.rglob("*")):
        mode = below.lstat().st_mode
        data = below.read_bytes() if stat.S_ISREG(mode) else b""
        link = os.readlink(below) if stat.S_ISLNK(mode) else ""
        found[str(below.relative_to(path))] = (link, mode, data)
    return found


def cleared(path: Path) -> Path:
    """The place of an entry, with nothing there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return path


def fan_of(out: Path) -> Path:
    return next(p for p in sorted((out / "blobs.git/objects").iterdir()) if len(p.name) == 2)


LINKED = {
    "a top directory": ["episodes", "scratch", "blobs.git"],
    "a directory of the store": ["blobs.git/objects", "blobs.git/objects/pack",
        "blobs.git/objects/info", "blobs.git/refs", "blobs.git/refs/heads",
        "blobs.git/objects/00", "blobs.git/objects/ff"],
}  # fmt: skip
NOT_THERE = [".lock", "seals.jsonl", "seal.json", "seal.dsse.json", "run.json", ".partial-x",
             "blobs.git/HEAD", "blobs.git/config"]  # fmt: skip


@pytest.mark.parametrize("name", [name for names in LINKED.values() for name in names])
def test_a_link_in_place_of_a_directory_is_refused(
    name: str, prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    for inside in ("objects/pack", "objects/info", "heads", "pack", "info", "tags"):
        (victim / inside).mkdir(parents=True, exist_ok=True)
    cleared(prepared / name).symlink_to(victim)
    refused(prepared / name, prepared, victim, resume)


@pytest.mark.parametrize("name", NOT_THERE)
@pytest.mark.parametrize("target", ["created", "precious"])
def test_a_link_in_place_of_a_file_is_refused(
    name: str, target: str, prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    cleared(prepared / name).symlink_to(victim / target)
    refused(prepared / name, prepared, victim, resume)


def test_a_link_in_place_of_an_object_is_refused(
    prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    (place, *_) = sorted(fan_of(prepared).iterdir())
    cleared(place).symlink_to(victim / "precious")
    refused(place, prepared, victim, resume)


@pytest.mark.parametrize("name", [*NOT_THERE, "episodes", "scratch", "blobs.git",
    "blobs.git/objects", "blobs.git/objects/00", "blobs.git/objects/obj1"])  # fmt: skip
def test_a_fifo_is_refused_and_not_waited_for(
    name: str, prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    os.mkfifo(cleared(prepared / name))
    refused(prepared / name, prepared, victim, resume)


@pytest.mark.parametrize("name", [*NOT_THERE, "blobs.git/objects/obj1"])
def test_a_directory_in_place_of_a_file_is_refused(
    name: str, prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    cleared(prepared / name).mkdir()
    refused(prepared / name, prepared, victim, resume)


def test_a_name_that_is_no_text_is_refused_as_any_other(
    prepared: Path, victim: Path, resume: Callable[[Path], Ran]
) -> None:
    (fan_of(prepared) / os.fsdecode(b"\xff\x1b[2J")).symlink_to(victim)
    done = resume(prepared)
    assert done.code == 2 and "expected a regular file" in done.err
    assert "\x1b" not in done.err and "Traceback" not in done.err


def refused(place: Path, out: Path, victim: Path, resume: Callable[[Path], Ran]) -> None:
    before, around = seen(out), seen(victim)
    done = resume(out)
    assert done.code == 2, done.err
    assert str(place) in done.err and "Traceback" not in done.err
    assert seen(victim) == around
    assert seen(out) == before


def test_a_link_that_leads_nowhere_is_no_run_directory(
    tmp_path: Path, resume: Callable[[Path], Ran]
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "created")
    done = resume(tmp_path / "link")
    assert done.code == 2 and "not a directory" in done.err
    assert not (tmp_path / "created").exists()


def test_what_a_kill_left_is_taken_up(prepared: Path, resume: Callable[[Path], Ran]) -> None:
    objects = prepared / "blobs.git/objects"
    left = [objects / "obj1", prepared / ".partial-x", prepared / "scratch/old/file"]
    left[2].parent.mkdir(parents=True)
    for path in left:
        path.write_text("half")
    done = resume(prepared)
    assert done.code == 0, done.err
    assert len(list(prepared.glob("episodes/*/episode.json"))) == 1
    assert not any(path.exists() for path in left)


def test_an_empty_file_of_the_store_is_replaced_and_not_written_to(
    prepared: Path, victim: Path, resume: Callable[[Path], Ran], cli: Cli
) -> None:
    for name in ("HEAD", "config"):
        os.link(victim / "empty", cleared(prepared / "blobs.git" / name))
    around = seen(victim)
    assert resume(prepared).code == 0
    assert seen(victim) == around
    done = cli("audit", prepared)
    assert done.code == 0, done.out + done.err


def test_a_link_to_a_run_directory_is_that_directory(
    prepared: Path, tmp_path: Path, resume: Callable[[Path], Ran]
) -> None:
    (tmp_path / "link").symlink_to(prepared)
    done = resume(tmp_path / "link")
    assert done.code == 0, done.err
    assert len(list(prepared.glob("episodes/*/episode.json"))) == 1
    again = resume(tmp_path / "link")
    assert again.code == 0, again.err


def test_what_is_no_part_of_a_run_stays(prepared: Path, resume: Callable[[Path], Ran]) -> None:
    (prepared / "notes").mkdir()
    (prepared / "notes/link").symlink_to("nowhere")
    (prepared / "report.md").symlink_to("notes/report.md")
    assert resume(prepared).code == 0
    assert (prepared / "notes/link").is_symlink() and (prepared / "report.md").is_symlink()
