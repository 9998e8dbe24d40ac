from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from rolewall.errors import RecordError, StorageError
from rolewall.record import Change, EpisodeRecord, sum_up
from rolewall.records import read_dataset
from rolewall.rows import row_of
from rolewall.rundir import (
    TaskRef,
    episode_key,
    open_run,
    read_episode,
    write_atomic,
    write_record,
)

if TYPE_CHECKING:
    from conftest import Cli


def test_a_run_is_read_as_it_was_written(builder: Any) -> None:
    builder.add(task="b", verdict="reject", grade="fail")
    builder.add(task="a", edits=2)
    run = open_run(builder.finish())
    assert [r.task for r in run.records] == ["a", "b"]
    assert run.records[0].phases[2].attempts.edit_blocked == 2
    assert (run.missing, run.unfinished) == (0, ())


def test_unfinished_episodes_are_no_records(builder: Any) -> None:
    kept = builder.add(task="a").name
    (builder.path / "episodes" / "half").mkdir()
    run = open_run(builder.finish())
    assert [r.key for r in run.records] == [kept]
    assert run.unfinished == ("half",)


def test_an_episode_that_was_not_planned_is_refused(builder: Any) -> None:
    kept, other = builder.add(task="a").name, builder.add(task="b").name
    with pytest.raises(RecordError, match=f"{other}: not of this run's plan"):
        open_run(builder.finish(planned=1, keys=[kept], shard=(1, 2)))
    shutil.rmtree(builder.path / "episodes" / other)
    assert open_run(builder.finish(planned=1, keys=[kept], shard=(1, 2))).missing == 0


def test_what_was_asked_for_cannot_be_changed_afterwards(cli: Cli, builder: Any) -> None:
    """A false approval is taken out of the plan, so that a gate would pass."""
    kept = builder.add(task="a", verdict="approve", grade="pass").name
    false = builder.add(task="b", verdict="approve", grade="fail").name
    run = builder.finish(keys=[kept, false])
    gate = ["gate", run, "--max-false-approval", "0.5"]
    before, text = cli(*gate), (run / "run.json").read_text()
    assert before.code == 4, before.err
    body = json.loads(text)
    body |= {"keys": [kept], "planned": 1, "tasks": body["tasks"][:1]}
    (run / "run.json").write_text(json.dumps(body))
    for command in (gate, ["show", run]):
        refused = cli(*command)
        assert refused.code == 2 and str(run) in refused.err, refused.err
    # And with its evidence, and the log as if it had never been.
    (run / "run.json").write_text(text)
    lines = (run / "seals.jsonl").read_bytes().splitlines(keepends=True)
    episode = json.loads(lines[-2])["episode"]
    shutil.rmtree(run / "episodes" / episode)
    (run / "seals.jsonl").write_bytes(b"".join(lines[:-3]))
    for command in (gate, ["show", run]):
        refused = cli(*command)
        assert refused.code == 2 and "not the seal of what run.json" in refused.err, refused.err


@pytest.mark.parametrize(
    "name", ["run.json", "seals.jsonl", "seal.json", "episode.json", "records"]
)
@pytest.mark.parametrize("writer", [True, False])
def test_a_pipe_in_place_of_a_file_is_refused(
    cli: Cli, builder: Any, name: str, writer: bool
) -> None:
    """Whether or not somebody holds it open for writing and says nothing."""
    directory = builder.add(task="a")
    run = builder.finish()
    path = {"episode.json": directory / name, "records": run.parent / name}.get(name, run / name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR | os.O_NONBLOCK) if writer else None
    try:
        command = (
            ["gate", path, "--max-false-approval", "0.5"] if name == "records" else ["show", run]
        )
        refused = cli(*command)
        assert refused.code == 2 and "not a regular file" in refused.err, refused.err
    finally:
        if held is not None:
            os.close(held)


def test_an_episode_cannot_be_dropped_from_the_plan(builder: Any) -> None:
    kept = builder.add(task="a").name
    builder.add(task="b")
    path = builder.finish()
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, "planned": 1, "keys": [kept]}))
    with pytest.raises(RecordError, match="of a grid of 2"):
        open_run(path)
    (path / "run.json").write_text(json.dumps({**info, "planned": 1, "keys": []}))
    with pytest.raises(RecordError, match=r"run\.json: changed since the run began"):
        open_run(path)
    with pytest.raises(RecordError, match="more episodes than were planned"):
        open_run(builder.finish(planned=1))


def test_no_run_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(RecordError, match="not a run directory"):
            open_run(place)
    with pytest.raises(RecordError, match="absent: does not exist"):
        open_run(tmp_path / "absent")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"\x00\xff\xfe junk", "run.json"),
        (b"[]", "expected a JSON object"),
        (b"{}", "unknown schema version"),
        (b'{"schema_version": 2}', "unknown schema version; got 2; expected 1"),
        (b'{"schema_version": true}', "unknown schema version; got True"),
        (b'{"schema_version": 1}', "run.json"),
        (b'{"schema_version": 1, "schema_version": 1}', "duplicate key"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_junk_in_place_of_a_run_is_one_message(builder: Any, content: bytes, words: str) -> None:
    run = builder.finish()
    (run / "run.json").write_bytes(content)
    with pytest.raises(RecordError) as caught:
        open_run(run)
    assert words in str(caught.value) and str(run) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [{"extra": 1}, {"grade": "good"}, {"trial": "1"}, {"schema_version": 9}, {"key": "x" * 20}],
)
def test_a_record_is_read_strictly(builder: Any, change: dict[str, Any]) -> None:
    path = builder.add() / "episode.json"
    run = builder.finish()
    open_run(run)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RecordError, match=r"episode\.json"):
        open_run(run)


def test_links_and_pipes_are_not_followed(builder: Any, tmp_path: Path) -> None:
    path = builder.add() / "episode.json"
    run = builder.finish()
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(RecordError, match="cannot read"):
        open_run(run)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RecordError):
        open_run(run)


def test_two_records_of_one_episode_are_refused(builder: Any) -> None:
    builder.add(task="a", seed=1)
    builder.add(task="a", seed=2)
    with pytest.raises(RecordError, match="two records of one episode: a:enforced:0"):
        open_run(builder.finish(planned=1))


def test_keys_must_be_as_many_as_planned(builder: Any) -> None:
    builder.add()
    run = builder.finish()
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "keys": ["a", "b"]}))
    with pytest.raises(RecordError, match="2 keys for 1 planned"):
        open_run(run)


def test_records_are_read_from_lines(record: Any, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    records = [record(task="a"), record(task="b")]
    path.write_text("".join(r.model_dump_json() + "\n" for r in records))
    assert read_dataset(path).rows == tuple(map(row_of, records))
    path.write_text(records[0].model_dump_json() + "\n{}\n")
    with pytest.raises(RecordError, match=r"records\.jsonl:2"):
        read_dataset(path)


@pytest.mark.pain(19)
def test_every_part_of_the_work_is_in_the_key() -> None:
    parts: dict[str, Any] = {
        "task": TaskRef(id="t", digest="d"), "team_digest": "x", "condition": "enforced",
        "trial": 0, "seed": 1, "backend": "docker", "image": "host", "code": "c",
        "observe": "changes",
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {}, {"task": TaskRef(id="t", digest="e")}, {"task": TaskRef(id="u", digest="d")},
        {"team_digest": "y"}, {"condition": "solo"}, {"trial": 1}, {"seed": 2},
        {"backend": "bubblewrap"}, {"image": "other"}, {"code": "d"},
        {"observe": "reads"},
    ]  # fmt: skip
    keys = {episode_key(**{**parts, **change}) for change in changes}
    assert len(keys) == len(changes)
    assert all(len(key) == 20 for key in keys)


def test_writing_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, previous[1]))
    try:
        with pytest.raises(StorageError, match="cannot write"):
            write_atomic(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, previous)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StorageError, match="absent"):
        write_atomic(tmp_path / "absent" / "file", b"x")


def changes(number: int, length: int, crossed: bool = False) -> tuple[Change, ...]:
    return tuple(
        Change(zone="workspace", path=f"{n:06}".ljust(length, "\u00e9"), change="created",
               cross_role=crossed)
        for n in range(number)
    )  # fmt: skip


def test_a_record_has_room_for_the_first_changes_and_counts_all() -> None:
    flood = (*changes(60_000, 20), *changes(3, 30, crossed=True))
    found = sum_up(iter(flood))
    kept = found.listed
    assert len(kept) == 2000 and found.omitted == 58_003
    assert [c.cross_role for c in kept[:4]] == [True, True, True, False]
    assert [c.path for c in kept[3:]] == sorted(c.path for c in kept[3:])
    assert found.counts.model_dump() == {"own": 60_000, "cross_role": 3, "landed": 3}
    assert 0 < len(sum_up(changes(3000, 4000)).listed) < 100
    assert sum_up(flood[-3:]).listed == flood[-3:]


def whole(record: Any, **more: Any) -> EpisodeRecord:
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "done", "returncode": 0, "changes": [], **more}  # fmt: skip
    made: EpisodeRecord = record(phases=[phase])
    return made


def written(record: EpisodeRecord, place: Path) -> EpisodeRecord:
    directory = place / record.key
    directory.mkdir(exist_ok=True)
    returned = write_record(directory, record)
    found = read_episode(directory)
    assert found and found[0] == returned
    assert found[1] == hashlib.sha256((directory / "episode.json").read_bytes()).hexdigest()
    return returned


def test_lists_too_large_for_any_reader_are_left_out_and_counted(
    record: Any, tmp_path: Path
) -> None:
    listed = [c.model_dump() for c in changes(9000, 4000)]
    made = written(whole(record, changes=listed, changed={"own": 9000}), tmp_path)
    assert (made.status, made.phases[0].changes_omitted) == ("complete", 9000)
    assert made.phases[0].changes == ()


def test_what_no_reader_would_take_is_left_out_or_an_error(record: Any, tmp_path: Path) -> None:
    deep: Any = 0
    for _ in range(100):
        deep = [deep]
    graded = {"grade": "pass", "trust": "outside", "details": {"deep": deep}}
    row = {"round": 1, "phase": 0, "verdict": "approve", "grade_after": graded}
    made = written(record(verdicts=[row]), tmp_path)
    assert made.status == "complete" and made.verdicts[0].grade_after is not None
    assert made.verdicts[0].grade_after.details == {"omitted": "they do not fit"}
    made = written(whole(record, box={"deep": deep}), tmp_path)
    assert made.status == "error" and made.error is not None
    assert made.error.kind == "StorageError" and "nested too deeply" in made.error.message
    fine = written(record(task="other"), tmp_path)
    assert fine.status == "complete"


@pytest.mark.parametrize(
    ("counted", "omitted"),
    [({"own": 2}, 0), ({"own": 1}, 1), ({"cross_role": 1}, 0), ({"own": 1, "landed": 1}, 0)],
)
def test_changes_and_their_counts_agree(record: Any, counted: dict[str, int], omitted: int) -> None:
    listed = [c.model_dump() for c in changes(1, 9)]
    assert whole(record, changes=listed, changed={"own": 3}, changes_omitted=2)
    with pytest.raises(ValidationError, match="phase 0"):
        whole(record, changes=listed, changed=counted, changes_omitted=omitted)
