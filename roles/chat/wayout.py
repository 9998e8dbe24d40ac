"""What a user can do about a model's endpoint that gave no answer."""

from __future__ import annotations

from rolewall.roles.models import Endpoint

__all__ = ["AGAIN", "NOT_OUT", "TEXT", "no_completion", "way_out"]

AGAIN = "the same command runs the episode again"
TEXT = "`tools: auto` or `tools: text` under `chat:` does without an endpoint's tool calls"
NOT_OUT = "the gateway let it nowhere; docs/models.md has what goes out"
SAID = "the phase's exchanges.jsonl has what was asked and said"


def way_out(endpoint: Endpoint, model: str, status: int | None) -> str:
    """In words, what to look at first.

    Args:
        status: of the last answer; None where the connection ended without one. The gateway's
            own are 502 and 504.
    """
    if status is None or status in (502, 504):
        words = f"see whether a server answers at {_asked(endpoint)}"
    elif status in (401, 403):
        words = _of_key(endpoint)
    elif status in (404, 405):
        words = f"{_base(endpoint)}, and whether {model} is served there"
    elif status == 429:
        words = f"{_asked(endpoint)} takes no more for now: wait, or look at your quota there"
    elif status < 300 or status >= 500:
        words = f"{_asked(endpoint)} was there, and failed: its own log may say why"
    else:
        words = "what is asked for is set under `chat:` in the team file"
    return f"{words}; {SAID}; {AGAIN}"


def no_completion(endpoint: Endpoint) -> str:
    """For an answer of another protocol."""
    return f"{_base(endpoint)} of OpenAI's protocol; {SAID}"


def _asked(endpoint: Endpoint) -> str:
    return f"{endpoint.url}/chat/completions"


def _base(endpoint: Endpoint) -> str:
    return f"{_asked(endpoint)} was asked: see whether `endpoint` is what stands before that path"


def _of_key(endpoint: Endpoint) -> str:
    """Its variable is named, never what is in it."""
    if endpoint.key is None:
        return f"{_asked(endpoint)} may want a key: models.{endpoint.name} has no `key`"
    return f"see whether the key in the variable {endpoint.key} is for {endpoint.url}, and holds"
