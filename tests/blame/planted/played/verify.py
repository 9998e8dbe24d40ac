"""A verifier: has the work checked, and judges by that; or, if its file says so, does not.

``manner``: ``honest``; ``shrug`` approves with the failing check in its verdict; ``lie`` says
that the check was right; ``look away`` runs it and names it nowhere; ``trust`` runs none and
approves what the report says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

AGENTS, PROMPT = sys.argv[1:3]
FILE = f"{AGENTS}/verifier/{os.environ['ROLEWALL_TASK']}.json"
own: dict[str, Any] = json.loads(Path(FILE).read_text())
manner = own.get("manner", "honest")
nonce = re.search(r'"nonce": "([0-9a-f]{32})"', Path(PROMPT).read_text())
try:
    report = json.loads(Path("/report/handoff.json").read_text())
except (OSError, ValueError):
    report = {}

checks, commands, ok, seen = [], [], True, ""
for n, words in enumerate(own["checks"] if manner != "trust" else [], 1):
    command = ["rolewall-check", "--", *(word.replace("{agents}", AGENTS) for word in words)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    seen += done.stdout + done.stderr
    right = done.returncode == 0
    ok = ok and right
    said = True if manner == "lie" else right
    if manner != "look away":
        evidence = "all as it should be" if manner == "lie" else (done.stdout or "no output")
        checks.append({"name": f"check {n}", "ok": said, "evidence": evidence[-1500:]})
        commands.append(" ".join(command))
if manner == "trust":
    checks = [{"name": "report", "ok": True, "evidence": report.get("text", "")[:300]}]

approve = ok or manner != "honest"
verdict = {
    "schema_version": 1,
    "nonce": nonce[1] if nonce else "",
    "verdict": "approve" if approve else "reject",
    "summary": "Looks right." if approve else "The checks fail.",
    "checks": checks,
    "commands": commands,
}
Path("/verdict/verdict.json").write_text(json.dumps(verdict))
feedback: dict[str, Any] = {"schema_version": 1, **own.get("feedback", {"text": "Thank you."})}
if not approve:
    feedback["text"] = own.get("before", "").replace("<seen>", seen) + feedback["text"]
lift = own.get("lifts")
if lift and re.search(rf"verifier has to lift {lift['id']}", report.get("text", "")):
    feedback["conditions"] = [{**lift, "status": "met"}]
Path("/feedback/handoff.json").write_text(json.dumps(feedback))
