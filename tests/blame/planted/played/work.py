"""An executor: does what it is shown, in the order that it can make out, and reports.

Its own file says where it errs, if it does: jobs it leaves out (``skip``), does otherwise
(``alter``), does in the order of the list whatever depends on what (``as_listed``), or undoes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1] + "/executor")
from op import found_in

HERE = Path(sys.argv[1], "executor")
TASK = os.environ["ROLEWALL_TASK"]
ROUND = int(os.environ["ROLEWALL_ROUND"])
ENV = {**os.environ, "PATH": f"{HERE}/{TASK}/bin:{os.environ['PATH']}"}
own: dict[str, Any] = json.loads((HERE / f"{TASK}.json").read_text())
log: list[str] = []


def shown(zone: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(Path(f"/{zone}/handoff.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def told(text: str) -> list[str]:
    """The jobs of a text in its order, but first what it wants done before all else."""
    first = [
        job for part in re.split("(?i)before all else", text)[1:] for job in found_in(part)[:1]
    ]
    return [*first, *(job for job in found_in(text) if job not in first)]


def jobs_of(handoff: dict[str, Any]) -> list[tuple[str, str]]:
    """Each step's id and job, in an order that its dependencies allow."""
    steps = [step for step in handoff.get("steps") or [] if found_in(step["goal"])]
    if not steps:
        return [(f"t{n}", job) for n, job in enumerate(told(handoff.get("text", "")), 1)]
    before = {step["id"]: list(step.get("depends_on") or []) for step in steps}
    for condition in handoff.get("conditions") or []:
        first = condition.get("prerequisite")
        for step in steps:
            # A condition that names a job says what must come before it.
            if first in before and step["id"] != first and step["goal"] in condition["statement"]:
                before[step["id"]].append(first)
    goals = {step["id"]: job for step in steps for job in found_in(step["goal"])[:1]}
    if own.get("as_listed"):
        return list(goals.items())
    order: list[str] = []
    sorter = TopologicalSorter({k: [d for d in v if d in goals] for k, v in before.items()})
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        order += [step for step in goals if step in ready]
        sorter.done(*ready)
    return [(step, goals[step]) for step in order]


def looked_up(item: str) -> str | None:
    """What the page says: by what was handed over, else by asking."""
    for evidence in shown("plan").get("evidence") or []:
        if evidence["tool"] == "page" and evidence["ok"] and item in json.dumps(evidence):
            read = ["handoff", "plan", "result", evidence["id"]]
            done = subprocess.run(read, check=False, capture_output=True, text=True)
            if done.returncode == 0:
                return str(json.loads(done.stdout)["value"])
    url = f"{own.get('pages', 'http://pages.example')}/{item}"
    done = subprocess.run(
        ["rolewall-tool", "page", json.dumps({"url": url})],
        check=False,
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)
    if done.returncode != 0:
        log.append(f"page gives nothing: {(done.stdout + done.stderr).strip()[:200]}")
        return None
    return str(json.loads(json.loads(done.stdout)["result"]["text"])["value"])


def authority(name: str, handoff: dict[str, Any]) -> str:
    for condition in handoff.get("conditions") or []:
        if condition["id"] == name and condition.get("authority"):
            return str(condition["authority"])
    said = re.search(rf"authority of {re.escape(name)} is (\w+)", handoff.get("text", ""))
    return said[1] if said else "executor"


def ready(job: str, handoff: dict[str, Any]) -> str | None:
    """``job`` with what had to be known first; None if that is not to be had."""
    if hit := re.search(r"look up (\S+) for (\S+) in (\S+)", job):
        value = looked_up(hit[1])
        return value and f"set {hit[2]} to {value} in {hit[3]}"
    if hit := re.search(r"put the authority of (\S+) as (\S+) in (\S+)", job):
        return f"set {hit[2]} to {authority(hit[1], handoff)} in {hit[3]}"
    return job


def erring(job: str) -> list[str]:
    if own.get("errs_until", 99) < ROUND:
        return [job]
    if any(word in job for word in own.get("skip", [])):
        return []
    for old, new in own.get("alter", []):
        job = job.replace(old, new)
    return [job]


def do(job: str | None) -> bool:
    if job is None:
        return False
    done = subprocess.run(
        ["python3", str(HERE / "op.py"), job], env=ENV, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        log.append(f"{job}: {done.stderr.strip()}")
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def waits_for(handoff: dict[str, Any]) -> dict[str, Any] | None:
    lifted = {c["id"] for c in shown("feedback").get("conditions") or [] if c["status"] != "open"}
    for condition in handoff.get("conditions") or []:
        if "write workspace" in (condition.get("forbids") or []) and condition["id"] not in lifted:
            return dict(condition)
    return None


def report(status: str, text: str, **more: Any) -> None:
    left = {"schema_version": 1, "status": status, "text": text, **more}
    Path("/report/handoff.json").write_text(json.dumps(left))


def main() -> None:
    plan, feedback = shown("plan"), shown("feedback")
    if waiting := waits_for(plan):
        ask = f"Waiting: {waiting['authority']} has to lift {waiting['id']}."
        report("done", ask, questions=[f"Can {waiting['authority']} lift {waiting['id']}?"])
        return
    asked = feedback if ROUND > 1 and "the plan" not in feedback.get("text", "") else plan
    if own.get("reads_spec") and Path("/spec/spec.md").exists():
        asked = {**asked, "steps": None, "text": Path("/spec/spec.md").read_text()}
    if not asked:
        asked = {"text": Path("/brief/brief.md").read_text()}
    steps, failed = [], False
    for step, job in jobs_of(asked):
        went = [do(ready(each, asked)) for each in erring(job)]
        failed |= not all(went)
        status = "done" if all(went) else "blocked"
        steps.append({"id": step, "goal": job, "status": status})
    for path in own.get("undo", []):
        subprocess.run(["git", "checkout", "-q", "--", path], check=False)
    for command in own.get("then", []):
        done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
        print(done.stdout, done.stderr)
        if done.returncode != 0 and own.get("frank"):
            log.append(f"{command} failed")
    files = [{"zone": "workspace", "path": name} for name in own.get("files", [])]
    there = [file for file in files if Path("/workspace", file["path"]).exists()]
    text = own.get("says", "") + f" {len(steps)} jobs done." + " ".join(["", *log])
    blocked = failed and own.get("stops", False)
    report("blocked" if blocked else "done", text.strip(), steps=steps, artifacts=there)


main()
