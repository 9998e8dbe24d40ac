"""A planner: reads the requirements, looks up what it is told to, and hands over its plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

own = json.loads(Path(sys.argv[1], "planner", os.environ["ROLEWALL_TASK"] + ".json").read_text())
Path("/spec/spec.md").read_text()

text = json.dumps(own["handoff"])
for name, url in own.get("look_up", {}).items():
    asked = ["rolewall-tool", "page", json.dumps({"url": url})]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    told = json.loads(done.stdout)
    value = json.loads(told["result"]["text"])["value"] if told["ok"] else "unknown"
    print(name, value, told["origin"])
    text = text.replace(f"<{name}>", value)
time.sleep(own.get("rest", 0))
Path("/plan/handoff.json").write_text(text)
