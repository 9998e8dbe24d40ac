"""Writes ``docs/attacks.md`` from what ``rolewall doctor --attack --json`` printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rolewall.attacks import Report, as_markdown
from rolewall.errors import RecordError

__all__: list[str] = []


def main(paths: Sequence[str]) -> None:
    """Print the reports in these files as one page."""
    if not paths:
        raise SystemExit("usage: python3 -m rolewall.attacks REPORT.json… > docs/attacks.md")
    found = [report for path in paths for report in _reports(Path(path))]
    sys.stdout.write(as_markdown(found))


def _reports(path: Path) -> list[Report]:
    try:
        return [Report.from_json(data) for data in json.loads(path.read_text())["reports"]]
    except (OSError, ValueError, KeyError, TypeError, RecordError) as error:
        raise SystemExit(f"{path}: no report of attacks: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
