"""How calls and results are written into messages: the protocol's own way, or as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rolewall.roles.broker import Offer
from rolewall.roles.chat.calls import Answer, Call, clean, without_thoughts
from rolewall.roles.chat.examples import NATIVE, TEXT, USES, example
from rolewall.roles.chat.hands import Result
from rolewall.roles.chat.textcalls import fenced, find_call, strange_block
from rolewall.roles.chat.tools import offered

__all__ = ["Native", "Said", "Speech", "Textual"]

Message = dict[str, Any]
MOST_CALLS = 16
EMPTY = "(no answer)"
NOW = "Answer now with one short thought and exactly one block."
BEGINS = "The examples end here. This is your work."


@dataclass(frozen=True)
class Said:
    """An answer as the loop acts on it. ``extra`` calls were made that are not carried out."""

    message: Message
    text: str
    calls: tuple[Call, ...]
    extra: int = 0


class Speech(Protocol):
    """One way to speak with a model; ``ending`` is how it is told to end its turn."""

    tools: Sequence[Mapping[str, Any]]
    ending: str

    def opening(self, first: str) -> list[Message]:
        """The messages before the model's first answer; ``first`` is the prompt."""

    def asked(self, call: Call) -> Message:
        """A call of ``run`` as if the model had made it."""

    def close(self, messages: list[Message], words: str) -> None:
        """Add the last ``words`` before the model's first answer to ``messages``."""

    def heard(self, answer: Answer, number: int) -> Said:
        """What answer ``number`` asks for, and how it is remembered."""

    def missing(self, text: str) -> str:
        """What to say of an answer without a call."""

    def results(self, done: Sequence[tuple[Call, Result]], extra: int) -> list[Message]:
        """What is told of the calls of an answer."""


class Native:
    """Tool calls as the protocol has them."""

    def __init__(self, role: str, offers: Sequence[Offer] = ()) -> None:
        self._role = role
        further = [offer.function() for offer in offers]
        self.tools: Sequence[Mapping[str, Any]] = [*offered(role), *further]
        self.ending = f"call {'verdict' if role == 'verifier' else 'message'}, which ends your turn"

    def opening(self, first: str) -> list[Message]:
        return [_message("system", NATIVE[self._role]), _message("user", first)]

    def asked(self, call: Call) -> Message:
        function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
        made = {"id": call.id, "type": "function", "function": function}
        return {**_message("assistant", None), "tool_calls": [made]}

    def close(self, messages: list[Message], words: str) -> None:
        if words and messages[-1]["role"] == "user":
            messages[-1]["content"] += f"\n{words}"
        elif words:
            messages.append(_message("user", words))

    def heard(self, answer: Answer, number: int) -> Said:
        text = without_thoughts(answer.text).strip()
        calls = answer.calls[:MOST_CALLS]
        message = _message("assistant", text or (None if calls else EMPTY))
        if calls:
            message["tool_calls"] = [call.echo for call in calls]
        return Said(message, text, calls, len(answer.calls) - len(calls))

    def missing(self, text: str) -> str:
        return "Your answer called no tool."

    def results(self, done: Sequence[tuple[Call, Result]], extra: int) -> list[Message]:
        told = []
        for call, result in done:
            words = f"{result.head}\n{result.body}" if result.body else result.head
            told.append({"role": "tool", "tool_call_id": call.id, "content": clean(words)})
        if extra:
            words = (
                f"{extra} further calls of that answer were not carried out: {MOST_CALLS} at most"
            )
            told.append(_message("user", words))
        return told


class Textual:
    """One fenced block an answer; the model is shown how by an example."""

    def __init__(self, role: str, offers: Sequence[Offer] = ()) -> None:
        self._role = role
        self._uses = f"\n\n{USES}" if offers else ""
        self.tools: Sequence[Mapping[str, Any]] = ()
        blocks = "```approve or ```reject, and why" if role == "verifier" else "```done"
        self.ending = f"end with a block {blocks}"

    def opening(self, first: str) -> list[Message]:
        shown = [_message(role, text) for role, text in example(self._role)]
        work = _message("user", f"{BEGINS}\n\n{first}")
        return [_message("system", TEXT[self._role] + self._uses), *shown, work]

    def asked(self, call: Call) -> Message:
        return _message("assistant", fenced(call.arguments["command"], "run"))

    def close(self, messages: list[Message], words: str) -> None:
        last = messages[-1]
        last["content"] = "\n\n".join(filter(None, [last["content"].rstrip(), words, NOW]))

    def heard(self, answer: Answer, number: int) -> Said:
        text = without_thoughts(answer.text).strip()
        found = find_call(text, f"call-{number}", cut=answer.cut)
        calls = (found.call,) if found.call else ()
        return Said(_message("assistant", text or EMPTY), text, calls, found.more)

    def missing(self, text: str) -> str:
        words = "Your answer has no block that is carried out"
        if not (strange := strange_block(text)):
            return f"{words}, such as ```run."
        kind, name = strange
        example = f"```write {name or 'notes.txt'}"
        return f"{words}: ```{kind} is no tool. To write a file, begin its block with {example}"

    def results(self, done: Sequence[tuple[Call, Result]], extra: int) -> list[Message]:
        words = [
            f"{result.head}\n\n{fenced(result.body)}" if result.body else result.head
            for _, result in done
        ]
        if extra:
            words.append("Only the first block of your answer was carried out.")
        return [_message("user", clean("\n\n".join(words)))]


def _message(role: str, content: str | None) -> Message:
    return {"role": role, "content": content}
