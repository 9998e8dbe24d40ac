"""The ``script`` agent's file: shell steps, a handoff and, for a verifier, a verdict.

::

    steps:
      - {id: look, run: "cat /brief/brief.md"}           # in the role's own box
      - {id: tests, check: "python3 -m pytest -q"}       # in the check box; verifier only
    handoff: {text: "what I did", status: done}
    verdict: {when: tests, then: approve, else: reject}  # or approve, reject, none
    summary: "the tests pass"
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from rolewall._files import load_yaml
from rolewall._validate import Strict, validate
from rolewall.errors import TeamError
from rolewall.roles.handoff import Id, Parts

__all__ = ["Script", "ScriptHandoff", "ScriptStep", "When", "parse_script"]

Command = Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")]
Word = Literal["approve", "reject", "none"]


class ScriptStep(Strict):
    """One shell command, given to ``/bin/sh -c`` in ``/workspace``.

    ``run`` is for the role's own box, ``check`` for the check box. ``timeout`` is in seconds,
    None for what is left of the phase. ``stop_on_failure`` ends the script when the command
    fails; handoff and verdict are written all the same.
    """

    id: Id | None = None
    run: Command | None = None
    check: Command | None = None
    timeout: Annotated[float, Field(gt=0, le=86_400)] | None = None
    stop_on_failure: bool = False

    @model_validator(mode="after")
    def _one(self) -> ScriptStep:
        if (self.run is None) == (self.check is None):
            raise ValueError("a step has either run or check")
        return self

    @property
    def command(self) -> str:
        return self.run or self.check or ""


class ScriptHandoff(Parts):
    """The handoff that the script leaves; the keys are those of ``handoff.json``."""


class When(Strict):
    """A verdict that hangs on a step: ``then`` if it exited with 0, ``otherwise`` if it did
    not, was stopped, or was never reached. ``when`` None: it hangs on nothing."""

    when: Id | None
    then: Word
    otherwise: Word = Field(alias="else")


def _both(value: object) -> object:
    """A bare word is both branches of a verdict that hangs on nothing."""
    if isinstance(value, str):
        words = get_args(Word)
        if value not in words:
            raise ValueError(f"not a verdict, one of {', '.join(words)} or when, then, else")
        return {"when": None, "then": value, "else": value}
    if isinstance(value, dict) and "when" in value and value["when"] is None:
        raise ValueError("when names no step")
    return value


class Script(Strict):
    """A whole script. ``verdict`` None: the file says nothing, and no verdict is written."""

    steps: list[ScriptStep] = Field(default_factory=list, max_length=1000)
    handoff: ScriptHandoff | None = None
    verdict: Annotated[When, BeforeValidator(_both)] | None = None
    summary: Annotated[str, Field(max_length=20_000)] = ""

    @model_validator(mode="after")
    def _ids(self) -> Script:
        ids = Counter(step.id for step in self.steps if step.id is not None)
        for name, times in ids.items():
            if times > 1:
                raise ValueError(f"step id {name!r} is there {times} times")
        when = self.verdict.when if self.verdict else None
        if when is not None and when not in ids:
            known = ", ".join(ids) or "none; give a step an id"
            raise ValueError(f"verdict hangs on unknown step {when!r}; known: {known}")
        return self

    @property
    def checks(self) -> bool:
        """Whether any step goes to the check box."""
        return any(step.check is not None for step in self.steps)

    def decide(self, succeeded: frozenset[str]) -> Literal["approve", "reject"] | None:
        """The verdict to write, given the ids of steps that exited with 0; None writes none."""
        if self.verdict is None:
            return None
        holds = self.verdict.when in succeeded
        word = self.verdict.then if holds else self.verdict.otherwise
        return None if word == "none" else word


def parse_script(data: bytes, place: str, role: str) -> Script:
    """The script of ``role``.

    Raises:
        TeamError: unknown keys or steps, or a check or verdict in a role that is no verifier.
    """
    script = validate(Script, load_yaml(data, place, error=TeamError), place, TeamError)
    if role == "verifier":
        return script
    for index, step in enumerate(script.steps):
        if step.check is not None:
            at = f"{place}: steps[{index}].check"
            raise TeamError(f"only a verifier has a check box, not {role}", place=at)
    if script.verdict is not None:
        raise TeamError(f"only a verifier gives a verdict, not {role}", place=f"{place}: verdict")
    return script
