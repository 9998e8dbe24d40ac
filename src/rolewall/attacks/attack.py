"""The attacker's program, as it is started inside a box, with ``payload`` beside it."""

from __future__ import annotations

import importlib

__all__: list[str] = []

if __name__ == "__main__":
    importlib.import_module("payload.drive").main()
