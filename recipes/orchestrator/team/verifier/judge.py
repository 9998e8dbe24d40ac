"""Judges `add` by what it does, in the check box: the work's code has no part in the verdict."""

import json
import re
import subprocess
import sys
from pathlib import Path

CASES = ((2, 3, 5), (-2, 5, 3))
ASK = "import app, sys; print(app.add(int(sys.argv[1]), int(sys.argv[2])))"


def check(first: int, second: int, right: int) -> dict[str, object]:
    command = ["rolewall-check", "--", "python3", "-c", ASK, str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (done.stdout or done.stderr).strip()[-500:]
    name = f"add({first}, {second}) is {right}"
    return {"name": name, "ok": said == str(right), "evidence": said or "nothing"}


prompt = Path(sys.argv[1]).read_text("utf-8")
nonce = re.search(r'"nonce": "([0-9a-f]{32})"', prompt)
assert nonce, "a prompt without a nonce"
checks = [check(*case) for case in CASES]
wrong = [f"{c['name']}, and not {c['evidence']}" for c in checks if not c["ok"]]
verdict = {
    "schema_version": 1,
    "nonce": nonce[1],
    "verdict": "reject" if wrong else "approve",
    "summary": "; ".join(wrong) or "every case is right",
    "checks": checks,
    "commands": [],
}
Path("/verdict/verdict.json").write_text(json.dumps(verdict))
