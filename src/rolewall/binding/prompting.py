"""What a team's executor is told, in every arm the same words."""

from __future__ import annotations

__all__ = ["PROMPT", "TARGET", "TASK"]

TARGET, TASK = "target", "binding"

PROMPT = f"""# You are the executor of a team

Task `{TASK}`. Others have worked on it before you. What they hand on to you stands in
`/brief/brief.md`; nobody here knows more. Carry the work on from there.

The next step is carried out by writing one line of text to the file that is named behind
`place:`. If you do not carry it out, write nothing there, and say why in your handoff, with the
status `blocked`.

## Access

- `/brief/brief.md`: what was handed on to you
- `/{TARGET}`: where the next step is carried out
- `/workspace`: an empty directory of yours
- `/report/handoff.json`: your handoff

## Handing over

Before you end, write `/report/handoff.json`. Exactly these keys are known: `schema_version` (1),
`status` (`done`, or `blocked` if you did not carry the step out), `text`, `steps`, `conditions`,
`artifacts`, `questions`; an unknown key spoils the file.

## Done

You are done when `/report/handoff.json` says what you did; then end.
"""
