"""Blame for one episode, and for each of a run."""

from __future__ import annotations

from rolewall.blame.clues import clues_of
from rolewall.blame.deciding import decide
from rolewall.blame.facts import Facts
from rolewall.blame.model import Blame
from rolewall.blame.replays import Replays, chancy
from rolewall.measures import read_files
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run

__all__ = ["blame_episode", "blame_run"]


def blame_episode(run: Run, record: EpisodeRecord, replays: Replays | None = None) -> Blame:
    """The stage that ``record`` failed at, from its files alone or by ``replays`` too.

    Raises:
        RecordError: a file is not what was recorded.
        InputError: team or task are not those of the episode.
        RolewallError: a replay could not be played, as of ``run_plan``.
    """
    facts = Facts(read_files(run, record), _mark(run, record))
    clues = clues_of(facts)
    if replays is None:
        return decide(facts, clues)
    done, notes = replays.play(facts)
    return decide(facts, clues, done, chance=chancy(replays.team, done), notes=notes)


def blame_run(run: Run, replays: Replays | None = None) -> tuple[Blame, ...]:
    """Of every episode that has a record. Raises as ``blame_episode``."""
    return tuple(blame_episode(run, record, replays) for record in run.records)


def _mark(run: Run, record: EpisodeRecord) -> str | None:
    return next((task.checked for task in run.info.tasks if task.id == record.task), None)
