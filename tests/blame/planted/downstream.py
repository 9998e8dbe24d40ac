"""Faults of a role, of the grader, and of what roles were given to work with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.blame.planted.draft import Draft, name_of, plan_of, prose, talk
from tests.blame.planted.lay import Lot, Planted
from tests.blame.planted.worlds import made

__all__ = ["capability", "execution", "grader", "planning", "verification"]


def _handed(handoff: dict[str, Any]) -> dict[str, Any]:
    return {"handoff": {"schema_version": 1, **handoff}}


def _weak(draft: Draft) -> dict[str, Any]:
    """A verifier that has another part checked than the one that is wrong."""
    file = next(name for name in draft.world.done() if name != draft.world.file)
    return {"checks": [["sh", "-c", f"test -s {file} && echo {file} is there"]]}


def planning(draft: Draft) -> Planted:
    """The plan is not what the specification asks for; all else does as it is told."""
    world, rng, way = draft.world, draft.rng, draft.variant % 6
    jobs = list(world.jobs)
    bad, after = list(jobs), {1: 0}
    lot, check = Lot(), {}
    if way == 0:  # another value
        bad[2] = bad[2].replace(f"to {world.value} in", f"to {world.wrong} in")
    elif way == 1:  # a step is missing; what the arm drops besides would not have helped
        bad = [job for job in bad if job != jobs[2]]
        lot = Lot(arm="compressed", executor="script")
    elif way == 2:  # the wrong way round
        after = {0: 1}
    elif way == 3:  # a letter
        bad[2] = bad[2].replace(f"to {world.value} in", f"to {world.wrong} in")
        lot = Lot(arm="prose")
    elif way == 4:  # nobody looks
        bad = [job for job in bad if job != jobs[2]]
        lot = Lot(arm="typed")
        check = _weak(draft)
    else:  # twice, and what the verifier says is of no help
        bad[2] = bad[2].replace(f"to {world.value} in", f"to {world.wrong} in")
        lot = Lot(rounds=2, executor="script")
    told, order = (bad, after) if draft.fault else (jobs, {1: 0})
    if way == 3:
        plan = {"text": f"{talk(rng, 200)}{prose(told, rng)} {talk(rng, 50)}"}
    else:
        plan = plan_of(told, rng, after=order)
    return draft.episode("planning", lot, plan=_handed(plan), check=check)


def execution(draft: Draft) -> Planted:
    """The plan is right and there to be read; the executor does something else."""
    world, rng, way = draft.world, draft.rng, draft.variant % 8
    err: dict[str, Any] = {"alter": [[f"to {world.value} in", f"to {world.wrong} in"]]}
    lot, check, plan = Lot(), {}, plan_of(world.jobs, rng)
    if way == 1:
        err, lot = {"skip": [world.jobs[2]]}, Lot(executor="script")
    elif way == 2:
        err = {"as_listed": True}
        plan = plan_of(world.jobs, rng, listed=[1, 0, *range(2, len(world.jobs))])
    elif way == 3:
        err, lot = {"undo": [world.file]}, Lot(executor="script")
    elif way == 4:
        plan = plan_of(world.jobs, rng, words=700)
        lot = Lot(arm="compressed")
    elif way == 5:  # told again what to do, it does the same again
        lot = Lot(rounds=2, executor="script")
        check = {"feedback": {"text": f"Not yet: {world.right}. {talk(rng, 40)}"}}
    elif way == 6:
        check = _weak(draft)
    elif way == 7:
        plan = {"text": f"{talk(rng, 100)}{prose(world.jobs, rng)}"}
        lot, err = Lot(arm="prose", executor="script"), {"skip": [world.jobs[0]]}
    work = err if draft.fault else {}
    return draft.episode("execution", lot, plan=_handed(plan), work=work, check=check)


def verification(draft: Draft) -> Planted:
    """Work that fails, and would have been mended, is approved with a failing check at hand."""
    world, rng, way = draft.world, draft.rng, draft.variant % 6
    err: dict[str, Any] = {"alter": [[f"to {world.value} in", f"to {world.wrong} in"]]}
    manner, lot = ["shrug", "lie", "look away", "trust", "shrug", ""][way], Lot(rounds=2)
    given: dict[str, Any] = {}
    if way == 3:  # the report says that the executor's own check failed
        look = f"grep -qE '{world.key}.{{0,5}}\\b{world.value}\\b' {world.file}"
        err = {"skip": [world.jobs[2]], "then": [look], "frank": True}
    elif way == 4:  # it is the plan that lacks the step
        err = {}
        given["plan"] = _handed(plan_of([*world.jobs[:2], *world.jobs[3:]], rng))
    elif way == 5:
        world = replace(world, jobs=world.jobs[:3])  # all of which can be done twice
        draft = replace(draft, world=world)
        lot = Lot(rounds=2, executor="script", verifier="stamp" if draft.fault else "script")
    else:
        lot = replace(lot, executor=rng.choice(["program", "script"]))
    check = {
        "feedback": {"text": f"Not yet: {world.right}. {talk(rng, 30)}"},
        "manner": manner if draft.fault else "honest",
    }
    work = {**err, "errs_until": 1}
    return draft.episode("verification", lot, work=work, check=check, **given)


CRASHES = '''"""Compare the work with the truth."""

import json
import sys
from pathlib import Path

truth = json.loads(Path(sys.argv[1]).read_text())["expected"]
for name in truth:
    if Path(name + ".orig").read_text() == Path(name).read_text():
        sys.exit(1)
'''


def grader(draft: Draft) -> Planted:
    """The work is right by the specification, and the grader says that it is not."""
    world, rng, way = draft.world, draft.rng, draft.variant % 5
    done = world.done()
    bad: dict[str, Any] = {}
    if way == 0:
        old, new = f"to {world.value} in", f"to {world.wrong} in"
        jobs = [job.replace(old, new) for job in world.jobs]
        bad = {"truth": made(world.files, tuple(jobs))}
    elif way == 1:
        bad = {"program": CRASHES}
    elif way == 2:
        bad = {"truth": {**done, "CHANGES.txt": "done\n"}}
    elif way == 3:
        bad = {"truth": {name: text.replace("\n", "\r\n") + "." for name, text in done.items()}}
    else:
        bad = {"truth": {**done, world.file: world.files[world.file]}}
    style, arm = rng.choice(["program", "script"]), rng.choice(["full", "full", "compressed"])
    lot = Lot(arm=arm, executor=style, rounds=rng.choice([1, 2]))
    return draft.episode("grader", lot, **(bad if draft.fault else {}))


def capability(draft: Draft) -> Planted:
    """A step needs what nobody gave the executor."""
    way = draft.variant % 3
    return _program(draft) if way == 2 else _page(draft, "planner" if way == 0 else "")


def _page(draft: Draft, page: str) -> Planted:
    world, rng = draft.world, draft.rng
    item = name_of(f"{draft.tag}/page")
    draft = replace(draft, world=world.but(f"look up {item} for {world.key} in {world.file}"))
    plan = plan_of(draft.world.jobs, rng, needs={2: "use page"})
    lot = Lot(page=page if draft.fault else "all", executor=rng.choice(["program", "script"]))
    return draft.episode(
        "capability",
        lot,
        plan=_handed(plan),
        work={"stops": rng.random() < 0.5},
        pages={item: [world.value]},
    )


def _program(draft: Draft) -> Planted:
    world, rng = draft.world, draft.rng
    program = rng.choice(["upcase", "shoutify", "capsconv"])
    source = next(iter(world.files))
    job = f"use {program} to turn {source} into loud.txt"
    named = rng.random() < 0.7
    told = world.but(job)
    rest = replace(world, jobs=(*world.jobs[:2], *world.jobs[3:]))
    done = made(world.files, rest.jobs)
    done["loud.txt"] = {**world.files, **done}[source].upper()
    draft = replace(draft, world=told)
    # The program is given what the second step leaves.
    plan = plan_of(told.jobs, rng, after={1: 0, 2: 1}, needs={2: program} if named else None)
    return draft.episode(
        "capability",
        Lot(executor=rng.choice(["program", "script"])),
        plan=_handed(plan),
        done=done,
        work={"stops": rng.random() < 0.5},
        bins={} if draft.fault else {program: "#!/bin/sh\ntr a-z A-Z\n"},
    )
