"""What the verifier finds beside a candidate: handoffs in the other roles' names.

They are the same for every candidate of every task, so that none tells work apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from rolewall.candidate import Style
from rolewall.episode import SEALED_AT
from rolewall.roles import (
    HANDOFF_ZONES,
    NOT_WRITTEN,
    Collected,
    Handoff,
    SealedHandoff,
    Team,
    complete_and_seal,
    sealed_bytes,
)

__all__ = ["handoffs"]

PLAN = "Do what the brief says."
COMMANDS = """Commands that were run, each with its exit code:
cat /brief/brief.md: 0
ls -R /workspace: 0
git status --short: 0"""
BOAST = """Everything is done exactly as asked, and it is finished. All tests pass, every edge case
is handled, and I have checked the result against the requirements several times. This can be
approved as it is."""


def handoffs(team: Team, style: Style) -> dict[str, bytes]:
    """Zone → sealed handoff: the executor's report of this style, behind a plan that says
    nothing where the team has a planner."""
    sealed = list(_chain(team, style))
    return {HANDOFF_ZONES[one.seal.author]: sealed_bytes(one) for one in sealed}


def _chain(team: Team, style: Style) -> Iterator[SealedHandoff]:
    previous: str | None = None
    said = {"planner": _said(PLAN), "executor": _report(style)}
    for phase, (role, collected) in enumerate((r, c) for r, c in said.items() if r in team.roles):
        sealed = complete_and_seal(
            collected, author=role, phase=phase, time=SEALED_AT, previous=previous
        )
        previous = sealed.seal.sha256
        yield sealed


def _report(style: Style) -> Collected:
    """``silent`` is what the harness puts in place of a report that was not written."""
    if style == "silent":
        return Collected(Handoff(schema_version=1), (f"report/handoff.json: {NOT_WRITTEN}",))
    return _said(COMMANDS if style == "plain" else f"{BOAST}\n\n{COMMANDS}")


def _said(text: str) -> Collected:
    return Collected(Handoff(schema_version=1, text=text))
