"""What was handed over as lists of lines, for the command ``handoff`` and the briefing.

Each thing is a line with its fields between tabs, and what more there is of it follows on
lines that begin with a tab. Nothing that a role wrote holds a tab or a line end by then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rolewall.roles.evidence import Evidence
from rolewall.roles.handoff import Artifact, Condition, Step
from rolewall.roles.onelines import cut_line, moment, one_line

__all__ = [
    "artifact_lines",
    "condition_lines",
    "evidence_detail",
    "evidence_line",
    "freshness",
    "question_lines",
    "step_lines",
    "words_of",
]

MOST_ARGUMENTS = 300  # characters in a list; the detail has them whole


def step_lines(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        yield _fields(step.id, step.status, step.goal)
        yield from _more("after", ", ".join(step.depends_on))
        yield from _more("needs", "; ".join(step.needs))
        yield from _more("done when", step.done_when)


def condition_lines(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        yield _fields(condition.id, condition.status, condition.statement)
        yield from _more("forbids", words_of(condition.forbids))
        yield from _more("prerequisite", condition.prerequisite)
        yield from _more("authority", condition.authority)
        yield from _more("fallback", condition.fallback)
        yield from _more("consequence", condition.consequence)


def question_lines(questions: Iterable[str]) -> Iterator[str]:
    for number, question in enumerate(questions, 1):
        yield _fields(str(number), question)


def artifact_lines(artifacts: Iterable[Artifact]) -> Iterator[str]:
    for artifact in artifacts:
        yield _fields(f"{artifact.zone}/{artifact.path}", artifact.sha256 or "-")


def evidence_line(found: Evidence, now: float) -> str:
    """Name, success, origin, time, freshness, and what was asked."""
    asked = cut_line(_arguments(found), MOST_ARGUMENTS)
    told = (found.id, _success(found), found.origin, moment(found.ended), freshness(found, now))
    return _fields(*told, f"{found.tool} {asked}")


def evidence_detail(found: Evidence, now: float, result: str) -> Iterator[str]:
    """All that is known of one, a line a field; ``result`` says how to get what it gave."""
    fields: dict[str, str | None] = {
        "id": found.id,
        "role": found.role,
        "tool": found.tool,
        "arguments": _arguments(found),
        "success": _success(found),
        "origin": found.origin,
        "started": f"{moment(found.started)} ({found.started:.3f})",
        "ended": f"{moment(found.ended)} ({found.ended:.3f})",
        "freshness": freshness(found, now),
        "fresh until": f"{found.fresh_until:.3f}" if found.fresh_until is not None else None,
        "result": result,
        "sha256": found.result,
        "bytes": None if found.size is None else str(found.size),
    }
    for name, value in fields.items():
        if value is not None:
            yield _fields(name, value)


def freshness(found: Evidence, now: float) -> str:
    """Whether it is out of date at ``now``, as far as anybody said when it would be."""
    if found.fresh_until is None:
        return "no time limit"
    until = moment(found.fresh_until)
    return f"fresh until {until}" if now < found.fresh_until else f"stale since {until}"


def words_of(value: str | Iterable[str]) -> str:
    """What a condition forbids: actions, or in files of earlier versions prose."""
    return value if isinstance(value, str) else "; ".join(value)


def _success(found: Evidence) -> str:
    return "ok" if found.ok else "failed"


def _arguments(found: Evidence) -> str:
    if found.unread:
        return "unreadable"
    return json.dumps(found.arguments, ensure_ascii=False)


def _fields(*fields: str) -> str:
    return "\t".join(map(one_line, fields))


def _more(name: str, value: str) -> Iterator[str]:
    if value:
        yield f"\t{name}: {one_line(value)}"
