"""The record of one episode, as it stands in ``episode.json``."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rolewall.candidate import Candidate
from rolewall.critical import Critical
from rolewall.headline import contradictions
from rolewall.policies import Observe
from rolewall.roles import Arm, BreachKind

__all__ = [
    "AttemptCounts",
    "Breach",
    "Change",
    "ChangeCounts",
    "Changes",
    "ConditionEvent",
    "ContractRecord",
    "EpisodeRecord",
    "ErrorRecord",
    "Grade",
    "GradeRecord",
    "Patterns",
    "PhaseRecord",
    "PhaseReplay",
    "PhaseTools",
    "PhaseUsage",
    "Seed",
    "SpentLimit",
    "Told",
    "Verdict",
    "VerdictRecord",
    "phase_name",
    "sum_up",
]

Verdict = Literal["approve", "reject", "missing"]
Grade = Literal["pass", "fail", "error"]
Told = Literal["yes", "no", "unknown"]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Seed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 64)]
# Seconds since the epoch; the last that every reader can show lies beyond the year 5000.
Moment = Annotated[float, Field(ge=0, le=1e11)]
NAMED = 5
# What the seal of an episode says of it, beside its files.
SUMMARY = ("key", "task", "team", "condition", "trial", "seed", "backend", "image", "status",
           "verdict", "grade", "isolated", "trust", "digests")  # fmt: skip
LISTED, LISTED_CHARACTERS = 2000, 256 << 10  # changes of one phase, and their paths together


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class AttemptCounts(_Strict):
    """Attempts of one phase. ``edit_*`` are cross-role edits; ``distinct_edits``
    counts distinct (program, target) pairs among them; ``unattributed`` counts
    manifest changes outside the owner's phase with no matching allowed attempt.
    ``forbidden*`` is what an open condition forbids the role in a zone of its own, or to
    look at; changes of others' zones are edits, forbidden or not.
    These are known where reads are observed: ``peek`` counts looks at what is hidden,
    ``read`` other opens for reading in zones, ``read_outside`` those elsewhere."""

    edit_attempted: Count = 0
    edit_blocked: Count = 0
    edit_allowed: Count = 0
    distinct_edits: Count = 0
    incidental: Count = 0
    own: Count = 0
    outside: Count = 0
    privileged: Count = 0
    unknown: Count = 0
    unattributed: Count = 0
    peek: Count = 0
    distinct_peeks: Count = 0
    read: Count = 0
    read_outside: Count = 0
    forbidden: Count = 0
    forbidden_blocked: Count = 0
    forbidden_allowed: Count = 0
    distinct_forbidden: Count = 0


class Change(_Strict):
    """One entry of a shared zone that differs between two manifests.

    ``path`` is relative to the zone, undecodable bytes escaped as ``\\xNN``."""

    zone: str
    path: str
    change: Literal["created", "deleted", "modified"]
    what: tuple[str, ...] = ()  # of: content, mode, owner, mtime, type, target, xattrs, links
    cross_role: bool = False
    incidental: bool = False  # a cache that a tool writes unasked
    attributed: bool = True  # of a cross-role one: whether an allowed attempt accounts for it


class ChangeCounts(_Strict):
    """All changes of one phase, those a record leaves out too: in zones of its own
    role, in others' (``cross_role``), and distinct entries among these that are no
    caches (``landed``)."""

    own: Count = 0
    cross_role: Count = 0
    landed: Count = 0


@dataclass(frozen=True)
class Changes:
    """All changes of one phase summed up: the first of them, how many more there were,
    counts of all, and how many no attempt accounts for. ``landed`` has each zone of another's
    in which anything but caches changed, and the first such path: of all changes, listed or
    not, so that a flood of some decides nothing about others."""

    listed: tuple[Change, ...]
    omitted: int
    counts: ChangeCounts
    unattributed: int
    landed: Mapping[str, str]


def sum_up(changes: Iterable[Change]) -> Changes:
    """Sum up the changes of one phase, each entry once, without holding all of them.

    Listed are as many as a record has room for, unattributed ones first, then
    cross-role ones, then by zone and path.
    """
    own = crossed = landed = missed = 0
    first: dict[str, str] = {}

    def counted() -> Iterator[Change]:
        nonlocal own, crossed, landed, missed
        for change in changes:
            own += not change.cross_role
            crossed += change.cross_role
            if change.cross_role and not change.incidental:
                landed += 1
                first[change.zone] = min(change.path, first.get(change.zone, change.path))
            missed += not change.attributed
            yield change

    kept: list[Change] = []
    room = LISTED_CHARACTERS
    for change in heapq.nsmallest(LISTED, counted(), key=_rank):
        room -= len(change.path)
        if room < 0:
            break
        kept.append(change)
    counts = ChangeCounts(own=own, cross_role=crossed, landed=landed)
    return Changes(tuple(kept), own + crossed - len(kept), counts, missed, first)


def _rank(change: Change) -> tuple[bool, bool, str, str]:
    return change.attributed, not change.cross_role, change.zone, change.path


def phase_name(index: int, role: str) -> str:
    """What the names of a phase's files begin with."""
    return f"{index:02}-{role}"


class ConditionEvent(_Strict):
    """What became of a binding condition when a handoff was sealed, or the episode began.

    ``opened``: it binds from here on; ``discharged``: its authority said that it is met, or
    waived, as ``status`` tells; ``refused``: somebody said what counts for nothing, and
    ``why``. ``phase`` is None, and ``role`` ``harness``, for what the task brings; ``seal``
    is that of the handoff in which it was said. What the condition is stands in the event
    that opened it first."""

    phase: Count | None = None
    role: str
    condition: str
    event: Literal["opened", "discharged", "refused"]
    status: Literal["open", "met", "waived"]
    why: str = ""
    seal: str = ""
    authority: str = ""
    prerequisite: str = ""
    forbids: tuple[str, ...] = ()


class ContractRecord(_Strict):
    """What a role consumes and produces, each ``ZONE: TYPE``, what it may do, and what must
    be there when its turn ends."""

    consumes: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    done: tuple[str, ...] = ()


class Breach(_Strict):
    """Where a contract was broken: by the phase and role named, in ``zone``. See
    ``rolewall.roles.BREACHES`` for the kinds."""

    kind: BreachKind
    phase: Count
    role: str
    zone: str
    why: str


class SpentLimit(_Strict):
    """A limit of a role's budget that was used up, and what its phases so far took of it."""

    name: Literal["calls", "tokens", "usd", "seconds"]
    spent: Annotated[int | float, Field(ge=0)]
    limit: Annotated[int | float, Field(ge=0)]


class PhaseUsage(_Strict):
    """What one phase took of its model, by the endpoint's own count.

    ``calls`` went out; of these ``failed`` have no whole answer by the endpoint's fault, and
    ``uncounted`` one whose tokens nobody told: the sums are then too small. ``input`` holds
    ``cached``. What nobody told at all is None, and so is ``usd`` where any answer has no
    known cost. ``refused`` went nowhere; ``over_budget`` says that some did for want of budget,
    and ``spent`` which limits of it were used up. Of ``replayed`` calls ``drifted`` differ from
    the recorded ones."""

    calls: Count = 0
    refused: Count = 0
    failed: Count = 0
    input: Count | None = None
    cached: Count | None = None
    output: Count | None = None
    uncounted: Count = 0
    usd: Annotated[float, Field(ge=0)] | None = None
    seconds: Annotated[float, Field(ge=0)] = 0.0
    models: tuple[str, ...] = ()
    over_budget: bool = False
    spent: tuple[SpentLimit, ...] = ()
    replayed: bool = False
    drifted: Count = 0


class PhaseReplay(_Strict):
    """How a recorded phase went when its role's ``calls`` were done again: of ``drifted`` the
    result was another, or was not there then or now, as far as that is known; ``left_out`` do
    nothing in a box. ``outcome`` is how the phase ended when it was recorded."""

    calls: Count = 0
    drifted: Count = 0
    left_out: Count = 0
    outcome: str


class PhaseTools(_Strict):
    """What one phase asked of its team's tools.

    Of all ``calls``, ``live`` were answered by a run of the tool for them, ``cached`` by what
    was got earlier and still fresh, ``failed`` got nothing and ``refused`` were let nowhere.
    ``runs`` is how often a tool ran. ``repeated`` calls asked what had been answered in the
    episode before; for ``rerun`` of them a tool ran again. ``held`` is how many were of a tool
    that an open condition holds."""

    calls: Count = 0
    live: Count = 0
    cached: Count = 0
    failed: Count = 0
    refused: Count = 0
    runs: Count = 0
    repeated: Count = 0
    rerun: Count = 0
    held: Count = 0

    @model_validator(mode="after")
    def _adds_up(self) -> PhaseTools:
        if self.calls != self.live + self.cached + self.failed + self.refused:
            raise ValueError("calls of tools that do not add up")
        if self.rerun > min(self.repeated, self.runs) or self.runs > self.live + self.failed:
            raise ValueError("more runs of tools than calls that can have had them")
        return self


class PhaseRecord(_Strict):
    """One turn of a role. ``changes`` are the first of those that ``changed`` counts;
    ``changes_omitted`` is how many more there were."""

    index: Count
    role: str
    round: Annotated[int, Field(ge=1)]
    started: Moment
    ended: Moment
    outcome: Literal[
        "done", "blocked", "failed", "timeout", "violation", "disk", "memory", "budget"
    ]
    returncode: int | None
    box: dict[str, Any] = Field(default_factory=dict)  # uids, limits and mechanism, probe result
    attempts: AttemptCounts = AttemptCounts()
    manifests: dict[str, str] = Field(
        default_factory=dict
    )  # zone -> manifest digest after the phase
    changes: tuple[Change, ...] = ()
    changes_omitted: Count = 0
    changed: ChangeCounts = ChangeCounts()
    handoff: str | None = None  # sha256 of the sealed handoff
    handoff_shown: str = ""  # sha256 of the file that later roles were shown of it
    transcript: str | None = None  # path below the episode's directory
    transcript_sha256: dict[str, str] = Field(default_factory=dict)  # by file name
    usage: PhaseUsage | None = None  # of an agent that may call a model
    replay: PhaseReplay | None = None  # of an agent that does again what was recorded
    held: dict[str, tuple[str, ...]] = Field(
        default_factory=dict
    )  # what was forbidden meanwhile -> the open conditions that forbid it
    step: str = ""  # of the plan, that the turn was for; empty for the whole
    tools: PhaseTools | None = None  # of a role that may use a tool of its team
    programs: dict[str, bool] = Field(
        default_factory=dict
    )  # what the plan's steps need, as far as it can be one -> whether the role's box has it

    @property
    def name(self) -> str:
        return phase_name(self.index, self.role)


class GradeRecord(_Strict):
    """``trust`` is the grader's class; ``why`` is empty for a pass."""

    grade: Grade
    trust: Literal["outside", "in-process", "untrusted"]
    why: str = ""
    score: float | None = None
    seconds: float = 0.0
    manifest: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class Patterns(_Strict):
    """What a verifier's phase amounts to, told by its deeds: see ``rolewall.patterns``."""

    optimistic: Told
    echo: Told
    rewrite: Told


class VerdictRecord(_Strict):
    """One verifier phase: its verdict beside the grade of the work as it was
    handed to the verifier (``grade_before``) and as the verifier left it
    (``grade_after``). ``beside`` is what kept the verdict from being isolated, and ``held`` are
    the conditions that kept the work from the verifier, which is not isolated either: it is of
    what others say of the work. A verdict on
    one ``step`` of several has a grade only if it is the episode's last."""

    round: Annotated[int, Field(ge=1)]
    phase: Count
    verdict: Verdict
    why: str = ""  # for missing: what was wrong; else the verifier's summary
    nonce: str = ""  # of this phase: with it, the kept verdict file can be read again
    isolated: bool = True
    checks: tuple[dict[str, Any], ...] = ()
    claims: tuple[dict[str, Any], ...] = ()  # {command, seen: yes|no|unknown}
    grade_before: GradeRecord | None = None
    grade_after: GradeRecord | None = None
    patterns: Patterns | None = None
    beside: str = ""
    held: tuple[str, ...] = ()
    step: str = ""  # of the plan, that was judged; empty for the whole work
    whole: bool = True  # whether it is on the whole work: a last step's is


class ErrorRecord(_Strict):
    kind: str  # class name in rolewall.errors, or "manifest-alarm", "contract", "grader"
    message: str


class EpisodeRecord(_Strict):
    """``status`` is ``complete`` when a verdict row and a grade can be counted,
    ``error`` when infrastructure failed, the wall was broken or the grader could
    not judge even the start state. ``verdict`` and ``grade`` are the headline:
    the last verdict, and the grade of the final workspace.

    ``verified`` is False under a condition that has no verifier: then there is no
    verdict row, ``verdict`` is ``missing`` and says nothing of anybody, and ``final``
    is the grade that the last row would have.

    A record that contradicts itself is none: see ``rolewall.headline``."""

    schema_version: Literal[1] = 1
    key: str
    task: str
    team: str
    condition: str
    trial: Count
    seed: Seed
    backend: str
    image: str
    observe: Observe = "changes"
    started: Moment
    ended: Moment
    status: Literal["complete", "error"]
    verdict: Verdict
    grade: Grade
    isolated: bool = True
    trust: Literal["outside", "in-process", "untrusted"]
    phases: tuple[PhaseRecord, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    attempts: dict[str, AttemptCounts] = Field(default_factory=dict)  # by role, summed
    seconds: dict[str, float] = Field(default_factory=dict)  # agents, grader, harness
    ledger_head: str = ""
    ledger_lines: Count = 0
    error: ErrorRecord | None = None
    digests: dict[str, str] = Field(default_factory=dict)  # task, team, code
    verified: bool = True
    final: GradeRecord | None = None
    candidate: Candidate | None = None  # of a calibration: what was judged
    tries: tuple[ErrorRecord, ...] = ()  # errors that earlier tries of it ended in, first to last
    conditions: tuple[ConditionEvent, ...] = ()
    conditions_omitted: Count = 0  # events beyond those
    contracts: dict[str, ContractRecord] = Field(default_factory=dict)  # by role
    breaches: tuple[Breach, ...] = ()
    replay_of: str = ""  # the episode that was played again, or whose models answered, by its key
    handoff: Arm = "full"  # what roles were shown of handoffs
    critical: tuple[Critical, ...] = ()  # of the task

    @property
    def last_grade(self) -> GradeRecord | None:
        """The grade of the final workspace, with what its grader said."""
        if not self.verified:
            return self.final
        return self.verdicts[-1].grade_after if self.verdicts else None

    def summary(self) -> dict[str, Any]:
        """What the episode's seal says of it."""
        said: dict[str, Any] = {name: getattr(self, name) for name in SUMMARY}
        if not self.verified:
            said["verified"] = False
        if self.handoff != "full":
            said["handoff"] = self.handoff
        return said | {"ledger": {"head": self.ledger_head, "lines": self.ledger_lines}}

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> EpisodeRecord:
        if found := list(contradictions(self)):
            more = [f"and {len(found) - NAMED} more"] if len(found) > NAMED else []
            raise ValueError("; ".join([*found[:NAMED], *more]))
        return self
