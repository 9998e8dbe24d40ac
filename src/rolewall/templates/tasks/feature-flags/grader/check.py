"""Exit 0 if flags.json meets the specification, 1 if not."""

import json
import sys
from pathlib import Path

EXPECTED = {
    "search": {"owner": "find", "variants": {"new": 25, "old": 70, "off": 5}},
    "checkout": {"owner": "pay", "variants": {"one-page": 50, "steps": 50}},
}

try:
    found = json.loads(Path("flags.json").read_text(encoding="utf-8"))
except (OSError, ValueError, RecursionError) as error:
    print(f"flags.json: {error}")
    sys.exit(1)
if found != EXPECTED:
    print("flags.json differs from the specification")
    sys.exit(1)
