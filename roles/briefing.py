"""The briefing: what was handed over, on a page, for an agent that only reads text.

What binds stands first: open conditions, then steps, evidence, questions, and the role's own
words last. What there is no room for is counted, and the command that shows it is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rolewall.roles.evidence import Evidence
from rolewall.roles.handedtext import evidence_line, words_of
from rolewall.roles.handoff import Condition, Step
from rolewall.roles.onelines import cut_line, one_line
from rolewall.roles.seal import SealedHandoff

__all__ = ["MOST_BRIEFING", "briefing"]

MOST_BRIEFING = 4096
"""Bytes of a briefing."""

MOST_AUTHOR = 64
MOST_WORDS = 160  # characters of one field of a condition or a step
MOST_LINE = 240  # bytes of a line
MOST_CONDITION = 720  # bytes of the line of a condition, which has six fields


@dataclass(frozen=True)
class _Section:
    """``lines`` in their order, each of one line; ``last`` keeps the last ones where not all
    have room, else the first. ``command`` shows them all."""

    title: str
    lines: Sequence[str]
    command: str
    noun: str
    last: bool = False

    @property
    def size(self) -> int:
        return sum(map(_size, self.lines))

    @property
    def frame(self) -> int:
        """Bytes that it takes beside its lines, at most."""
        return sum(map(_size, (*self._head(), self._more(len(self.lines)), "")))

    def cut(self, room: int) -> list[str]:
        """The section with as many lines as ``room`` bytes hold."""
        kept: list[str] = []
        for line in reversed(self.lines) if self.last else self.lines:
            room -= _size(line)
            if room < 0:
                break
            kept.append(line)
        left = len(self.lines) - len(kept)
        more = [self._more(left)] if left else []
        told = [*more, *reversed(kept)] if self.last else [*kept, *more]
        return [*self._head(), *told, ""]

    def _head(self) -> tuple[str, str]:
        return f"## {self.title}", ""

    def _more(self, left: int) -> str:
        return f"[{left} {'earlier' if self.last else 'more'} {self.noun}: `{self.command}`]"


def briefing(zone: str, shown: SealedHandoff, now: float) -> bytes:
    """The page on what the role whose handoff lies in ``zone`` left, of at most
    ``MOST_BRIEFING`` bytes. ``now`` tells what is out of date."""
    author = cut_line(shown.seal.author, MOST_AUTHOR)
    head = [
        f"# What the {author} left: status {shown.status}",
        "",
        f"Its own words, which nobody has checked; whole in `/{zone}/handoff.json`. What stands"
        " under evidence was seen by the harness.",
        "",
    ]
    sections = [section for section in _sections(zone, shown, now) if section.lines]
    room = MOST_BRIEFING - sum(map(_size, head)) - sum(section.frame for section in sections)
    shares = zip(sections, _shares(sections, room), strict=True)
    body = [line for section, share in shares for line in section.cut(share)]
    return ("\n".join([*head, *body]).rstrip("\n") + "\n").encode()


def _sections(zone: str, shown: SealedHandoff, now: float) -> Iterator[_Section]:
    def command(word: str) -> str:
        return f"handoff {zone} {word}"

    held = [_condition(c) for c in shown.conditions if c.status == "open"]
    settled = [f"- {c.id}: {c.status}" for c in shown.conditions if c.status != "open"]
    conditions = command("conditions"), "conditions"
    yield _Section("Open conditions", held, *conditions)
    yield _Section("Conditions that it says are settled", settled, *conditions)
    yield _Section("Steps", list(map(_step, shown.steps)), command("steps"), "steps")
    uses = _evidence(shown.evidence, now)
    yield _Section("Evidence", uses, command("evidence"), "uses of tools", last=True)
    questions = [_line(f"- {_words(question)}") for question in shown.questions]
    yield _Section("Open questions", questions, command("questions"), "questions")
    notes = [_line(f"- {_words(problem)}") for problem in shown.problems]
    yield _Section("Noted by the harness", notes, command("problems"), "notes")
    yield _Section("In its own words", _prose(shown.text), command("text"), "lines")


def _condition(condition: Condition) -> str:
    told = [f"- {condition.id}: {_words(condition.statement)}"]
    for name in ("forbids", "prerequisite", "authority", "fallback", "consequence"):
        if value := getattr(condition, name):
            told.append(f"{name}: {_words(words_of(value))}")
    return _line("; ".join(told), MOST_CONDITION)


def _step(step: Step) -> str:
    after = f" (after {_words(', '.join(step.depends_on))})" if step.depends_on else ""
    done = f"; done when {_words(step.done_when)}" if step.done_when else ""
    return _line(f"- {step.id}, {step.status}{after}: {_words(step.goal)}{done}")


def _evidence(evidence: Iterable[Evidence], now: float) -> list[str]:
    return [_line(f"- {evidence_line(one, now).replace(chr(9), ', ')}") for one in evidence]


def _prose(text: str) -> list[str]:
    """Each line behind a sign, so that none can pass for a heading of the page."""
    lines = text.strip("\n").split("\n") if text.strip() else []
    return [_line(f"> {one_line(line)}".rstrip()) for line in lines]


def _words(text: str) -> str:
    return cut_line(" ".join(text.split()), MOST_WORDS)


def _line(text: str, most: int = MOST_LINE) -> str:
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= most:
        return data.decode()
    return f"{data[: most - 8].decode('utf-8', 'ignore')}[...]"


def _size(line: str) -> int:
    return len(line.encode()) + 1


def _shares(sections: Sequence[_Section], room: int) -> list[int]:
    """How many bytes of lines each section may have: what it needs, or as much as any other;
    open conditions before all others up to a half."""
    shares = dict.fromkeys(range(len(sections)), 0)
    rest = sorted(shares, key=lambda index: sections[index].size)
    if sections and sections[0].title == "Open conditions":
        shares[0] = min(sections[0].size, room // 2)
        room -= shares[0]
        rest.remove(0)
    for number, index in enumerate(rest):
        shares[index] = min(sections[index].size, room // (len(rest) - number))
        room -= shares[index]
    return list(shares.values())
