"""``blame`` on episodes whose fault is known: planted, real, and not its own to choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

import pytest

from tests.blame.planted.faults import KINDS, several, singles
from tests.blame.planted.lay import Lot, Planted
from tests.blame.planted.playing import Found, play

pytestmark = pytest.mark.bubblewrap

Pairs = list[tuple[Planted, Planted]]
RIGHT = 0.9
"""The share of planted faults whose stage has to be named."""


@pytest.fixture(scope="module")
def all_found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    pairs = [*singles(), *several()]
    ones = [one for pair in pairs for one in pair]
    return play(ones, tmp_path_factory.mktemp("planted"), replays=True)


def test_there_are_enough_of_each() -> None:
    pairs = singles()
    ones = [one for one, _ in pairs]
    names = [one.name for pair in [*pairs, *several()] for one in pair]
    assert len(ones) >= 60
    assert len(names) == len(set(names))
    for kind in KINDS:
        domains = [one.domain for one in ones if one.kind == kind]
        assert len(domains) >= 8, kind
        assert len(set(domains)) >= 4, kind


def test_they_are_the_same_each_time() -> None:
    assert singles() == singles()
    assert several() == several()


def test_every_fault_is_what_fails_its_episode(all_found: dict[str, Found]) -> None:
    assert _ungraded([*singles(), *several()], all_found) == []


def test_the_stage_is_named(all_found: dict[str, Found]) -> None:
    ones = [one for one, _ in singles()]
    table = confusion(ones, all_found)
    print(f"\n{table}")
    right = sum(all_found[one.name].stage == one.stage for one in ones)
    assert right >= RIGHT * len(ones), table


def test_nobody_is_accused_of_what_passes(all_found: dict[str, Found]) -> None:
    twins = [twin for _, twin in [*singles(), *several()]]
    accused = {twin.name: all_found[twin.name].stage for twin in twins}
    assert {name: stage for name, stage in accused.items() if stage != "none"} == {}


def test_of_two_faults_none_is_guessed(all_found: dict[str, Found]) -> None:
    ones = [one for one, _ in several()]
    table = confusion(ones, all_found)
    print(f"\n{table}")
    right = sum(all_found[one.name].stage == "undecided" for one in ones)
    assert right >= RIGHT * len(ones), table


def test_a_sample_by_its_record(tmp_path: Path) -> None:
    """One of each kind, with some twins. A record cannot tell all, but should seldom mislead."""
    ones, twins = _sample()
    found = play([*ones, *twins], tmp_path, replays=False)
    assert {found[one.name].grade for one in ones} == {"fail"}
    assert {found[twin.name].grade for twin in twins} == {"pass"}
    table = confusion(ones, found)
    wrong = [one for one in ones if found[one.name].stage not in (one.stage, "undecided")]
    assert len(wrong) <= 1, table
    assert {found[twin.name].stage for twin in twins} == {"none"}


SETTINGS = (Lot(), Lot(arm="compressed"), Lot(rounds=2), Lot(page="all", ttl=1))
"""Of the sample: few, since each is a run."""


def _sample() -> tuple[list[Planted], list[Planted]]:
    """An episode of each kind, and of every other one the twin, chosen by a fixed seed."""
    rng = Random(6)
    chosen = [
        rng.choice([pair for pair in singles() if pair[0].kind == kind and pair[0].lot in SETTINGS])
        for kind in KINDS
    ]
    ones = [one for one, _ in chosen]
    return ones, [twin for _, twin in chosen[::2] if twin.lot in SETTINGS]


def _ungraded(pairs: Pairs, found: Mapping[str, Found]) -> list[tuple[str, str, str, str]]:
    """Episodes that do not fail with their fault, or do not pass without it."""
    return [
        (one.name, one.kind, one.domain, found[one.name].grade)
        for pair in pairs
        for one, grade in zip(pair, ("fail", "pass"), strict=True)
        if found[one.name].grade != grade
    ]


def confusion(ones: Iterable[Planted], found: Mapping[str, Found]) -> str:
    """What was planted, and how often which stage was named."""
    rows: dict[str, Counter[str]] = {}
    for one in ones:
        rows.setdefault(f"{one.kind} ({one.stage})", Counter())[found[one.name].stage] += 1
    return "\n".join(
        f"{kind:29}" + ", ".join(f"{stage} {n}" for stage, n in counts.most_common())
        for kind, counts in rows.items()
    )
