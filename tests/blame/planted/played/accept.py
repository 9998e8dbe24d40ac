"""Exit 0 if the work has the files that are right by the requirements, 1 if not."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def wrong(expected: dict[str, str], root: Path) -> list[str]:
    """A line for each file of ``expected`` that is not as it should be below ``root``."""
    lines = []
    for name, text in expected.items():
        try:
            found = (root / name).read_text().rstrip()
        except (OSError, ValueError) as error:
            found = str(error)
        if found != text.rstrip():
            lines.append(f"{name}: expected {text.rstrip()[-200:]!r}, found {found[-200:]!r}")
    return lines


if __name__ == "__main__":
    bad = wrong(json.loads(Path(sys.argv[1]).read_text())["expected"], Path.cwd())
    print("\n".join(bad) or "as required")
    sys.exit(1 if bad else 0)
