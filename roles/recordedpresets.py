"""What coding agents of somebody else's did, as acts that do the same without their program.

Known are the tools that act on files or run commands. Those that only look, or keep notes
within the program, change nothing and are left out. All others are refused: what they did
cannot be done without the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from rolewall.errors import InputError
from rolewall.roles.agents import PresetName
from rolewall.roles.presetacts import IDLE, TOOLS, NoAct, Place, Tools
from rolewall.roles.recorded import Call, Expected
from rolewall.roles.steps import ToolCall, ToolResult, Trajectory

__all__ = ["Acts", "acts_of"]

MOST_SECONDS = 86_400.0


@dataclass(frozen=True)
class Acts:
    """``left_out`` counts calls by name that do nothing in a box."""

    calls: tuple[Call, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def acts_of(preset: PresetName, asked: Trajectory, place: str) -> Acts:
    """What ``preset``'s model asked for, in order.

    Raises:
        InputError: a call has no equivalent, or the exchanges cannot be read whole.
    """
    results = {result.id: result for step in asked.steps for result in step.results}
    calls: list[Call] = []
    left_out: Counter[str] = Counter()
    stands = Place()
    if unread := [problem for problem in asked.problems if "cannot be read" in problem]:
        raise InputError(f"cannot be done again: {unread[0]}", place=place)
    for call in (call for step in asked.steps for call in step.calls):
        if call.name in IDLE[preset]:
            left_out[call.name] += 1
            continue
        try:
            expected = _expected(preset, results.get(call.id))
            calls += _calls(TOOLS[preset], call, expected, stands)
        except (NoAct, KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"cannot be done again without {preset}: a call of its tool {call.name}",
                place=place,
                got=_why(error),
                hint="replay the agent itself: --replay answers for its model",
            ) from None
    return Acts(tuple(calls), dict(left_out))


def _expected(preset: PresetName, result: ToolResult | None) -> Expected | None:
    if result is None:
        return None
    # Of the protocols only Anthropic's tells whether a tool failed.
    return Expected(result.text, result.failed if preset == "claude-code" else None)


def _calls(
    tools: Tools, call: ToolCall, expected: Expected | None, stands: Place
) -> Iterator[Call]:
    if call.name not in tools:
        raise NoAct("it has no equivalent")
    for did, seconds in tools[call.name](call.arguments, stands):
        limit = None if seconds is None else min(max(seconds, 0.0), MOST_SECONDS)
        yield Call(did, limit, expected)


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(str(found["msg"]) for found in error.errors()[:1])
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    return str(error)
