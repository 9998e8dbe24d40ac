"""A reviewer without a model: points 1 to 3 of the specification, and no opinion on 4.

It shows what a reviewer leaves; put your agent in its place, or keep it before one.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

CHECKS = {"tests": ["python3", "-m", "pytest", "-q"]}
OFF_LIMITS = re.compile(r"^(?:diff --git .*[ab]/\.github/|[-+]{3} [ab]/\.github/)", re.M)
NEVER_ADDED = re.compile(r"^\+(?:<{7} |>{7} |.*-----BEGIN [A-Z ]*PRIVATE KEY-----)", re.M)


def main(prompt: str) -> None:
    found = re.search(r'"nonce": "([0-9a-f]{32})"', prompt)
    assert found, "a prompt without a nonce"
    change = Path("/brief/change.diff").read_text("utf-8")
    checks = [run(name, command) for name, command in CHECKS.items()]
    checks += [
        absent("what judges changes is left alone", OFF_LIMITS, change),
        absent("no key and no conflict marker", NEVER_ADDED, change),
    ]
    wrong = [f"{check['name']}: {check['evidence']}" for check in checks if not check["ok"]]
    verdict = {
        "schema_version": 1,
        "nonce": found[1],
        "verdict": "reject" if wrong else "approve",
        "summary": "; ".join(wrong)[:20_000] or "tests pass, and no rule is broken",
        "checks": checks,
        "commands": [f"rolewall-check -- {' '.join(command)}" for command in CHECKS.values()],
    }
    Path("/verdict/verdict.json").write_text(json.dumps(verdict))


def run(name: str, command: list[str]) -> dict[str, object]:
    """A command that runs the change: in the check box, which has neither nonce nor verdict."""
    argv = ["rolewall-check", "--", *command]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode("utf-8", "replace").strip()
    return {"name": name, "ok": done.returncode == 0, "evidence": said[-2_000:] or "no output"}


def absent(name: str, pattern: re.Pattern[str], change: str) -> dict[str, object]:
    seen = pattern.search(change)
    return {"name": name, "ok": not seen, "evidence": seen[0][:200] if seen else "not seen"}


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text("utf-8"))
