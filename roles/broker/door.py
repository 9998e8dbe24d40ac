"""One phase's way to its team's tools: what is asked, whether it may be, what came of it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rolewall.errors import BoxError, InfrastructureError, InputError, TeamError
from rolewall.roles.broker.account import MOST_CALLS, Account, Asked, ToolUse
from rolewall.roles.broker.admission import Admission
from rolewall.roles.broker.answer import Answer, Ran, Refused
from rolewall.roles.broker.canonical import canonical, canonical_text
from rolewall.roles.broker.offers import Offer, offer_of
from rolewall.roles.broker.running import OVER, Runner
from rolewall.roles.broker.shelf import Given, Shelf
from rolewall.roles.broker.tool import Mcp, Tool
from rolewall.roles.evidence import Evidence

__all__ = ["ToolDoor"]

FAILED = "the tool's box failed; this phase will not count"


class ToolDoor:
    """Answers the calls of one phase. Safe for threads.

    Args:
        phase: its name, under which answers say that they were asked.
        shelf: the episode's.
    """

    def __init__(
        self, phase: str, admission: Admission, shelf: Shelf, runner: Runner, account: Account
    ) -> None:
        self._phase = phase
        self._admission = admission
        self._shelf = shelf
        self._runner = runner
        self._account = account
        self._lock = threading.Lock()
        self._trouble: InfrastructureError | TeamError | None = None
        self._begun = 0
        self._closed = False

    @property
    def trouble(self) -> InfrastructureError | TeamError | None:
        """Why the phase says nothing about its agent; looked at after ``close``."""
        return self._trouble or self._account.trouble

    @property
    def use(self) -> ToolUse:
        """What was asked; looked at after ``close``."""
        return self._account.use

    @property
    def evidence(self) -> list[Evidence]:
        """Of every call; looked at after ``close``."""
        return self._account.evidence

    def offers(self) -> list[Offer]:
        """The role's tools as a model is offered them."""
        return [offer_of(tool, self._described(tool)) for tool in self._admission.tools.values()]

    def _described(self, tool: Tool) -> Mapping[str, Any]:
        if not isinstance(tool.means, Mcp):
            return {}
        try:
            return self._runner.described(tool)
        except (InfrastructureError, TeamError) as error:
            self._note(error)
            return {}

    def call(self, name: str, arguments: bytes) -> Answer:
        """One call with ``arguments``, a JSON object. Whatever is asked, it is no error here.
        Whoever asked is told when the record has it."""
        with self._lock:
            self._begun += 1
            asked = Asked(self._begun, name, time.time(), self._admission.held(name))
        try:
            tool, given = self._admit(asked, arguments)
            asked = replace(asked, arguments=given)
            found = self._ask(asked, tool, given)
        except Refused as refused:
            asked = replace(asked, **_as_written(arguments))
            return self._settle(asked, self._refusal(asked, refused))
        if found is None:
            answer = Answer("failed", time.time(), self._phase, why=FAILED)
            return self._settle(asked, answer, ran=True)
        answer = _answer(found, tool)
        return answer if found.own else self._settle(asked, answer, repeated=found.repeated)

    def _admit(self, asked: Asked, arguments: bytes) -> tuple[Tool, dict[str, Any]]:
        """Raises Refused."""
        if self._closed:
            raise Refused("over", OVER)
        if asked.n > MOST_CALLS:
            raise Refused("room", f"{MOST_CALLS} calls of tools in one phase at most")
        return self._admission.admit(asked.tool, arguments)

    def _ask(self, asked: Asked, tool: Tool, given: dict[str, Any]) -> Given | None:
        """None where that failed by no fault of the caller's. Raises Refused."""

        def run(repeated: bool) -> Ran:
            """Nothing is shared that the record has not: a result that comes when the phase
            is over is nobody's."""
            ran = self._runner.run(tool, given)
            answer = _answer(Given(ran, self._phase, own=True, repeated=repeated), tool)
            if not self._account.settle(asked, answer, ran=True, repeated=repeated):
                raise Refused("over", OVER)
            return ran

        try:
            return self._shelf.ask(tool, canonical_text(given), self._phase, asked.started, run)
        except Refused:
            raise
        except Exception as error:
            self._note(error)
            return None

    def _refusal(self, asked: Asked, refused: Refused) -> Answer:
        return Answer(
            "failed",
            asked.started,
            self._phase,
            why=refused.message,
            refused=refused.word,
            conditions=refused.conditions,
        )

    def _settle(
        self, asked: Asked, answer: Answer, *, ran: bool = False, repeated: bool = False
    ) -> Answer:
        self._account.settle(asked, answer, ran=ran, repeated=repeated)
        return answer

    def _note(self, error: Exception) -> None:
        """Whatever is not the caller's fault must not become its failure."""
        if self._trouble or self._closed:
            return
        if not isinstance(error, InfrastructureError | TeamError):
            error = BoxError(f"a tool's box failed: {type(error).__name__}: {error}")
        self._trouble = error

    def close(self) -> None:
        """End what is under way; no call is answered after it. Safe to call twice.

        Raises:
            BoxError: something of a box is left.
            StorageError: the record may not be whole.
        """
        self._closed = True
        try:
            self._account.close()  # what ends now has nobody who would be told
        finally:
            self._runner.close()


def _as_written(arguments: bytes) -> dict[str, Any]:
    """The fields of ``Asked`` for a call that was refused, maybe before they were looked at."""
    try:
        return {"arguments": canonical(arguments)}
    except (InputError, ValueError):
        return {"unread": hashlib.sha256(arguments).hexdigest()}


def _answer(found: Given, tool: Tool) -> Answer:
    ran = found.ran
    if not ran.ok:
        return Answer("failed", ran.ended, found.asked_by, why=ran.why)
    return Answer(
        "live" if found.own else "cached",
        ran.ended,
        found.asked_by,
        fresh_until=ran.ended + tool.ttl,
        result=ran.result,
        raw=ran.raw,
        truncated=ran.truncated,
    )
