"""That a role's program is not there, said in one way, whoever finds it out."""

from __future__ import annotations

from rolewall.errors import TeamError
from rolewall.roles.agents import AGENTS_PATH

__all__ = ["program_absent"]


def program_absent(
    role: str, kind: str, program: str, why: str, *, where: str = "", install: str = ""
) -> TeamError:
    """The error that ``program`` cannot play ``role``.

    Args:
        kind: the agent's, as the team names it.
        program: what was to be started: a path in the box, or a name.
        why: what is not there.
        where: the places that were looked in, for a message; empty for the one that
            ``program`` or ``why`` names.
        install: how a user gets it.
    """
    hint = "an install outside the image is shown to the box with --show DIR"
    if program.startswith(f"{AGENTS_PATH}/"):
        hint = "the team's own files are those beside the team file, at {agents}"
    return TeamError(
        f"{why}; looked in {where}" if where else why,
        place=f"roles.{role}.agent.{kind}",
        got=program,
        expected="a program in the role's box",
        hint="; ".join(filter(None, [install, hint, "docs/agents.md tells more"])),
    )
