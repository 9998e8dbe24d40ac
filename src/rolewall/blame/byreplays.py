"""From replays to a stage: the smallest change that turns fail into pass names it.

Where no change short of the reference does, more than one thing may be wrong. A stage that was
at fault by itself is then not dropped because another one was too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rolewall.blame.facts import Facts
from rolewall.blame.model import STAGES, Clue, Named, Replayed, Stage
from rolewall.critical import folded

__all__ = ["OWN_FAULT", "Ruled", "by_replays", "refuted"]

HEAVY = 0.8
OWN_FAULT = 0.65  # from here on a clue stands, where no replay could try what it says
UPSTREAM: tuple[tuple[str, Stage], ...] = (
    ("full", "handoff"),
    ("spec", "planning"),
    ("plan", "planning"),
)
REFERENCE: tuple[str, Stage] = ("reference", "execution")
WHOLE: Mapping[str, Stage] = {"full": "handoff", "plan": "planning"}
"""Changes that put all of a stage right. To read the specification is not yet to have a plan."""
WITH = {
    "full": "with all that there was upstream",
    "spec": "with the specification before the executor",
    "plan": "with the reference plan",
}
Done = Mapping[str, Replayed]


@dataclass(frozen=True)
class Ruled:
    """What the replays show. ``among`` are the stages that ``undecided`` leaves."""

    stage: Named
    why: str
    among: tuple[Stage, ...] = ()


def refuted(facts: Facts, replays: Sequence[Replayed]) -> Iterator[Stage]:
    """Stages that a replay leaves out: put right, they do not turn fail into pass; the grader,
    where it passes the reference solution; or capability, where an executor in the same box
    passes without what it was said to lack."""
    done = _told(replays)
    # What a role does beside its plan, or its handoff, it does in a replay too.
    spared = facts.broke
    # What a tool says later need not be what it said when the executor's turn began.
    fresh = not _renewed(done)
    for change, stage in WHOLE.items():
        if change not in done or done[change].passed or stage in spared:
            continue
        if stage != "handoff" or fresh:
            yield stage
    if any(change in done and done[change].passed for change, _ in UPSTREAM):
        yield "capability"
    if facts.failure != "verdict" and "reference" in done and done["reference"].grade == "pass":
        yield "grader"


def by_replays(
    facts: Facts,
    clues: Sequence[Clue],
    weights: Mapping[Stage, float],
    replays: Sequence[Replayed],
    *,
    chance: bool,
) -> Ruled | None:
    """What the replays show; None where they leave it to the clues.

    Args:
        weights: of the stages that no replay left out.
        chance: whether a role plays that does not do the same again.
    """
    done = _told(replays)
    if "same" in done and done["same"].passed:
        return _by_chance(done["same"])
    if facts.failure == "verdict":
        return _judged(done)
    return _smallest(done) or _from_reference(facts, clues, weights, done, chance)


def _by_chance(same: Replayed) -> Ruled:
    if same.renewed:
        return Ruled("handoff", "with what tools say now, and nothing else changed, it passes")
    return Ruled("undecided", "played again as it was, it does not fail: that was chance")


def _smallest(done: Done) -> Ruled | None:
    for change, stage in UPSTREAM:
        if change in done and done[change].passed:
            return Ruled(stage, f"{WITH[change]} it passes")
    return None


def _from_reference(
    facts: Facts,
    clues: Sequence[Clue],
    weights: Mapping[Stage, float],
    done: Done,
    chance: bool,
) -> Ruled | None:
    if "reference" not in done:
        return None
    helped = set() if chance else set(_helped(done))
    if not done["reference"].passed:
        return _grader(clues, done, helped)
    return (
        _verification(weights, done)
        or _capability(facts, clues, weights, done, chance)
        or _besides(facts, clues, done, helped)
        or _execution(facts, clues, weights, done)
    )


def _renewed(done: Done) -> bool:
    """Whether what had gone out of date was answered otherwise than before."""
    return any(one.renewed for one in done.values())


def _told(replays: Sequence[Replayed]) -> dict[str, Replayed]:
    return {one.change: one for one in replays if one.passed is not None}


def _helped(done: Done) -> Iterator[Stage]:
    """Stages that, put right, bring the work nearer to the reference solution, though not all
    the way: of its files the work has the same ones as before, and more."""
    before = done["same"].alike if "same" in done else None
    for change, stage in UPSTREAM:
        after = done[change].alike if change in done else None
        if before is not None and after is not None and after > before:
            yield stage


def _sure(clues: Sequence[Clue]) -> set[Stage]:
    """Stages that something speaks for, and not only that the work fails its grader."""
    return {one.stage for one in clues if one.weight >= OWN_FAULT and one.field != "grade"}


def _own(clues: Sequence[Clue]) -> bool:
    """Whether the executor erred in something that is known to have been told to it. How its turn
    ended, or what stopped it, need not be why the work is wrong."""
    return any(
        one.stage == "execution" and one.weight >= OWN_FAULT and one.field.startswith("critical.")
        for one in clues
    )


def _judged(done: Done) -> Ruled | None:
    """Right work without an approving verdict."""
    untouched, reference = done.get("untouched"), done.get("reference")
    if untouched and untouched.grade == "pass":
        return Ruled("grader", "it passes work that nobody touched")
    if reference and reference.grade == "fail":
        return Ruled("grader", "the reference solution fails it")
    if reference and reference.verdict != "approve":
        return Ruled("verification", "the verifier does not approve the reference solution either")
    return None


def _grader(clues: Sequence[Clue], done: Done, helped: set[Stage]) -> Ruled:
    """The grader fails its own solution. Whether the work was right is then for others to say:
    the record, or the verifier, if one change makes it approve what it rejected."""
    others = helped | _sure(clues) | _turned(done)
    others.discard("grader")
    why = "the reference solution, put in place, fails too"
    if not others:
        return Ruled("grader", why)
    return _several(f"{why}, and the work was not right either", {"grader", *others})


def _turned(done: Done) -> set[Stage]:
    """The stage whose change makes the verifier approve what it rejected, the smallest one."""
    if "same" in done and done["same"].verdict == "reject":
        for change, stage in (*UPSTREAM, REFERENCE):
            if change in done and done[change].verdict == "approve":
                return {stage}
    return set()


def _verification(weights: Mapping[Stage, float], done: Done) -> Ruled | None:
    if weights.get("verification", 0) >= HEAVY:
        why = "the work is wrong, and the verdict was there to find that"
        return Ruled("verification", why)
    untouched = done.get("untouched")
    if untouched and untouched.verdict == "approve" and weights.get("capability", 0) < HEAVY:
        return Ruled("verification", "the verifier approves work that nobody touched, too")
    return None


def _capability(
    facts: Facts, clues: Sequence[Clue], weights: Mapping[Stage, float], done: Done, chance: bool
) -> Ruled | None:
    if weights.get("capability", 0) < HEAVY:
        return None
    if "execution" in _sure(clues) or (not chance and _elsewhere(facts, done)):
        why = "the executor lacks what a step needs, and erred besides"
        return _several(why, {"capability", "execution"})
    why = "with the reference solution in place it passes, and a step needs what was not there"
    return Ruled("capability", why)


def _elsewhere(facts: Facts, done: Done) -> bool:
    """Whether the work is not the reference solution in a file that the plan names before the
    step that lacks something, and not from there on."""
    if "same" not in done or done["same"].alike is None:
        return False
    wrong = (done["reference"].alike or frozenset()) - done["same"].alike
    names = map(folded, wrong)
    return any(name in facts.before_unmet and name not in facts.from_unmet for name in names)


def _besides(facts: Facts, clues: Sequence[Clue], done: Done, helped: set[Stage]) -> Ruled | None:
    """With the reference executor it passes; what was put right before that was at fault too."""
    tried = {stage for change, stage in WHOLE.items() if change in done}
    both = helped | {one.stage for one in clues if one.alone and one.stage in tried}
    if "full" in done and _renewed(done):
        both.add("handoff")
    if not both:
        return None
    why = "the reference executor passes, and what was put right before it was wrong, too"
    return _several(why, {*both, "execution"})


def _execution(
    facts: Facts, clues: Sequence[Clue], weights: Mapping[Stage, float], done: Done
) -> Ruled | None:
    if max(weights.get("planning", 0), weights.get("handoff", 0)) >= OWN_FAULT:
        return None
    among: set[Stage] = {"execution"}
    if not (_known(facts, done) or _own(clues)):
        among.add("planning")
    if facts.may_lack and "capability" in weights:
        why = "with the reference executor it passes, and the executor may have lacked what it took"
        return _several(why, {"capability", *among})
    if "planning" in among:
        why = "with the reference executor it passes, and there is no reference plan to tell"
        return _several(f"{why} whether the plan was right", among)
    return Ruled("execution", "with the reference executor it passes, with nothing less")


def _known(facts: Facts, done: Done) -> bool:
    """Whether it is known that the executor was told all that it needed, and still failed."""
    if facts.known_complete or "plan" in done:
        return True
    if facts.failure == "forbidden":  # of conditions the plan says what there is to know
        return "full" in done or not facts.planned
    return "full" in done and not facts.planned


def _several(why: str, stages: set[Stage]) -> Ruled:
    return Ruled("undecided", why, tuple(stage for stage in STAGES if stage in stages))
