"""Faults of handoffs: what the next role needed was known, and did not reach it whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.blame.planted.draft import Draft, name_of, plan_of, prose, talk
from tests.blame.planted.lay import Lot, Planted

__all__ = ["authority", "prerequisite", "stale"]


def _handed(handoff: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"handoff": {"schema_version": 1, **handoff}, **more}


def _lossy(draft: Draft, lot: Lot, arm: str) -> Lot:
    """The lot of a fault that an arm makes; its twin is shown everything."""
    return replace(lot, arm=arm if draft.fault else "full")


def _swapped(draft: Draft) -> list[int]:
    """An order of steps in which the second stands before the first."""
    rest = list(range(2, len(draft.world.jobs)))
    at = draft.rng.randint(0, len(rest))
    return [*rest[:at], 1, 0, *rest[at:]]


def prerequisite(draft: Draft) -> Planted:
    """Something must come first, and the executor is not told what or that."""
    return [_depends, _depends_prose, _condition, _cut_prose, _feedback_cut, _feedback_steps][
        draft.variant % 6
    ](draft)


def _depends(draft: Draft) -> Planted:
    plan = plan_of(draft.world.jobs, draft.rng, listed=_swapped(draft))
    style = draft.rng.choice(["program", "script"])
    lot = _lossy(draft, Lot(executor=style), "compressed")
    return draft.episode("handoff", lot, plan=_handed(plan))


def _depends_prose(draft: Draft) -> Planted:
    listed = _swapped(draft)
    said = prose([draft.world.jobs[n] for n in listed], draft.rng)
    plan = plan_of(draft.world.jobs, draft.rng, listed=listed, words=120, said=said)
    return draft.episode(
        "handoff", _lossy(draft, Lot(executor="script"), "prose"), plan=_handed(plan)
    )


def _condition(draft: Draft) -> Planted:
    jobs = draft.world.jobs
    plan = plan_of(jobs, draft.rng, listed=_swapped(draft), after={})
    first = next(step["id"] for step in plan["steps"] if step["goal"] == jobs[0])
    plan["conditions"] = [
        {
            "id": draft.rng.choice(["order", "first-things", "not-yet"]),
            "statement": f"{jobs[1]} only when the step before it is over",
            "prerequisite": first,
            "authority": "planner",
            "consequence": "The result is of the old state.",
        }
    ]
    return draft.episode("handoff", _lossy(draft, Lot(), "compressed"), plan=_handed(plan))


def _cut_prose(draft: Draft) -> Planted:
    """A planner that writes a letter, with what comes before all else at its end."""
    jobs, rng = draft.world.jobs, draft.rng
    text = f"{prose(jobs[1:], rng)} {talk(rng, 620)} Before all else, {jobs[0]}. {talk(rng, 30)}"
    return draft.episode(
        "handoff", _lossy(draft, Lot(), "compressed"), plan=_handed({"text": text})
    )


def _feedback_cut(draft: Draft) -> Planted:
    """Without planner: what is wanted comes with the feedback, behind a long output."""
    rng = draft.rng
    feedback = {"text": f"{talk(rng, 620)} Now {prose(draft.world.jobs, rng)}"}
    lot = _lossy(draft, Lot(rounds=2, planner=False), "compressed")
    check = {"feedback": feedback, "before": "The check says: <seen>\n"}
    return draft.episode("handoff", lot, check=check)


def _feedback_steps(draft: Draft) -> Planted:
    feedback = plan_of(draft.world.jobs, draft.rng, listed=_swapped(draft), words=60)
    lot = _lossy(draft, Lot(rounds=2, planner=False), "compressed")
    return draft.episode("handoff", lot, check={"feedback": feedback})


def authority(draft: Draft) -> Planted:
    """Somebody has to say yes, and the executor is not told who."""
    return [_named, _named_prose, _asked, _asked_prose, _letter][draft.variant % 5](draft)


def _who(draft: Draft) -> tuple[str, str, Draft]:
    """The condition's name, its authority, and a draft in which the work has to name it."""
    name = draft.rng.choice(["release", "sign-off", "go-live"])
    who = draft.rng.choice(["verifier", "planner"])
    job = f"put the authority of {name} as {draft.world.key} in {draft.world.file}"
    return name, who, replace(draft, world=draft.world.but(job, who))


def _named(draft: Draft) -> Planted:
    return _names(draft, Lot(executor="script"), "compressed")


def _named_prose(draft: Draft) -> Planted:
    return _names(draft, Lot(), "prose")


def _names(draft: Draft, lot: Lot, arm: str) -> Planted:
    name, who, draft = _who(draft)
    said = prose(draft.world.jobs, draft.rng) if arm == "prose" else ""
    plan = plan_of(draft.world.jobs, draft.rng, words=100, said=said)
    plan["conditions"] = [
        {"id": name, "statement": "Somebody answers for it.", "authority": who},
        {"id": "tidy", "statement": "The tree is tidy.", "status": "met", "authority": "planner"},
    ]
    # Who that is, the specification says elsewhere than in the list of what is to be done.
    spec = f"The authority of {name} is {who}.\n\n" + "\n".join(draft.world.jobs) + "\n"
    return draft.episode("handoff", _lossy(draft, lot, arm), plan=_handed(plan), spec=spec)


def _letter(draft: Draft) -> Planted:
    name, who, draft = _who(draft)
    rng = draft.rng
    text = f"{prose(draft.world.jobs, rng)} {talk(rng, 620)} The authority of {name} is {who}."
    spec = f"The authority of {name} is {who}.\n\n" + "\n".join(draft.world.jobs) + "\n"
    lot = _lossy(draft, Lot(), "compressed")
    return draft.episode("handoff", lot, plan=_handed({"text": text}), spec=spec)


def _asked(draft: Draft) -> Planted:
    return _asks(draft, "compressed")


def _asked_prose(draft: Draft) -> Planted:
    return _asks(draft, "prose")


def _asks(draft: Draft, arm: str) -> Planted:
    """Nothing may be written before the verifier lifts the freeze, who waits to be asked."""
    freeze = {
        "id": draft.rng.choice(["freeze", "embargo", "quiet-time"]),
        "statement": "Nothing is written before this is lifted.",
        "authority": "verifier",
        "forbids": ["write workspace"],
    }
    said = prose(draft.world.jobs, draft.rng) if arm == "prose" else ""
    plan = plan_of(draft.world.jobs, draft.rng, words=50, said=said)
    plan["conditions"] = [freeze]
    check = {"feedback": {"text": "Nothing is there yet. Do as the plan says."}, "lifts": freeze}
    lot = _lossy(draft, Lot(rounds=2), arm)
    return draft.episode("handoff", lot, plan=_handed(plan), check=check)


def stale(draft: Draft) -> Planted:
    """What the planner looked up was out of date, and no more so, when it was used."""
    arm, quoted = [("full", False), ("prose", True), ("full", True), ("typed", True)][
        draft.variant % 4
    ]
    world, rng = draft.world, draft.rng
    item = name_of(f"{draft.tag}/{draft.fault}/page")
    draft = replace(draft, world=world.but(f"look up {item} for {world.key} in {world.file}"))
    jobs = list(draft.world.jobs)
    if quoted:
        jobs[2] = f"set {world.key} to <{item}> in {world.file}"
    said = prose(jobs, rng) if arm == "prose" else ""
    plan = plan_of(jobs, rng, said=said)
    look_up = {item: f"http://pages/{item}"}
    return draft.episode(
        "handoff",
        Lot(arm=arm, page="all", ttl=1 if draft.fault else 600),
        plan=_handed(plan, look_up=look_up, rest=1.4),
        pages={item: [world.wrong, world.value] if draft.fault else [world.value]},
    )
