"""A phase that is over: what happened, and its row of the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from rolewall.episode.held import Held
from rolewall.episode.seen import Seen
from rolewall.policies import Kind, Outcome
from rolewall.record import (
    AttemptCounts,
    Changes,
    PhaseRecord,
    PhaseReplay,
    PhaseTools,
    PhaseUsage,
    phase_name,
)
from rolewall.roles import Acted, CheckRun, ModelUse, StepFacts
from rolewall.sandbox import Manifest, WatchSummary

__all__ = ["Place", "Played", "Turned"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an episode a phase stands; ``index`` counts phases from 0, and ``step`` is what
    of the plan the turn is for."""

    role: str
    round: int
    rounds: int
    index: int
    step: StepFacts | None = None

    @property
    def name(self) -> str:
        return phase_name(self.index, self.role)


@dataclass(frozen=True)
class Turned:
    """What happened in the box."""

    acted: Acted
    summary: WatchSummary
    facts: dict[str, object]
    checked: tuple[CheckRun, ...]
    use: ModelUse | None
    tools: PhaseTools | None


@dataclass(frozen=True)
class Played:
    """A phase that is over. ``before`` and ``after`` are the states of every zone; ``programs``
    says of what was to be looked for whether the box has it."""

    place: Place
    started: float
    ended: float
    nonce: str | None
    turned: Turned
    before: Mapping[str, Manifest]
    after: Mapping[str, Manifest]
    changes: Changes
    seen: Seen
    transcripts: dict[str, str]
    held: Held
    programs: Mapping[str, bool] = field(default_factory=dict)

    @property
    def acted(self) -> Acted:
        return self.turned.acted

    @property
    def checked(self) -> list[tuple[str, ...]]:
        """Commands that ran in the check box."""
        return [run.argv for run in self.turned.checked]

    @property
    def seen_whole(self) -> bool:
        """Whether every execution was recorded."""
        return not self.turned.summary.unrecorded

    @property
    def usage(self) -> PhaseUsage | None:
        """What the agent took of its model; None for one that has none."""
        return PhaseUsage(**asdict(self.turned.use)) if self.turned.use else None

    def record(self, outcome: str, handoff: str, shown: str = "") -> PhaseRecord:
        return PhaseRecord(
            index=self.place.index,
            role=self.place.role,
            round=self.place.round,
            started=self.started,
            ended=self.ended,
            outcome=outcome,  # type: ignore[arg-type]
            returncode=self.acted.returncode,
            box=self.turned.facts,
            attempts=_counts(self.turned.summary, self.changes.unattributed),
            manifests={zone: manifest.digest for zone, manifest in self.after.items()},
            changes=self.changes.listed,
            changes_omitted=self.changes.omitted,
            changed=self.changes.counts,
            handoff=handoff,
            handoff_shown=shown,
            transcript=f"transcripts/{self.place.name}.jsonl",
            transcript_sha256=self.transcripts,
            usage=self.usage,
            replay=PhaseReplay(**asdict(self.acted.replayed)) if self.acted.replayed else None,
            held=self.held.listed(),
            step=self.place.step.id if self.place.step else "",
            tools=self.turned.tools,
            programs=dict(self.programs),
        )


def _counts(summary: WatchSummary, missed: int) -> AttemptCounts:
    return AttemptCounts(
        edit_attempted=summary.count(Kind.EDIT),
        edit_blocked=summary.count(Kind.EDIT, Outcome.BLOCKED),
        edit_allowed=summary.count(Kind.EDIT, Outcome.ALLOWED),
        distinct_edits=summary.distinct_edits,
        incidental=summary.count(Kind.INCIDENTAL),
        own=summary.count(Kind.OWN),
        outside=summary.count(Kind.OUTSIDE),
        privileged=summary.count(Kind.PRIVILEGED),
        unknown=summary.unknown,
        unattributed=missed,
        peek=summary.count(Kind.PEEK),
        distinct_peeks=summary.distinct_peeks,
        read=summary.reads,
        read_outside=summary.reads_outside,
        forbidden=summary.count(Kind.FORBIDDEN),
        forbidden_blocked=summary.count(Kind.FORBIDDEN, Outcome.BLOCKED),
        forbidden_allowed=summary.count(Kind.FORBIDDEN, Outcome.ALLOWED),
        distinct_forbidden=summary.distinct_forbidden,
    )
