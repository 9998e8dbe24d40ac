"""What a review came to, as one object that text, JSON, Markdown and exit code are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rolewall.errors import RolewallError
from rolewall.record import VerdictRecord
from rolewall.reviewing.summary import markdown
from rolewall.terminal import counted, escape, listed

__all__ = ["CODES", "Review", "weigh"]

Said = Literal["approve", "reject", "missing"]
CODES: dict[Said, int] = {"approve": 0, "reject": 1, "missing": 4}
NAMED = 5
LONGEST = 2_000  # characters of a line
NO_WORD = "the reviewer gave no reason"


@dataclass(frozen=True)
class Review:
    """One decision on one change. It is true only where the change is approved.

    Attributes:
        verdict: ``approve``, ``reject``, or ``missing``: nothing counts as a verdict.
        why: the reviewer's summary, or why there is no verdict.
        exit_code: 0 approve, 1 reject, 4 missing; 2 or 3 where it is missing because the input
            was not acceptable or the machine failed.
        files: what the change touches; ``change_bytes`` is the size of its diff.
        outcome: how the reviewer's phase ended, as a record says it; empty where none began.
        isolated: whether the change's own code was kept out of the box of the verdict.
        checks: what the reviewer looked at: ``name``, ``ok``, ``evidence``.
        attempts: of the reviewer, by kind: ``edit_attempted``, ``edit_blocked`` and so on.
        before, after: digests of the two states that were compared.
        seconds: how long the reviewer took.
        evidence: where ledger and transcripts were kept; None where they were not.
    """

    verdict: Said
    why: str
    exit_code: int
    files: tuple[str, ...] = ()
    change_bytes: int = 0
    outcome: str = ""
    isolated: bool | None = None
    checks: tuple[Mapping[str, Any], ...] = ()
    attempts: Mapping[str, int] = field(default_factory=dict)
    before: str = ""
    after: str = ""
    seconds: float = 0.0
    evidence: str | None = None

    def __bool__(self) -> bool:
        """So that ``if review_change(…):`` asks what it seems to ask."""
        return self.verdict == "approve"

    @classmethod
    def failed(cls, error: RolewallError) -> Review:
        """The decision where there could be no review: ``missing``, and never an approval."""
        return cls("missing", str(error), error.exit_code)

    def text(self) -> str:
        """For people: lines in which nothing is active or invisible."""
        return "".join(escape(line, LONGEST) + "\n" for line in self._lines())

    def markdown(self) -> str:
        """For a step's summary, with nothing in it that could be more than words."""
        return markdown(self.verdict, self._lines())

    def _lines(self) -> list[str]:
        text = [f"{self.verdict}: {self.why or NO_WORD}"]
        if self.files:
            many = counted(len(self.files), "file")
            text.append(f"{many} changed ({listed(self.files, NAMED)}), {self.change_bytes} bytes")
        text += [
            f"{'ok' if check['ok'] else 'not ok'}: {check['name']}: {check['evidence']}"
            for check in self.checks
        ]
        if self.outcome:
            text.append(f"the reviewer's phase: {self.outcome}, {self.seconds:.1f} s")
        tried, blocked = (self.attempts.get(f"edit_{word}", 0) for word in ("attempted", "blocked"))
        if tried:
            text.append(
                f"the reviewer tried {counted(tried, 'edit')} of what it judges; {blocked} blocked"
            )
        return text

    def json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "why": self.why,
            "files": list(self.files),
            "change_bytes": self.change_bytes,
            "outcome": self.outcome or None,
            "isolated": self.isolated,
            "checks": [dict(check) for check in self.checks],
            "attempts": dict(self.attempts),
            "before": self.before or None,
            "after": self.after or None,
            "seconds": self.seconds,
            "evidence": self.evidence,
        }


def weigh(verdict: VerdictRecord, outcome: str, *, unsent: int, beside: bool) -> tuple[Said, str]:
    """What a reviewer's verdict is worth, and why.

    A reject stands however the phase ended. An approval counts only from a reviewer that ended
    by itself and well, found no check of its own wanting, whose model was sent every line of the
    change, and which, unless ``beside``, did not run the change in the box of its verdict, where
    the change could have written that verdict.
    """
    if verdict.verdict != "approve":
        return verdict.verdict, verdict.why
    if outcome != "done":
        return "missing", f"the reviewer approved, but its phase ended as {outcome}"
    wanting = [str(check["name"]) for check in verdict.checks if not check["ok"]]
    if wanting:
        return "missing", f"the reviewer approved against its own checks: {listed(wanting, NAMED)}"
    if unsent:
        return "missing", (
            f"the model that approved was not sent {counted(unsent, 'line')} of the change"
        )
    if not verdict.isolated and not beside:
        ran = verdict.beside or "more than was recorded"
        return "missing", (
            f"the change may have run in the box of the verdict ({ran}):"
            " the approval may be the change's own; rolewall-check runs it apart"
        )
    return "approve", verdict.why
