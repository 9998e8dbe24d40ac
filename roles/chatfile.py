"""The shape of ``chat:`` in a team file: ``chat: {model: …}``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rolewall._validate import Strict

__all__ = ["ChatFile"]


class ChatFile(Strict):
    """How the tool loop talks to its model.

    Attributes:
        model: the name that the endpoint knows.
        tools: ``native`` for tool calls of the protocol, ``text`` for commands written in the
            answer, ``auto`` for native until the model answers otherwise.
        turns: answers of the model in one phase, at most.
        context_tokens: what the model can take in, prompt and answer together.
        answer_tokens: what one answer may have.
        output_chars: of a command's output, what the model is shown: head and tail.
        temperature, seed: sent as they are; left out when None. ``seed: episode`` sends the
            episode's own.
    """

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$")]
    tools: Literal["auto", "native", "text"] = "auto"
    turns: Annotated[int, Field(ge=1, le=1000)] = 50
    context_tokens: Annotated[int, Field(ge=1024, le=10_000_000)] = 32_768
    answer_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 4096
    output_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 10_000
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 31)] | Literal["episode"] | None = None
