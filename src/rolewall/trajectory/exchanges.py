"""A trajectory from the gateway's record of exchanges.

Every request repeats what was said before, and an agent may lead several conversations at a
time. So a message counts as new when a request holds it more often than any request before;
the same words that begin a second conversation are not told twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from rolewall._files import load_json
from rolewall.errors import RecordError
from rolewall.roles import StepList, TokenCounts, ToolResult, Trajectory
from rolewall.trajectory.protocols import Answer, Told, answer_in, told_in

__all__ = ["from_exchanges"]

MAX_LINE, MAX_DEPTH = 160 << 20, 256


@dataclass(frozen=True)
class _Exchange:
    """What is kept of one line; messages by digest, since requests repeat them."""

    n: int
    told: tuple[str, ...]
    answer: Answer
    tokens: TokenCounts | None
    started: float | None
    problem: str


def from_exchanges(data: bytes, agent: str) -> Trajectory:
    """The trajectory in the lines of an exchanges file.

    Args:
        data: the file, in which lines stand in the order in which exchanges ended.
        agent: what is known of the program that made the calls.
    """
    messages: dict[str, Told | ToolResult] = {}
    exchanges: list[_Exchange] = []
    problems: list[str] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = load_json(line, f"line {number}", error=RecordError, max_bytes=MAX_LINE,
                              max_depth=MAX_DEPTH)  # fmt: skip
        except RecordError as error:
            problems.append(f"an exchange cannot be read: {error}")
            continue
        if isinstance(found, dict):
            exchanges.append(_exchange(found, messages))
    exchanges.sort(key=lambda exchange: exchange.n)
    problems += [exchange.problem for exchange in exchanges if exchange.problem]
    steps = _steps(exchanges, messages)
    return Trajectory(agent, "", "exchanges", steps.done(), tuple(problems))


def _exchange(line: dict[str, Any], messages: dict[str, Told | ToolResult]) -> _Exchange:
    protocol, number = str(line.get("protocol")), line.get("n")
    told = []
    for message in told_in(protocol, line.get("request")):
        digest = sha256(repr(message).encode("utf-8", "surrogatepass")).hexdigest()
        messages.setdefault(digest, message)
        told.append(digest)
    n = number if isinstance(number, int) else 0
    return _Exchange(
        n=n,
        told=tuple(told),
        answer=answer_in(protocol, line.get("response")) if _answered(line) else Answer(),
        tokens=_tokens(line.get("usage")),
        started=_number(line.get("started")),
        problem=_problem(n, line),
    )


def _answered(line: dict[str, Any]) -> bool:
    return line.get("status") == 200 and not line.get("refused")


def _problem(n: int, line: dict[str, Any]) -> str:
    if line.get("refused"):
        return f"exchange {n} was refused: {line['refused']}"
    if line.get("failed"):
        return f"exchange {n} failed: {line['failed']}"
    if line.get("status") != 200:
        return f"exchange {n} ended with status {line.get('status')}"
    return ""


def _steps(exchanges: list[_Exchange], messages: dict[str, Told | ToolResult]) -> StepList:
    steps, seen = StepList(), Counter[str]()
    for exchange in exchanges:
        held = Counter[str]()
        for digest in exchange.told:
            held[digest] += 1
            if held[digest] > seen[digest]:
                _tell(messages[digest], exchange, steps)
        seen |= held
        _answer(exchange, steps)
    return steps


def _tell(message: Told | ToolResult, exchange: _Exchange, steps: StepList) -> None:
    if isinstance(message, ToolResult):
        steps.result(message)
    elif message.source == "system":
        steps.add("system", text=message.text, time=exchange.started)
    else:
        steps.add("user", text=message.text, time=exchange.started)


def _answer(exchange: _Exchange, steps: StepList) -> None:
    answer = exchange.answer
    if answer == Answer():
        return
    steps.add(
        "agent",
        time=exchange.started,
        model=answer.model,
        tokens=exchange.tokens,
        text=answer.text,
    )
    steps.think(answer.reasoning)
    for call in answer.calls:
        steps.call(call)


def _tokens(usage: object) -> TokenCounts | None:
    if not isinstance(usage, dict):
        return None
    known = {key: usage.get(key) for key in ("input", "output", "cached")}
    return TokenCounts(**{k: v if isinstance(v, int) else None for k, v in known.items()})


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
