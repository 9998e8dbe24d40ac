"""How the gateway says no, from wherever in it a request is looked at."""

from __future__ import annotations

__all__ = ["Refused"]


class Refused(Exception):
    """``word`` says why, in one of: path, body, model, tool, address, budget, record."""

    def __init__(self, word: str, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.word = word
        self.message = message
        self.status = status
