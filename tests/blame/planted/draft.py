"""What all planted episodes have: words, a plan that is right, papers of the task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

from tests.blame.planted.lay import Lot, Planted
from tests.blame.planted.worlds import NAMES, World, world

__all__ = ["Draft", "critical_of", "draft", "name_of", "plan_of", "prose", "spec_of", "talk"]

TALK = [
    "I have read everything twice and there should be no surprises.",
    "Please keep the style of the files as it is.",
    "Nobody else is working on this today, so take the time that it needs.",
    "If something looks odd, say so in the report and go on.",
    "The history of this is long; most of it does not matter any more.",
    "There was a discussion about naming last month, which is settled.",
    "Small steps are better than one large one.",
    "I would not touch anything that is not named here.",
    "The people who asked for this are friendly but in a hurry.",
    "As always, what is written down counts more than what was said.",
    "It is a boring job, and should stay one.",
    "Thanks for doing this!",
]
VAGUE = [
    "Not as required. Please look again.",
    "The checks fail. I cannot say more here.",
    "This is not what was asked for.",
]


def talk(rng: Random, characters: int) -> str:
    """Sentences that say nothing, of at least so many characters."""
    said = ""
    while len(said) < characters:
        said += rng.choice(TALK) + " "
    return said


def prose(jobs: Iterable[str], rng: Random) -> str:
    """The jobs in the sentences of a text."""
    links = ["Then", "After that", "Next", "Also", "And"]
    said = [job if n == 0 else f"{rng.choice(links)} {job}" for n, job in enumerate(jobs)]
    return ". ".join(line[0].upper() + line[1:] for line in said) + "."


@dataclass
class Draft:
    """An episode on its way: ``rng`` is the same with and without the fault."""

    kind: str
    tag: str
    variant: int
    fault: bool
    rng: Random
    world: World

    def episode(self, stage: str, lot: Lot, **given: Any) -> Planted:
        """The whole, with ``given`` in place of what is usual."""
        world, rng = self.world, self.rng
        done = given.pop("done", None) or world.done()
        key = f"{self.tag}/{self.fault}"
        reads_spec, critical, reference = (rng.random() < share for share in (0.5, 0.67, 0.67))
        usual: dict[str, Any] = {
            "spec": spec_of(world, rng),
            "brief": f"Bring {', '.join(world.files)} up to date. {talk(rng, 40)}\n",
            "plan": {"handoff": {"schema_version": 1, **plan_of(world.jobs, rng)}},
        }
        work = {
            "files": sorted(done),
            "says": talk(rng, rng.choice([0, 60, 400])),
            "reads_spec": reads_spec,
            **given.pop("work", {}),
        }
        accept = "{agents}/verifier/accept.py"
        check = {
            "checks": [["python3", accept, f"{{agents}}/verifier/{name_of(key)}.json"]],
            "feedback": {"text": rng.choice(VAGUE)},
            **given.pop("check", {}),
        }
        right = {"schema_version": 1, **plan_of(world.jobs, Random(key))}
        return Planted(
            name=name_of(key),
            kind=self.kind,
            domain=world.domain,
            stage=stage if self.fault else "",
            lot=lot,
            files=world.files,
            done=done,
            work=work,
            check=check,
            reference=right if reference else None,
            critical=critical_of(world, rng) if critical else [],
            **{**usual, **given},
        )


def draft(kind: str, domain: str, variant: int, fault: bool) -> Draft:
    """The same world and the same luck for an episode and its twin."""
    tag = f"{kind}/{domain}/{variant}"
    rng = Random(tag)
    return Draft(kind, tag, variant, fault, rng, world(domain, rng))


def name_of(key: str) -> str:
    # Tells nothing of what is planted.
    number = crc32(key.encode())
    return f"{NAMES[number % len(NAMES)]}-{number % 89_993 + 10_000}"


def spec_of(world: World, rng: Random) -> str:
    lines = "\n".join(f"- {job}" for job in world.jobs)
    return f"# What is wanted\n\n{talk(rng, 60)}\n\nIn this order:\n\n{lines}\n"


def critical_of(world: World, rng: Random) -> list[dict[str, Any]]:
    """What whoever wrote the task thinks must not be missed; sometimes with a known mistake."""
    items: list[dict[str, Any]] = [
        {"id": f"c{n}", "words": [job]} for n, job in enumerate(world.jobs[:3], 1)
    ]
    if "look up" in world.jobs[2]:
        items[2]["words"].append(f"set {world.key} to")  # or what was looked up
    if rng.random() < 0.5:
        items[2]["against"] = [f"set {world.key} to {world.wrong} in"]
    return items


def plan_of(
    jobs: Sequence[str],
    rng: Random,
    *,
    listed: Sequence[int] | None = None,
    after: Mapping[int, int] | None = None,
    needs: Mapping[int, str] | None = None,
    words: int | None = None,
    said: str = "",
) -> dict[str, Any]:
    """A plan with a step for each job.

    Args:
        listed: the order in which the steps stand; theirs if None.
        after: which step depends on which, by number; the second on the first if None.
        words: about how many characters of talk there are before ``said``.
    """
    style = rng.choice(["s{0}", "step-{0}", "{1}", "p{0}"])
    ids = [style.format(n, "abcdefgh"[n - 1]) for n in range(1, len(jobs) + 1)]
    after = {1: 0} if after is None else after
    steps = []
    for n, job in enumerate(jobs):
        step: dict[str, Any] = {"id": ids[n], "goal": job}
        if n in after:
            step["depends_on"] = [ids[after[n]]]
        if rng.random() < 0.6:
            step["done_when"] = rng.choice(["the file says so", "git diff shows it", "done once"])
        if needs and n in needs:
            step["needs"] = [needs[n]]
        steps.append(step)
    plan: dict[str, Any] = {"steps": [steps[n] for n in listed or range(len(steps))]}
    length = rng.choice([0, 80, 300]) if words is None else words
    plan["text"] = (talk(rng, length) if length else "") + said
    if rng.random() < 0.3:
        plan["questions"] = [rng.choice(["Who tells the users?", "Is there a next time?"])]
    if rng.random() < 0.3:
        plan["status"] = "done"
    return plan
