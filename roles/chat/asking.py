"""From a conversation to the model's next answer, within what its endpoint takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rolewall.errors import ModelUnavailable
from rolewall.roles.chat.calls import Answer, read_answer
from rolewall.roles.chat.conversation import Conversation
from rolewall.roles.chat.endpoint import Endpoint, Refused
from rolewall.roles.chat.wayout import no_completion
from rolewall.roles.chatfile import ChatFile

__all__ = ["Asking"]

MOST_SHRINKS = 3
LIMIT, OTHER_LIMIT = "max_tokens", "max_completion_tokens"


class Asking:
    """Asks one phase's model; ``cut`` is told what was left out of the conversation."""

    def __init__(
        self, endpoint: Endpoint, chat: ChatFile, seed: int, cut: Callable[[str], None]
    ) -> None:
        self._endpoint = endpoint
        self._chat = chat
        self._seed = seed % (1 << 31) if chat.seed == "episode" else chat.seed
        self._cut = cut
        self._limit = LIMIT

    def ask(self, talk: Conversation, number: int) -> Answer:
        """Answer ``number`` of the phase.

        Raises:
            Refused: the endpoint cannot be asked so, and in no other way that is known here.
            ModelUnavailable: it gave no answer.
        """
        shrinks = 0
        while True:
            for what in talk.trim():
                self._cut(what)
            size = talk.size()
            try:
                body = self._endpoint.ask(self._request(talk))
            except Refused as refused:
                if refused.why == "length" and shrinks < MOST_SHRINKS:
                    shrinks += 1
                    talk.shrink()
                elif refused.why == "limit-name" and self._limit == LIMIT:
                    self._limit = OTHER_LIMIT
                else:
                    raise
                continue
            answer = read_answer(body, number)
            if answer is None:
                raise ModelUnavailable(
                    "the model's endpoint answers, but with no chat completion",
                    hint=no_completion(self._endpoint.served),
                )
            talk.counted(size, answer.asked)
            return answer

    def _request(self, talk: Conversation) -> dict[str, Any]:
        optional = {
            "tools": list(talk.extra) or None,
            "temperature": self._chat.temperature,
            "seed": self._seed,
        }
        return {
            "model": self._chat.model,
            "messages": talk.messages(),
            self._limit: self._chat.answer_tokens,
            **{name: value for name, value in optional.items() if value is not None},
        }
