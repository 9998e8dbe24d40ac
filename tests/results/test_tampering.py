"""A real run, edited after the fact in every way a file can be: the audit finds each."""

from __future__ import annotations

import json
import os
import random
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.audit import AuditReport, Finding, audit_run

if TYPE_CHECKING:
    from conftest import Cli, Studio

# Every value of every record, and not one of each kind, which takes minutes.
EVERY = bool(os.environ.get("ROLEWALL_EVERY_LEAF"))
CROSS = {"steps": [{"run": "echo x >> /workspace/app.py"}], "verdict": "reject"}
FIX = {"steps": [{"run": "sed -i 's/return x/return x + 1/' /workspace/app.py"}]}
UNGRADED = "import os; os._exit(126)\n"

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def run(cli: Cli, studio: Studio, tmp_path: Path) -> Path:
    """Both conditions, rejected rounds, a cross-role edit that landed, an error."""
    team = studio.team(rounds=2, executor=FIX, verifier=CROSS)
    tasks = [studio.task(), studio.task("ungraded", check=UNGRADED)]
    done = cli("compare", team, *(w for t in tasks for w in ("--tasks", t)),
               "--backend", "bubblewrap", "--jobs", 2, "-o", tmp_path / "run")  # fmt: skip
    assert done.code == 3, done.err
    records = [json.loads(path.read_text()) for path in records_of(tmp_path / "run")]
    assert [r["status"] for r in records].count("error") == 2
    assert all(len(r["verdicts"]) == 2 for r in records)
    assert {sum(p["changed"]["landed"] for p in r["phases"]) > 0 for r in records} == {True, False}
    return tmp_path / "run"


def records_of(run: Path) -> list[Path]:
    return sorted(run.glob("episodes/*/episode.json"))


def files_of(run: Path) -> list[Path]:
    return sorted(p for p in run.rglob("*") if p.is_file() and not p.is_symlink())


def named(run: Path) -> set[str]:
    """Ids of contents that a manifest names."""
    lines = [x for p in run.glob("episodes/*/manifests/*") for x in p.read_text().splitlines()[1:]]
    return {oid for line in lines if (oid := json.loads(line).get("oid"))}


def altered(report: AuditReport) -> list[Finding]:
    found = [f for f in report.findings if f.level == "altered"]
    assert report.exit_code == int(bool(found))
    return found


def places(report: AuditReport) -> list[str]:
    return [f.place for f in altered(report)]


def test_every_file_flipped_cut_grown_removed_or_renamed_is_found(run: Path) -> None:
    assert places(audit_run(run)) == []
    chance, contents = random.Random(3), named(run)
    for number, path in enumerate(files_of(run)):
        whole = path.read_bytes()
        for how in ways(path, number, contents, run):
            path.chmod(0o644)
            change(path, how, chance)
            found = places(audit_run(run))
            told = any(path.name in p or oid(path) in p for p in found)
            assert told or is_filling(path, whole), (how, path, found)
            restore(path, whole)
    assert places(audit_run(run)) == []


def is_filling(path: Path, whole: bytes) -> bool:
    """Whether only bits that fill up the last byte of a packed content differ: it is the same."""
    if len(path.name) != 38 or not path.exists():
        return False
    with suppress(zlib.error):
        return zlib.decompress(path.read_bytes()) == zlib.decompress(whole)
    return False


def oid(path: Path) -> str:
    return f"{path.parent.name}{path.name}" if len(path.name) == 38 else path.name


def ways(path: Path, number: int, contents: set[str], run: Path) -> Iterator[str]:
    """Every file is flipped, and meets one of the others in turn."""
    loose = path.is_relative_to(run / "blobs.git") and len(path.name) == 38
    if not path.stat().st_size:
        yield "grow"
        return
    yield "flip"
    # Nothing is lost with a content that no manifest names.
    rest = ("cut", "grow", "remove", "rename") if not loose or oid(path) in contents else ("cut",)
    yield from rest if EVERY else (rest[number % len(rest)],)


def change(path: Path, how: str, chance: random.Random) -> None:
    data = path.read_bytes()
    if how == "flip":
        at, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        path.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "grow":
        path.write_bytes(data + b"\n")
    elif how == "rename":
        path.rename(path.with_name(f"{path.name}x"))
    else:
        path.unlink()


def restore(path: Path, whole: bytes) -> None:
    path.with_name(f"{path.name}x").unlink(missing_ok=True)
    path.write_bytes(whole)


Keys = tuple[str | int, ...]


def leaves(value: Any, at: Keys = ()) -> Iterator[Keys]:
    below = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in below:
        if isinstance(inner, dict | list) and inner:
            yield from leaves(inner, (*at, key))
        else:
            yield (*at, key)


def one_of_each_kind(value: Any) -> Iterator[Keys]:
    seen = set()
    for at in leaves(value):
        kind = at if EVERY else tuple("#" if isinstance(key, int) else key for key in at)
        if kind not in seen:
            seen.add(kind)
            yield at


def other(value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return "0" * len(value) if value.strip("0") else f"{value}x"
    return "x" if value is None else [*value, "x"] if isinstance(value, list) else {"x": 1}


def documents(run: Path) -> Iterator[Path]:
    """Every file of JSON, of one episode at least."""
    yield run / "run.json"
    yield run / "seal.json"
    for record in records_of(run)[:: 1 if EVERY else 4]:
        yield record
        yield record.with_name("seal.json")
        yield from sorted(record.parent.glob("handoffs/*.json"))


def test_every_value_of_a_record_changed_or_taken_out_is_found(run: Path) -> None:
    for path in documents(run):
        whole = path.read_text()
        for number, at in enumerate(one_of_each_kind(json.loads(whole))):
            for take in {True, False} if EVERY else {bool(number % 2)}:
                path.write_text(edited(whole, at, take))
                found = altered(audit_run(run))
                assert any(names(f, path) for f in found), (path, at, take, found)
        path.write_text(whole)
    assert places(audit_run(run)) == []


def names(found: Finding, path: Path) -> bool:
    """Whether a finding is of this file, or sets another of its directory against it."""
    beside = found.place.startswith(str(path.parent)) and path.name in found.message
    return found.place.startswith(str(path)) or beside


def edited(whole: str, at: Keys, take: bool) -> str:
    value = json.loads(whole)
    holder = value
    for key in at[:-1]:
        holder = holder[key]
    if take:
        del holder[at[-1]]
    else:
        holder[at[-1]] = other(holder[at[-1]])
    return json.dumps(value, indent=1) + "\n"


def test_lines_of_the_log_of_seals_taken_or_swapped_are_found(run: Path) -> None:
    path = run / "seals.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(len(lines)):
        swapped = [*lines]
        swapped[number - 1], swapped[number] = swapped[number], swapped[number - 1]
        for changed in (lines[:number], lines[:number] + lines[number + 1 :], swapped):
            path.write_bytes(b"".join(changed))
            found = places(audit_run(run))
            assert any("seal" in place or "run.json" in place for place in found), changed
    path.write_bytes(b"".join(lines))


def test_episodes_removed_added_or_exchanged_are_found(run: Path, cli: Cli, tmp_path: Path) -> None:
    one, two = (path.parent for path in records_of(run)[:2])
    one.rename(tmp_path / "away")
    assert str(one) in places(audit_run(run))
    for command in (("show", run), ("gate", run, "--max-false-approval", "0.9")):
        refused = cli(*command)
        assert refused.code == 2 and "gone: an episode that counted" in refused.err
    two.rename(one)
    (tmp_path / "away").rename(two)
    assert any(str(one) in place for place in places(audit_run(run)))
    one.rename(tmp_path / "away")
    two.rename(one)
    (tmp_path / "away").rename(two)
    for name in ("audit.jsonl", "seal.json", "manifests/01-verifier-workspace.jsonl",
                 "handoffs/00-executor.json", "transcripts/00-executor.jsonl"):  # fmt: skip
        exchange(one / name, two / name)
        found = places(audit_run(run))
        assert any(str(one / name) in p for p in found), name
        assert any(str(two / name) in p for p in found), name
        exchange(one / name, two / name)
    assert places(audit_run(run)) == []


def exchange(one: Path, two: Path) -> None:
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)


def test_who_writes_all_of_it_anew_is_found_by_the_digest_that_was_kept(
    run: Path, cli: Cli, edit: Callable[..., None], tmp_path: Path
) -> None:
    kept = json.loads(cli("audit", run, "--json").out)["seal"]
    assert cli("audit", run, "--expect", f"sha256:{kept}").code == 0
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "key"],
                   check=True, timeout=60, capture_output=True)  # fmt: skip
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "key", "-pubout", "-out",
                    tmp_path / "public"], check=True, timeout=60, capture_output=True)  # fmt: skip
    assert cli("attest", run, "--key", tmp_path / "key").code == 0
    assert cli("audit", run, "--public-key", tmp_path / "public").code == 0

    path = records_of(run)[0]
    edit(path, started=json.loads(path.read_text())["started"] + 1)
    without = cli("audit", run)
    assert without.code == 0 and kept not in without.out, without.out
    told = cli("audit", run, "--expect", kept)
    assert told.code == 1 and f"expected {kept}" in told.out
    signed = cli("audit", run, "--public-key", tmp_path / "public")
    assert signed.code == 1
    for place in (run, path.parent):
        words = "gone" if place == run else "the signatures are of another"
        assert f"altered: {place / 'seal.dsse.json'}: {words}" in signed.out
    assert cli("show", run).code == 0
