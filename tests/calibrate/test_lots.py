"""What a box can see of its place in a calibration is no function of the truth."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.calibrate.sifting import Sifted
from rolewall.calibrate.slots import Slot, slots_of
from rolewall.candidate import TaskCandidates, condition_of
from rolewall.lots import in_order, new_salt, seed_of, trials_of
from rolewall.mutants import Mutant, Overlay, OverlayFile
from rolewall.rundir import TaskRef, episode_key
from rolewall.tasks import load_task

if TYPE_CHECKING:
    from conftest import Cli, Studio

    from tests.calibrate.conftest import Calibrate, Solved

SALTS = [f"{number:064x}" for number in range(200)]
PAIRS = 4
Seen = dict[str, Any]


@pytest.fixture
def sifted(solved: Solved) -> Sifted:
    """A task with so many mutants, as it was found before anything is shown."""
    task = load_task(solved())
    mutants = tuple(
        Mutant(f"m{n}", "sign.py", "boundary", f"sign.py:{n}: x", f"{n}\n".encode())
        for n in range(PAIRS)
    )
    info = TaskCandidates(task=task.id, mutants=PAIRS)
    return Sifted(task, info, Overlay({"sign.py": OverlayFile(b"right\n")}), mutants)


def seen(slots: list[Slot], salt: str) -> Iterator[tuple[Seen, bool]]:
    """What each box knows but for the work itself, in the order of the run; and the truth."""
    made = {}
    for slot in slots:
        task, one = slot.task, slot.candidate
        seed = seed_of(salt, task.id, one.trial, condition_of("plain"))
        key = episode_key(
            task=TaskRef(id=task.id, digest=task.digest), team_digest="t",
            condition=condition_of("plain"), trial=one.trial, seed=seed, backend="bubblewrap",
            image="host", code="c", observe="changes", candidate=one.sha256, salt=salt,
        )  # fmt: skip
        made[key] = ({"seed": seed, "key": key, "trial": one.trial}, one.kind == "solution")
    for place, key in enumerate(in_order(salt, made)):
        facts, right = made[key]
        yield facts | {"place": place}, right


GUESSES: dict[str, Callable[[Seen], object]] = {
    "the order": lambda s: s["place"],
    "the trial's number": lambda s: s["trial"],
    "the seed's parity": lambda s: s["seed"] % 2,
    "the seed's size": lambda s: s["seed"] >> 60,
    "the key": lambda s: s["key"][0],
}


@pytest.mark.parametrize("name", GUESSES)
def test_who_knows_all_earlier_runs_guesses_no_better(sifted: Sifted, name: str) -> None:
    """A verifier that approves where solutions were met more often in as many other runs."""
    runs = [list(seen(list(slots_of(sifted, trials=1, salt=salt)), salt)) for salt in SALTS]
    learnt: dict[object, int] = {}
    for facts, right in itertools.chain(*runs[:100]):
        clue = GUESSES[name](facts)
        learnt[clue] = learnt.get(clue, 0) + (1 if right else -1)
    approved = {True: 0, False: 0}
    for facts, right in itertools.chain(*runs[100:]):
        approved[right] += learnt.get(GUESSES[name](facts), 0) > 0
    assert abs(approved[True] - approved[False]) / (100 * PAIRS) < 0.1


def test_equal_options_give_other_trials_seeds_keys_and_order(sifted: Sifted) -> None:
    one, other = (
        list(seen(list(slots_of(sifted, trials=1, salt=salt)), salt))
        for salt in (new_salt(), new_salt())
    )
    for name in ("seed", "key"):
        values = [facts[name] for facts, _ in (*one, *other)]
        assert len(set(values)) == 4 * PAIRS, "each episode's own, and no other run's"
    assert all(facts["seed"] > 1 << 40 for facts, _ in one), "no count of pairs"
    assert all(0 <= facts["seed"] < 1 << 63 for facts, _ in one)
    lots = {(trials_of(salt, "t", 8), tuple(in_order(salt, "abcdefgh"))) for salt in SALTS}
    assert len(lots) == len(SALTS)
    assert trials_of(SALTS[0], "t", 8) != trials_of(SALTS[0], "u", 8)


def test_a_salt_decides_all(sifted: Sifted) -> None:
    first, again = (list(slots_of(sifted, trials=2, salt=SALTS[3])) for _ in range(2))
    assert [slot.candidate for slot in first] == [slot.candidate for slot in again]
    assert sorted(slot.candidate.trial for slot in first) == list(range(4 * PAIRS))


@pytest.mark.bubblewrap
def test_the_audit_holds_a_run_to_its_salt(
    calibrate: Calibrate, cli: Cli, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    team = studio.team(verifier={"verdict": "reject"})
    more = ("--mutants", "2", "--reports", "plain", "--seed", "3")
    made = calibrate(team, solved(), out=tmp_path / "run", more=more)
    assert made.code == 0, made.err
    assert cli("audit", made.run).code == 0
    path = made.run / "run.json"
    info = json.loads(path.read_text())
    salt, seeds = info["calibration"]["salt"], [r["seed"] for r in made.episodes()]
    assert len(salt) == 64 and info["seed"] == 3 and len(set(seeds)) == len(seeds) == 6
    for change, words in (
        (lambda said: said["keys"].reverse(), "its episodes are not in the order of its salt"),
        (_swapped, "the trials of sign are not those of its salt"),
        (lambda said: said["calibration"].update(salt="0" * 64), "its seed is"),
    ):
        other = json.loads(json.dumps(info))
        change(other)
        path.write_text(json.dumps(other))
        found = cli("audit", made.run)
        assert found.code == 1 and words in found.out, found.out


def _swapped(info: Any) -> None:
    """The two of one pair with each other's trials."""
    one, other, *_ = info["calibration"]["candidates"]
    for name in ("trial", "twin"):
        one[name], other[name] = other[name], one[name]
