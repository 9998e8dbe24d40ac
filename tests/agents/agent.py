"""What the tests know of one agent: its script in its own tools, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.agents.parts import KEY, Script

__all__ = ["Agent"]


@dataclass(frozen=True)
class Agent:
    """An agent that plays both roles by ``script``.

    ``edits_by`` is the program that edits for it, as the ledger names it; ``failed`` says of each
    result of the verifier's tools whether it failed, the first of these since the work is
    read-only there, which the agent calls ``told``; ``calls`` names the tools of the executor's
    transcript, whose first and last words are ``words``. ``last_words`` counts the calls of its
    model after the script, and ``quiet`` says that it asks its model for nothing else.
    ``planted`` lies in the work from the start.
    """

    name: str
    edits_by: str
    script: Callable[[], Script]
    failed: list[bool]
    told: str
    calls: list[str]
    words: list[str]
    header: tuple[str, str] = ("Authorization", f"Bearer {KEY}")
    version: str = ""
    last_words: int = 1
    quiet: bool = True
    planted: dict[str, str] = field(default_factory=dict)
