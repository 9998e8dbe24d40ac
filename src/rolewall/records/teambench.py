"""TeamBench's results: the files that its runners write, as they are.

Three kinds, each a JSON document: ``{"runs": […]}`` of its ablation runner, which holds no
verdicts; ``{"results": […]}`` of its agent and campaign runners, with a verdict in
``agent_verdict``; and the summary of a run, one object or an array, with a verdict in
``orchestrator_result``. Its words are taken for ours where both mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolewall.records.jsonfile import read_objects
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row

__all__ = ["is_teambench", "read_teambench"]

CONDITIONS = {
    "full": "enforced",
    "oracle": "solo",
    "restricted": "restricted",
    "team_no_plan": "no-plan",
    "team_no_verify": "no-verify",
    "enforced": "enforced",
    "enforced_shared_history": "enforced-shared-history",
    # There each role also sees the specification and what was said before.
    "prompt_only": "prompt-only-open",
}
"""Its condition → ours; any other keeps its name."""

# Attempts, edits and the like are none of its words, so a key of such a name is not ours.
COLUMNS = {
    "task": "task_id", "trial": "seed", "condition": "condition", "grade": "pass",
    "error": "error", "model": "model", "score": "partial_score", "seconds": "elapsed_sec",
    "verdict": "verdict", "team": "", "verifier": "", "backend": "", "trust": "",
    "isolated": "", "verified": "", "attempts": "", "edits": "", "landed": "",
}  # fmt: skip
VALUES = {
    "grade": {"true": "pass", "false": "fail"},
    "verdict": {"pass": "approve", "fail": "reject", "missing": "missing"},
    "condition": CONDITIONS,
}
SUMMARY = {"task", "seed", "condition", "model", "elapsed_sec"}
"""The keys that a run's summary has however the run ended."""

UNJUDGED = "TeamBench's ablation results hold no verdicts: none is counted, as without a verifier"
FAIL = "TeamBench says `fail` also where its verifier left no verdict: both are read as reject"


def is_teambench(found: object) -> bool:
    """Whether a JSON document is of one of its kinds."""
    if isinstance(found, list):
        return bool(found) and all(map(_is_summary, found))
    return isinstance(found, dict) and (_listed(found) is not None or _is_summary(found))


def _listed(found: Mapping[str, Any]) -> list[Any] | None:
    for key in ("runs", "results"):
        runs = found.get(key)
        if isinstance(runs, list) and all(isinstance(r, dict) and "task_id" in r for r in runs):
            return runs
    return None


def _is_summary(found: object) -> bool:
    return isinstance(found, dict) and found.keys() >= SUMMARY


def read_teambench(
    found: Any, mapping: RecordMapping, place: str
) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a document of its, numbered by their order, and the notes on them.

    What ``mapping`` says stands above the defaults. Raises RecordError.
    """
    runs, model = _runs(found)
    records = [(n, _flat(run, model)) for n, run in enumerate(runs, 1)]
    met = {key for _, record in records for key in record}
    columns = {name: column for name, column in COLUMNS.items() if not column or column in met}
    constants, note = {}, FAIL
    if "verdict" not in met and "verdict" not in mapping.columns:
        columns.pop("verified")
        constants, note = {"verified": "no"}, UNJUDGED
    values = {name: words for name, words in VALUES.items() if name in columns}
    default = RecordMapping(columns=columns, values=values, constants=constants)
    rows, more = read_objects(records, mapping.over(default), place, unused=False)
    return rows, (note, *more) if rows else more


def _runs(found: Any) -> tuple[list[Any], object]:
    if isinstance(found, list):
        return found, None
    listed = _listed(found)
    return ([found], None) if listed is None else (listed, found.get("model"))


def _flat(run: Mapping[str, Any], model: object) -> dict[str, Any]:
    """One run with its task, verdict, grade and score under one set of keys."""
    flat = dict(run)
    flat.setdefault("task_id", run.get("task"))
    flat.setdefault("seed", 0)  # its runners' own default, left out where a run broke
    flat.setdefault("condition", "full")  # its agent and campaign runners know no other
    flat.setdefault("error", None)
    if model is not None:
        flat.setdefault("model", model)
    if "grader_verdict" in run:
        flat.setdefault("pass", _word(run["grader_verdict"]))
    score = run.get("score")
    for holder in (run, score if isinstance(score, Mapping) else {}):
        secondary = holder.get("secondary")
        if isinstance(secondary, Mapping) and "partial_score" in secondary:
            flat.setdefault("partial_score", secondary["partial_score"])
    outcome = run.get("orchestrator_result")
    if "agent_verdict" in run:
        flat["verdict"] = run["agent_verdict"]
    elif isinstance(outcome, Mapping) and "verdict" in outcome:
        flat["verdict"] = outcome["verdict"]
    return flat


def _word(said: object) -> object:
    return {"pass": True, "fail": False}.get(said, said) if isinstance(said, str) else said
