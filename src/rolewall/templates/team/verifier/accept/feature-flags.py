"""Point 2 of the specification."""

import json
from pathlib import Path

for name, flag in json.loads(Path("flags.json").read_text(encoding="utf-8")).items():
    total = sum(flag["variants"].values())
    assert total == 100, f"the shares of {name} add up to {total}"
