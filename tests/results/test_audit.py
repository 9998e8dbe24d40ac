from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.audit import audit_run
from rolewall.errors import RecordError

if TYPE_CHECKING:
    from conftest import Cli

Edit = Callable[..., None]
_EMPTY = b"PACK" + bytes((0, 0, 0, 2, 0, 0, 0, 0))
PACK = _EMPTY + hashlib.sha1(_EMPTY, usedforsecurity=False).digest()


@pytest.fixture
def episode(builder: Any) -> Path:
    """One episode of a run with all its evidence."""
    directory: Path = builder.add(task="a", edits=3, landed=True)
    builder.finish()
    return directory


def run_of(episode: Path) -> Path:
    return episode.parent.parent


def altered(episode: Path) -> list[str]:
    report = audit_run(run_of(episode))
    found = [f.line() for f in report.findings if f.level == "altered"]
    assert report.exit_code == int(bool(found))
    return found


def test_an_untouched_run_holds(episode: Path) -> None:
    report = audit_run(run_of(episode))
    assert (report.exit_code, report.findings) == (0, ())
    assert report.verified == {
        "episodes": 1, "ledgers": 1, "manifests": 3, "contents": 3, "handoffs": 3,
        "transcripts": 3, "seals": 2, "signatures": 0,
    }  # fmt: skip
    seal = hashlib.sha256((run_of(episode) / "seal.json").read_bytes()).hexdigest()
    assert report.lines()[0] == f"seal sha256:{seal}"
    assert report.lines()[1].endswith("all holds: 1 episode, 1 ledger, 3 manifests, 3 contents,"
                                      " 3 handoffs, 3 transcripts, 2 seals verified")  # fmt: skip


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_flipped_bit_anywhere_in_the_ledger_is_found(episode: Path, data: st.DataObject) -> None:
    path = episode / "audit.jsonl"
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    try:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        assert any(f"{path}:" in line for line in altered(episode))
    finally:
        path.write_bytes(whole)
    assert altered(episode) == []


def test_lines_taken_added_or_swapped_are_found(episode: Path) -> None:
    path = episode / "audit.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for changed in (
        lines[:-1],
        lines[1:],
        [*lines[:2], *lines[3:]],
        [*lines, lines[-1]],
        [lines[1], lines[0], *lines[2:]],
        [],
    ):
        path.write_bytes(b"".join(changed))
        assert altered(episode)
    path.unlink()
    assert "gone; it had 5 lines" in altered(episode)[0]


def test_a_changed_manifest_is_named(episode: Path) -> None:
    path = episode / "manifests" / "01-executor-workspace.jsonl"
    path.write_bytes(path.read_bytes().replace(b"app.py", b"bpp.py"))
    found = altered(episode)
    assert len(found) == 1 and str(path) in found[0] and "the record says" in found[0]


def test_manifests_swapped_taken_or_added_are_named(episode: Path) -> None:
    place = episode / "manifests"
    one, two = place / "00-planner-workspace.jsonl", place / "01-executor-workspace.jsonl"
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    assert len(altered(episode)) == 2
    one.rename(place / "extra.jsonl")
    found = "\n".join(altered(episode))
    assert f"{one}: gone" in found and "extra.jsonl: an orphan" in found


def test_a_start_state_is_held_to_its_digest_where_the_record_has_it(
    episode: Path, edit: Edit
) -> None:
    path = episode / "manifests" / "start-workspace.jsonl"
    start = (episode / "manifests" / "00-planner-workspace.jsonl").read_bytes()
    path.write_bytes(start)
    assert any(f"{path}: an orphan" in line for line in altered(episode))
    edit(episode / "episode.json")
    assert f"{path}: an orphan: the record has no such manifest" in altered(episode)[0]
    record = json.loads((episode / "episode.json").read_text())
    digest = hashlib.sha256(start).hexdigest()
    edit(episode / "episode.json", digests={**record["digests"], "start:workspace": digest})
    assert audit_run(run_of(episode)).findings == ()
    path.write_bytes(b"other\n")
    assert str(path) in altered(episode)[0]


def test_edits_taken_out_of_a_ledger_sealed_anew_are_missed_in_the_record(
    episode: Path, edit: Edit
) -> None:
    from rolewall.policies import Ledger, read_ledger

    path = episode / "audit.jsonl"
    kept = [line for line in read_ledger(path) if line["type"] != "attempt"]
    path.unlink()
    with Ledger(path) as ledger:
        for line in kept:
            ledger.append({k: v for k, v in line.items() if k not in ("seq", "prev")})
        edit(episode / "episode.json", ledger_head=ledger.head, ledger_lines=ledger.lines)
    assert any("0 edits in phase 2, the record counts 3" in line for line in altered(episode))


@pytest.mark.parametrize("old, new", [(b"done", b"d0ne"), (b"  ", b"   ")])
def test_a_changed_handoff_is_found(episode: Path, old: bytes, new: bytes) -> None:
    path = episode / "handoffs" / "01-executor.json"
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert any(str(path) in line for line in altered(episode))


def test_a_missing_or_foreign_handoff_is_found(episode: Path) -> None:
    path = episode / "handoffs" / "01-executor.json"
    path.rename(episode / "handoffs" / "kept")
    found = "\n".join(altered(episode))
    assert f"{path}: gone: handoff" in found and "kept: an orphan" in found


def test_handoffs_are_chained(episode: Path, edit: Edit) -> None:
    from rolewall.roles import Collected, Handoff, complete_and_seal, sealed_bytes

    forged = complete_and_seal(
        Collected(Handoff(schema_version=1, text="forged"), ()),
        author="executor", phase=1, time=1.0, previous=None,
    )  # fmt: skip
    (episode / "handoffs" / "01-executor.json").write_bytes(sealed_bytes(forged))
    record = json.loads((episode / "episode.json").read_text())
    record["phases"][1]["handoff"] = forged.seal.sha256
    edit(episode / "episode.json", **record)
    assert any("sealed to none" in line for line in altered(episode))


def row(episode: Path, **fields: Any) -> list[dict[str, Any]]:
    """The verdict rows of a record, the last one changed."""
    rows = json.loads((episode / "episode.json").read_text())["verdicts"]
    return [*rows[:-1], rows[-1] | fields]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"verdict": "reject"},
            "headline verdict is reject, its last verdict row",
        ),
        ({"grade": "fail"}, "headline grade is fail, its last verdict row makes it pass"),
        (
            {"trust": "in-process"},
            "headline trust is in-process, a grade of its verdict rows makes it outside",
        ),
        ({"isolated": False}, "headline isolated is False, its verdict rows make it True"),
        ({"verdicts": []}, "headline verdict is approve, its last verdict row makes it missing"),
        (
            {"verdict": "missing", "grade": "error", "verdicts": []},
            "its status is complete, its grade error",
        ),
        ({"ledger_lines": 0}, "programs ran and its ledger has no line"),
        ({"ledger_head": "abc"}, "its ledger's head is abc, no SHA-256"),
        ({"trial": -1}, "trial"),
        ({"ended": 1e300}, "ended"),
        ({"status": "error"}, "its status is error, its error none"),
        ({"error": {"kind": "BoxError", "message": ""}}, "is complete, its error BoxError"),
        ({"condition": "prompt-only"}, "its key does not belong"),
        ({"seed": 99}, "its key does not belong"),
        ({"attempts": {}}, "edit_attempted of verifier is 0 by role and 3 by phase"),
        ({"attempts": {"ghost": {"own": 1}}}, "own of ghost is 1 by role and 0 by phase"),
        ({"ledger_lines": 4}, "not the recorded number of lines"),
        ({"grade": "splendid"}, "episode.json"),
    ],
)
def test_a_record_that_contradicts_itself_is_found(
    episode: Path, edit: Edit, fields: dict[str, Any], words: str
) -> None:
    edit(episode / "episode.json", **fields)
    assert any(words in line for line in altered(episode))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"verdict": "reject"}, "headline verdict is approve"),
        ({"isolated": False}, "headline isolated is True"),
        ({"grade_after": {"grade": "fail", "trust": "outside"}}, "headline grade is pass"),
        ({"grade_after": {"grade": "error", "trust": "outside"}}, "headline grade is pass"),
        ({"grade_after": None}, "its last verdict row makes it error"),
        ({"phase": 1}, "no phase of a verifier is phase 1 in round 1"),
        ({"round": 2}, "no phase of a verifier is phase 2 in round 2"),
    ],
)
def test_a_verdict_row_that_contradicts_the_headline_is_found(
    episode: Path, edit: Edit, fields: dict[str, Any], words: str
) -> None:
    edit(episode / "episode.json", verdicts=row(episode, **fields))
    assert any(words in line for line in altered(episode))


def test_an_episode_that_the_grader_could_not_judge_holds(episode: Path, edit: Edit) -> None:
    broken = {"grade": "error", "trust": "outside"}
    edit(
        episode / "episode.json",
        verdicts=row(episode, grade_after=broken),
        grade="error",
        status="error",
        error={"kind": "grader", "message": ""},
    )
    assert altered(episode) == []
    edit(episode / "episode.json", status="complete", error=None)
    assert any("its status is complete, its grade error" in line for line in altered(episode))


def test_phases_out_of_order_are_found(episode: Path, edit: Edit) -> None:
    record = json.loads((episode / "episode.json").read_text())
    edit(episode / "episode.json", phases=record["phases"][::-1])
    assert any("not numbered in order" in line for line in altered(episode))


@pytest.mark.parametrize("place", ["", "transcripts", "handoffs", "manifests", "../..", ".."])
@pytest.mark.parametrize("kind", ["file", "link", "FIFO", "directory"])
def test_whatever_no_record_speaks_of_is_found(episode: Path, place: str, kind: str) -> None:
    extra = (episode / place).resolve() / ("x" * 20 if place == ".." else "03-executor.jsonl")
    make: dict[str, Callable[[], object]] = {
        "file": lambda: extra.write_text("x"),
        "link": lambda: extra.symlink_to(episode / "episode.json"),
        "FIFO": lambda: os.mkfifo(extra),
        "directory": extra.mkdir,
    }
    make[kind]()
    found = altered(episode)
    assert len(found) == 1 and str(extra) in found[0]


@pytest.mark.parametrize(
    "name",
    ["audit.jsonl", "transcripts/00-planner.jsonl", "handoffs/01-executor.json",
     "manifests/02-verifier-workspace.jsonl"],
)  # fmt: skip
def test_a_link_in_the_place_of_evidence_is_no_evidence(
    episode: Path, tmp_path: Path, name: str
) -> None:
    path = episode / name
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away")
    assert any(f"{path}: a link, not a regular file" in line for line in altered(episode))


def test_handoffs_that_changed_places_are_found(episode: Path) -> None:
    one, two = (episode / "handoffs" / f"{n}.json" for n in ("00-planner", "01-executor"))
    one.rename(episode / "aside")
    two.rename(one)
    (episode / "aside").rename(two)
    found = altered(episode)
    assert len(found) == 2 and all("the record says" in line for line in found)


@pytest.mark.parametrize("damage", ["gone", "another", "no store"])
def test_a_content_that_a_manifest_names_must_be_in_the_store(episode: Path, damage: str) -> None:
    store = run_of(episode) / "blobs.git"
    oid = hashlib.sha1(b"blob 2\0xx", usedforsecurity=False).hexdigest()
    path = store / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    if damage == "gone":
        path.unlink()
    elif damage == "another":
        path.write_bytes(zlib.compress(b"blob 2\0yy"))
    else:
        shutil.rmtree(store)
    found = altered(episode)
    assert any(f"{store}: {oid}" in line and "app.py" in line for line in found)
    assert len(found) == {"gone": 1, "another": 2, "no store": 3}[damage]
    assert store.exists() == (damage != "no store")


@pytest.mark.parametrize("name", ["idx", "pack"])
def test_a_pack_that_no_store_has_is_found_and_not_read(cli: Cli, episode: Path, name: str) -> None:
    """Sparse, so that it costs who plants it nothing; to read it all would take hours."""
    place = run_of(episode) / "blobs.git" / "objects" / "pack"
    place.mkdir(parents=True, exist_ok=True)
    for suffix in ("idx", "pack"):
        (place / f"pack-{'0' * 40}.{suffix}").write_bytes(b"")
    path = place / f"pack-{'0' * 40}.{name}"
    os.truncate(path, 1 << 43)
    found = cli("audit", run_of(episode))
    assert found.code == 1 and "a bug in rolewall" not in found.out + found.err
    assert f"altered: {path}: a pack is damaged: no pack of a store has its size" in found.out


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"team": "others"}, "its team is fixers, the run's makes it others"),
        ({"team_digest": "0" * 64}, "its team's digest is"),
        ({"tasks": [{"id": "a", "digest": "0" * 64}]}, "its task's digest is"),
        ({"tasks": [{"id": "b", "digest": "0" * 64}]}, "task a was not asked for"),
        ({"backend": "docker"}, "its backend is bubblewrap"),
        ({"conditions": ["prompt-only"]}, "condition enforced was not asked for"),
        ({"seed": 8}, "its seed is 7, the run's makes it 8"),
        ({"keys": ["0" * 20]}, "stale: not of this run's plan"),
    ],
)
def test_a_record_of_another_run_is_found(
    episode: Path, builder: Any, asked: dict[str, Any], words: str
) -> None:
    builder.finish(**asked)
    assert any(words in line for line in altered(episode))


def test_a_trial_that_was_not_asked_for_is_found(builder: Any) -> None:
    episode = builder.add(task="a", trial=1)
    builder.finish(trials=2)
    assert altered(episode) == []
    builder.finish(trials=1)
    assert any("trial 1 was not asked for" in line for line in altered(episode))


def test_a_copy_under_another_name_is_found(episode: Path, edit: Edit, builder: Any) -> None:
    copy = builder.add(task="b")
    for name in ("audit.jsonl", "transcripts", "manifests", "handoffs"):
        shutil.rmtree(copy / name) if (copy / name).is_dir() else (copy / name).unlink()
    shutil.copytree(episode, copy, dirs_exist_ok=True, ignore=lambda *_: ["episode.json"])
    ours = json.loads((episode / "episode.json").read_text())
    same = ("phases", "attempts", "verdicts", "ledger_head", "ledger_lines", "verdict", "grade")
    edit(copy / "episode.json", **{name: ours[name] for name in same})
    builder.finish()
    assert any("two records of one ledger" in line for line in altered(episode))


def test_a_directory_that_cannot_be_read_is_not_taken_for_unfinished(
    episode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(episode)
    monkeypatch.chdir(run.parent)
    run.parent.chmod(0o755)
    episode.chmod(0)
    before = os.geteuid()
    try:
        if before == 0:
            os.seteuid(65534)
        lines = audit_run(Path(run.name)).lines()
    finally:
        os.seteuid(before)
        episode.chmod(0o755)
    assert any("altered" in line and "Permission denied" in line for line in lines)


def test_scratch_belongs_to_a_run_that_runs(episode: Path) -> None:
    (run_of(episode) / "scratch").mkdir()
    (line,) = altered(episode)
    assert "left by a run that was killed" in line
    with open(run_of(episode) / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert audit_run(run_of(episode)).findings == ()


LEFT = {
    "episode": ("episodes/evil", "an orphan: not of this run's plan"),
    "copy": ("episodes/" + "0" * 20, "an orphan: not of this run's plan"),
    "partial": (".partial-x", "left by a run that was killed"),
    "pack": (f"blobs.git/objects/pack/pack-{'0' * 40}.pack", "without an index"),
    "scratch": ("scratch", "left by a run that was killed"),
    "link": ("scratch/link", "an orphan: no record speaks of it"),
}


@pytest.mark.parametrize("what", list(LEFT))
@pytest.mark.parametrize("complete", [True, False])
def test_a_complete_run_holds_nothing_that_a_kill_leaves(
    builder: Any, what: str, complete: bool
) -> None:
    """In one that goes on it is a note, but for what no run leaves."""
    episode = builder.add(task="a")
    keys = [episode.name] if complete else [episode.name, "1" * 20]
    run = builder.finish(keys=keys, planned=len(keys), trials=len(keys))
    assert altered(episode) == []
    place, words = LEFT[what]
    path = run / place
    if what == "link":
        path.parent.mkdir()
        path.symlink_to("/etc/passwd")
    elif what == "copy":
        shutil.copytree(episode, path)
        (path / "episode.json").unlink()
    elif what in ("partial", "pack"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if what == "partial" else PACK)
    else:
        path.mkdir()
    if what == "pack":
        path.rename(path.with_name(f"pack-{PACK[-20:].hex()}.pack"))
    found = [x for x in audit_run(run).findings if words in x.message]
    assert len(found) == 1
    sure = complete or what in ("episode", "copy", "link")
    assert found[0].level == ("altered" if sure else "note")


def test_transcripts_changed_taken_or_added_are_named(episode: Path) -> None:
    place = episode / "transcripts"
    one, two = place / "00-planner.jsonl", place / "01-executor.jsonl"
    one.write_text("hallo\n")
    two.rename(place / "01-executor.stdout")
    found = "\n".join(altered(episode))
    assert f"{one}: its digest is" in found
    assert f"{two}: gone: the record has this transcript" in found
    assert "01-executor.stdout: an orphan: the record has no such transcript" in found


def test_a_transcript_that_the_record_does_not_have_is_an_orphan(episode: Path, edit: Edit) -> None:
    phases = json.loads((episode / "episode.json").read_text())["phases"]
    phases[0]["transcript_sha256"] = {}
    edit(episode / "episode.json", phases=phases)
    assert "00-planner.jsonl: an orphan: the record has no such transcript" in altered(episode)[0]


def test_what_a_broken_phase_left_is_held_to_the_seal(episode: Path, edit: Edit) -> None:
    left = episode / "transcripts" / "03-executor.jsonl"
    left.write_text("half")
    assert any("an orphan" in line for line in altered(episode))
    error = {"kind": "BoxError", "message": "gone"}
    edit(episode / "episode.json", status="error", error=error)
    assert altered(episode) == []
    left.write_text("whole")
    assert any(f"{left}: its SHA-256 is" in line for line in altered(episode))


@pytest.mark.parametrize(
    "line",
    [b"junk", b"[]", b'{"oid":"x"}', b'{"oid":7}', b'{"oid":"' + b"0" * 40 + b'","digest":[]}',
     b"[" * 100_000, b"\xff"],
)  # fmt: skip
def test_a_manifest_that_was_sealed_as_junk_is_one_finding(
    episode: Path, edit: Edit, line: bytes
) -> None:
    """A run directory may come from somebody who made all of it."""
    path = episode / "manifests" / "00-planner-workspace.jsonl"
    path.write_bytes(b'{"entries":1,"rolewall_manifest":1}\n' + line + b"\n")
    phases = json.loads((episode / "episode.json").read_text())["phases"]
    phases[0]["manifests"]["workspace"] = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(episode / "episode.json", phases=phases)
    assert altered(episode) == [f"altered: {path}:2: not a line of a manifest"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_junk_in_place_of_a_seal_is_a_finding(episode: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["seal.json", "../../seal.json", "../../seals.jsonl"]))
    path = (episode / name).resolve()
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)
    junk = data.draw(
        st.binary()
        | values.map(lambda value: json.dumps(value).encode())
        | st.dictionaries(st.sampled_from(["seq", "prev", "type", "subject", "_type"]), values).map(
            lambda value: json.dumps(value).encode() + b"\n"
        )
        | st.permutations(lines).map(b"".join)
    )
    try:
        path.write_bytes(junk)
        assert altered(episode) or junk == whole
    finally:
        path.write_bytes(whole)


def test_what_is_absent_is_a_note(episode: Path, builder: Any) -> None:
    (run_of(episode) / "episodes" / "half").mkdir()
    builder.finish(planned=3)
    report = audit_run(run_of(episode))
    assert (report.exit_code, len(report.findings)) == (0, 2)
    assert "2 of 3 planned episodes absent" in report.lines()[1]


def test_no_run_is_refused(tmp_path: Path, episode: Path) -> None:
    with pytest.raises(RecordError, match="not a run directory"):
        audit_run(tmp_path)
    shutil.rmtree(run_of(episode) / "episodes")
    (run_of(episode) / "episodes").write_text("junk")
    with pytest.raises(RecordError):
        audit_run(run_of(episode))
