"""Seals of a real run: what a kill leaves, what is refused, what an audit makes of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.plan import make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.sandbox import Backend, BoxSpec, Finding, Launched, find_backend
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Cli, Ran, Studio, User

APPROVE = {"verdict": "approve"}


class Resumable:
    """A finished run of two episodes, and the command that made it."""

    def __init__(self, cli: Cli, studio: Studio, out: Path) -> None:
        self.path = out
        self._cli = cli
        self._words = ["run", studio.team(verifier={"verdict": "reject"}), "--tasks",
                       studio.task(), "--trials", 2, "--backend", "bubblewrap",
                       "-o", out]  # fmt: skip
        self.first = self.again()

    def again(self) -> Ran:
        return self._cli(*self._words, "--json")

    def audit(self) -> Ran:
        return self._cli("audit", self.path)

    def lines(self) -> list[bytes]:
        return (self.path / "seals.jsonl").read_bytes().splitlines(keepends=True)

    def keep(self, lines: list[bytes]) -> None:
        (self.path / "seals.jsonl").write_bytes(b"".join(lines))

    def last(self) -> Path:
        """The episode that ended last."""
        return self.path / "episodes" / json.loads(self.lines()[-2])["episode"]


@pytest.fixture
def run(cli: Cli, studio: Studio, tmp_path: Path) -> Resumable:
    made = Resumable(cli, studio, tmp_path / "run")
    assert made.first.code == 0, made.first.err
    return made


def types(run: Path) -> list[str]:
    return [json.loads(line)["type"] for line in (run / "seals.jsonl").read_text().splitlines()]


COUNTED = ["opened", "sealed", "counted", "sealed", "counted", "closed"]


@pytest.mark.bubblewrap
def test_the_run_prints_the_digest_of_its_seal(run: Resumable) -> None:
    digest = hashlib.sha256((run.path / "seal.json").read_bytes()).hexdigest()
    said = run.first.json
    assert f"seal sha256:{digest}" in run.first.err and said["seal"] == digest
    assert (said["run"], said["indices"]) == (str(run.path), [])
    assert f"seal sha256:{digest}" in run.audit().out
    assert types(run.path) == COUNTED
    again = run.again()
    assert again.code == 0 and again.json == run.first.json and types(run.path) == COUNTED


def at_the_record(run: Resumable) -> None:
    """Killed after an episode was sealed, before its record was in place."""
    (run.last() / "episode.json").unlink()
    run.keep(run.lines()[:-2])
    (run.path / "seal.json").unlink()


def after_the_record(run: Resumable) -> None:
    """Killed when the record was in place, before that was noted."""
    run.keep(run.lines()[:-2])
    (run.path / "seal.json").unlink()


def in_a_line(run: Resumable) -> None:
    """Killed, with the power, while a line was written."""
    lines = run.lines()
    run.keep([*lines[:-2], lines[-2][:40]])
    (run.path / "seal.json").unlink()


def in_a_file(run: Resumable) -> None:
    """Killed while the run's seal was written, under another name."""
    run.keep(run.lines()[:-1])
    (run.path / "seal.json").rename(run.path / ".partial-abc")


@pytest.mark.pain(19)
@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("kill", "kept"),
    [(at_the_record, 1), (after_the_record, 2), (in_a_line, 2), (in_a_file, 2)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_a_kill_leaves_is_no_alteration_and_is_continued(
    run: Resumable, kill: Callable[[Resumable], None], kept: int
) -> None:
    before = {p: p.read_bytes() for p in run.path.glob("episodes/*/episode.json")}
    kill(run)
    left = [p for p in before if p.exists()]
    assert len(left) == kept
    between = run.audit()
    assert between.code == 0 and "not sealed as a whole" in between.out, between.out
    again = run.again()
    assert again.code == 0, again.err
    assert again.json["table"] == run.first.json["table"]
    assert all(path.read_bytes() == before[path] for path in left)
    assert types(run.path)[-1] == "closed" and types(run.path).count("counted") == 2
    after = run.audit()
    assert after.code == 0 and "3 seals verified" in after.out, after.out


@pytest.mark.bubblewrap
def test_a_run_that_lost_its_seal_gets_the_same_one(run: Resumable) -> None:
    whole = (run.path / "seal.json").read_bytes()
    (run.path / "seal.json").unlink()
    assert run.audit().code == 1
    assert run.again().code == 0 and run.audit().code == 0
    assert (run.path / "seal.json").read_bytes() == whole


def edited(run: Resumable) -> str:
    path = run.last() / "episode.json"
    path.write_text(path.read_text().replace('"seed": ', '"seed":  ', 1))
    return f"{path}: changed since it was sealed"


def removed(run: Resumable) -> str:
    last = run.last()
    shutil.rmtree(last)
    return f"{last}: gone: an episode that counted"


def unlogged(run: Resumable) -> str:
    run.keep(run.lines()[:1])
    return f"{run.path / 'episodes'}"


def no_log(run: Resumable) -> str:
    (run.path / "seals.jsonl").unlink()
    return f"{run.path / 'seals.jsonl'}: gone"


def another_plan(run: Resumable) -> str:
    path = run.path / "run.json"
    path.write_text(path.read_text().replace('"created": ', '"created":  ', 1))
    return f"{path}: changed since the run began"


@pytest.mark.pain(19)
@pytest.mark.bubblewrap
@pytest.mark.parametrize("alter", [edited, removed, unlogged, no_log, another_plan])
def test_a_run_that_was_altered_is_not_continued(
    run: Resumable, alter: Callable[[Resumable], str]
) -> None:
    words = alter(run)
    state = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    assert run.audit().code == 1
    refused = run.again()
    assert refused.code == 2 and words in refused.err, refused.err
    assert refused.err.count("\n") == 1
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == state


class Broken:
    """A backend whose boxes have a directory that no policy gave them."""

    def __init__(self, real: Backend) -> None:
        self.name = real.name
        self._real = real

    def launch(self, spec: BoxSpec) -> Launched:
        from dataclasses import replace

        return self._real.launch(replace(spec, private=(*spec.private, "grader")))

    def diagnose(self) -> list[Finding]:
        return self._real.diagnose()

    def clean(self) -> list[str]:
        return self._real.clean()


@pytest.mark.bubblewrap
def test_an_episode_that_is_run_again_stays_in_the_log(
    cli: Cli, studio: Studio, tmp_path: Path
) -> None:
    team, tasks = load_team(studio.team(verifier=APPROVE)), load_tasks([studio.task()])
    real, out = find_backend("bubblewrap"), tmp_path / "run"
    first = run_plan(make_plan(team, tasks, ["enforced"], Broken(real)), out)
    assert first.records[0].status == "error" and cli("audit", out).code == 0
    kept = cli("audit", out, "--json").json["seal"]
    second = run_plan(make_plan(team, tasks, ["enforced"], real), out)
    assert second.records[0].status == "complete"
    assert types(out) == ["opened", "sealed", "counted", "closed",
                          "opened", "discarded", "sealed", "counted", "closed"]  # fmt: skip
    assert cli("audit", out).code == 0
    assert cli("audit", out, "--expect", kept).code == 1


@pytest.mark.bubblewrap
def test_a_verdict_must_be_what_the_kept_file_makes_it(
    cli: Cli, studio: Studio, edit: Callable[..., None], tmp_path: Path
) -> None:
    """All seals are made anew, and the record agrees with itself: the work alone tells."""
    done = cli("run", studio.team(verifier={"verdict": "reject"}), "--tasks", studio.task(),
               "--backend", "bubblewrap", "-o", tmp_path / "run")  # fmt: skip
    assert done.code == 0, done.err
    (path,) = (tmp_path / "run").glob("episodes/*/episode.json")
    whole = json.loads(path.read_text())
    changes: list[dict[str, Any]] = [
        {"verdict": "approve"}, {"why": "splendid"}, {"checks": [{"name": "x"}]},
        {"claims": [{"command": "pytest", "seen": "yes"}]}, {"nonce": "0" * 32}, {"nonce": ""},
    ]  # fmt: skip
    for change in changes:
        row = {**whole["verdicts"][0], **change}
        edit(path, verdicts=[row], verdict=row["verdict"])
        found = cli("audit", tmp_path / "run")
        assert found.code == 1, change
        assert f"altered: {path}: " in found.out and "of phase 1" in found.out
    edit(path, verdicts=whole["verdicts"], verdict="reject")
    assert cli("audit", tmp_path / "run").code == 0


@pytest.mark.pain(16)
def test_whoever_runs_it_can_seal_sign_and_audit_it(
    user: User, backend: Backend, studio: Studio
) -> None:
    team, task = studio.team(verifier=APPROVE), studio.task()
    place = user.directory("place")
    for name, source in (("team", team.parent), ("task", task)):
        shutil.copytree(source, place / name)
    user.give(place)
    key, public = keys(place)
    user.give(place)
    done = user.cli("run", place / "team" / "team.yaml", "--tasks", place / "task", "--backend",
                    backend.name, "--sign", key, "-o", place / "run")  # fmt: skip
    assert done.code == 0, done.err
    audit = user.cli("audit", place / "run", "--public-key", public)
    assert audit.code == 0 and "2 seals, 2 signatures verified" in audit.out, audit.out


def keys(place: Path) -> tuple[Path, Path]:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private, public = place / "key.pem", place / "key.pub"
    private.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(
        key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public
