"""The shape of ``chat:`` in a team file: ``chat: {model: …}``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rolewall._validate import Strict

__all__ = ["ChatFile"]

_Command = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]


class ChatFile(Strict):
    """How the tool loop talks to its model.

    Attributes:
        model: the name that the endpoint knows.
        tools: ``native`` for tool calls of the protocol, ``text`` for blocks written in the
            answer, ``auto`` for native until the model or its endpoint shows that it has none.
        prompt: ``full`` for the generated prompt as it is, ``short`` for one without the
            formats of the files that the tools write for the model.
        opening: shell commands that are run in the role's box before the model's first answer,
            and stand in the conversation as if it had asked for them.
        instructions: the team's own words, last before the model's first answer.
        turns: answers of the model in one phase, at most.
        context_tokens: what the model can take in, prompt and answer together.
        answer_tokens: what one answer may have.
        output_chars: of what a tool gives back, what the model is shown: head and tail.
        inline_chars: of each text put into the first message (requirements, brief,
            handoffs), what is shown.
        workspace_chars: of the workspace's files, what is put into the first message, whole
            files in the order of their names; 0 for their names alone.
        command_seconds: how long one command may take.
        temperature, seed: sent as they are; left out when None. ``seed: episode`` sends the
            episode's own.
    """

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$")]
    tools: Literal["auto", "native", "text"] = "auto"
    prompt: Literal["full", "short"] = "full"
    opening: Annotated[list[_Command], Field(max_length=20)] = Field(default_factory=list)
    instructions: Annotated[str, Field(max_length=20_000)] = ""
    turns: Annotated[int, Field(ge=1, le=1000)] = 50
    context_tokens: Annotated[int, Field(ge=1024, le=10_000_000)] = 32_768
    answer_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 4096
    output_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 10_000
    inline_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 20_000
    workspace_chars: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    command_seconds: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 31)] | Literal["episode"] | None = None

    @model_validator(mode="after")
    def _room(self) -> ChatFile:
        if self.answer_tokens > self.context_tokens // 2:
            raise ValueError("answer_tokens is more than half of context_tokens")
        return self
