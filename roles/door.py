"""Where an agent finds its model: a loopback port in its box, a unix socket outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rolewall.sandbox import Listen

__all__ = [
    "EXCHANGES",
    "GATEWAY",
    "GATEWAY_URL",
    "PLACEHOLDER_KEY",
    "ModelDoor",
    "model_environment",
]

EXCHANGES = "exchanges.jsonl"
"""What the name of a phase's file of exchanges ends in."""

GATEWAY = Listen("tcp", "127.0.0.1", 8378)
GATEWAY_URL = f"http://{GATEWAY.address}:{GATEWAY.port}"
# Programs insist on some key. This one opens nothing: the gateway knows a role by its
# socket, and puts the true key in outside.
PLACEHOLDER_KEY = "rolewall-no-key"


@dataclass(frozen=True, slots=True)
class ModelDoor:
    """One phase's way to its model.

    ``socket`` is for agents whose loop runs in the harness; programs in the box use
    ``GATEWAY_URL``. Both are counted against the same budget and written to the same record.
    """

    socket: Path


def model_environment() -> dict[str, str]:
    """Variables by which common programs and libraries find the gateway from inside a box."""
    return {
        "OPENAI_BASE_URL": f"{GATEWAY_URL}/v1",
        "OPENAI_API_BASE": f"{GATEWAY_URL}/v1",
        "OPENAI_API_KEY": PLACEHOLDER_KEY,
        "ANTHROPIC_BASE_URL": GATEWAY_URL,
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
    }
