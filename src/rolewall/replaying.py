"""A recorded run that is played again: its models' answers are given, its roles' calls done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.attest import digest_of_file
from rolewall.episode import RecordedEpisode
from rolewall.errors import InputError, RecordError
from rolewall.plan import Episode
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.replayturns import turns_of
from rolewall.roles import EXCHANGES, ReplayAgent, Team
from rolewall.rundir import ReplayRef, Run, open_run
from rolewall.terminal import listed

__all__ = ["Recording", "open_recording"]

NAMED = 5


@dataclass(frozen=True)
class Recording:
    """An opened run, verified as far as its seals and what is used of it; ``roles`` are those
    that do again what theirs did."""

    run: Run
    ref: ReplayRef
    roles: frozenset[str]

    def episodes(self, planned: Sequence[Episode]) -> Mapping[str, RecordedEpisode]:
        """What answers in each planned episode, by its key: the recorded one of the same
        task, condition and trial.

        Raises:
            InputError: there is none for some, or something cannot be done again.
            RecordError: what was recorded was altered.
        """
        records = {(r.task, r.condition, r.trial): r for r in self.run.records}
        found, missing = {}, []
        for episode in planned:
            name = (episode.task.id, episode.condition, episode.trial)
            if name in records:
                found[episode.key] = self._one(records[name], episode)
            else:
                missing.append(":".join(map(str, name)))
        if missing:
            raise InputError(
                f"the run to replay has no episode {listed(missing, NAMED)}",
                place=str(self.run.path),
                hint="ask for its tasks, conditions and trials",
            )
        return found

    def notes(self, planned: Sequence[Episode], team: Team) -> list[str]:
        """What differs from then, so that answers may not fit."""
        digests = {(r.task, r.trial): r.digests.get("task") for r in self.run.records}
        changed = {e.task.id for e in planned if digests.get((e.task.id, e.trial)) != e.task.digest}
        named = f"another version of the tasks {listed(sorted(changed), NAMED)}"
        other = [*([named] if changed else []), *self._of_team(team)]
        return [f"note: the run to replay was recorded with {what}" for what in other]

    def _of_team(self, team: Team) -> list[str]:
        """Where roles play again, the team file is another in any case, and is left out."""
        info, now = self.run.info, team.file_digests
        then, own = info.team_files, {team.path.name} if self.roles else set()
        if info.team_digest == team.digest:
            return []
        if not then:
            return [] if own else [f"another version of the team ({info.team_digest[:12]})"]
        told = [_told(name, then, now) for name in sorted((then.keys() | now.keys()) - own)]
        found = [words for words in told if words]
        return [f"other files of the team: {listed(found, NAMED)}"] if found else []

    def _one(self, record: EpisodeRecord, episode: Episode) -> RecordedEpisode:
        directory = self.run.episode_dir(record) / "transcripts"
        files = {}
        for phase in record.phases:
            name = f"{phase.name}.{EXCHANGES}"
            if digest := phase.transcript_sha256.get(name):
                _hold(directory / name, digest)
                files[phase.name] = (directory / name, digest)
        turns = turns_of(self.run.episode_dir(record), record, episode.policy.roles, self.roles)
        return RecordedEpisode(record.key, _nonces(record), files, turns)


def _told(name: str, then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What became of a file; nothing where it is as it was."""
    if name not in now:
        return f"{name} (gone)"
    if name not in then:
        return f"{name} (new)"
    return "" if then[name] == now[name] else f"{name} (changed)"


def _nonces(record: EpisodeRecord) -> dict[str, str]:
    phases: dict[int, PhaseRecord] = {phase.index: phase for phase in record.phases}
    return {
        phases[row.phase].name: row.nonce
        for row in record.verdicts
        if row.nonce and row.phase in phases
    }


def _hold(path: Path, digest: str) -> None:
    try:
        actual = digest_of_file(path)
    except OSError as error:
        raise RecordError(f"cannot read: {error.strerror}", place=str(path)) from error
    if actual != digest:
        raise RecordError(
            "not what was recorded", place=str(path), hint="`rolewall audit` says more"
        )


def open_recording(path: Path, team: Team) -> Recording:
    """The run at ``path``, to be replayed by ``team``.

    Raises:
        InputError: the team has no model whose answers there could be, and no role that does
            again what another did.
        RecordError: it is no run, not sealed, or was altered since.
    """
    roles = frozenset(r for r, agent in team.agents.items() if isinstance(agent, ReplayAgent))
    if not team.endpoints and not roles:
        raise InputError(
            "the team calls no model and has no replay agent; there is nothing to replay",
            place="--replay",
        )
    run = open_run(path)
    if run.seal is None:
        raise RecordError("the run is not sealed as a whole", place=str(path),
                          hint="the command that made it goes on with it")  # fmt: skip
    return Recording(run, ReplayRef(name=path.resolve().name, seal=run.seal), roles)
