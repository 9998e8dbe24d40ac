"""TeamBench's results: the files that its runners write, as they are.

Three kinds, each a JSON document: ``{"runs": […]}`` of its ablation runner, which holds no
verdicts; ``{"results": […]}`` of its agent and campaign runners, with a verdict in
``agent_verdict``; and the summary of a run, one object or an array, with a verdict in
``orchestrator_result``. Its words are taken for ours where both mean the same; its ``fail``
does not: its runners write that also where their verifier left no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolewall.errors import RecordError
from rolewall.records.choice import named
from rolewall.records.jsonfile import read_objects
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row
from rolewall.terminal import counted

__all__ = ["is_teambench", "read_teambench"]

VERDICT = "(verdict)"
"""Under which a run's verdict is kept, wherever it stands in it."""

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

# Attempts, edits and the like are none of its words, so a key of such a name is not ours; but
# who a record is of, and whether its grade can be trusted, is never passed over.
COLUMNS = {
    "task": "task_id", "trial": "seed", "condition": "condition", "grade": "pass",
    "error": "error", "model": "model", "score": "partial_score", "seconds": "elapsed_sec",
    "verdict": VERDICT, "team": "team", "verifier": "verifier", "backend": "backend",
    "trust": "trust", "verified": "verified",
    "isolated": "", "attempts": "", "edits": "", "landed": "",
}  # fmt: skip
VALUES = {
    "grade": {"true": "pass", "false": "fail"},
    "verdict": {"pass": "approve", "fail": "missing", "missing": "missing"},
    "condition": CONDITIONS,
}
SUMMARY = {"task", "seed", "condition", "model", "elapsed_sec"}
"""The keys that a run's summary has however the run ended."""

UNJUDGED = "TeamBench's ablation results hold no verdicts: none is counted, as without a verifier"
FAIL = (
    "TeamBench says `fail` also where its verifier left no verdict, and so do {}: read as missing;"
    " if each verifier left one, say --value verdict:fail=reject"
)
# What else its runners write of a run.
KNOWN = {"agent_verdict", "grader_verdict", "orchestrator_result", "verdict", "score", "secondary",
         "run_id", "run_dir", "failure_modes", "total_turns", "token_usage", "started_at",
         "seed_leaked", "partial", "task", "remediation_loops"}  # fmt: skip


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

    What ``mapping`` says stands above the defaults. Raises RecordError, also for a document
    with two lists of runs and for a run that says two things of its verdict, grade or task.
    """
    runs, model = _runs(found, place)
    records = [(n, _flat(run, model, f"{place}:{n}")) for n, run in enumerate(runs, 1)]
    met = {key for _, record in records for key in record}
    columns = {name: column for name, column in COLUMNS.items() if not column or column in met}
    constants: dict[str, str] = {}
    notes: list[str] = []
    if VERDICT not in met and "verdict" not in mapping.columns:
        columns.pop("verified", None)
        constants, notes = {"verified": "no"}, [UNJUDGED]
    values = {name: words for name, words in VALUES.items() if name in columns}
    default = RecordMapping(columns=columns, values=values, constants=constants)
    said = mapping.over(default)
    doubtful = said.values.get("verdict", {}).get("fail") == "missing"
    if doubtful and (fails := sum(record.get(VERDICT) == "fail" for _, record in records)):
        notes.append(FAIL.format(f"{fails} of {counted(len(records), 'run')}"))
    if others := sorted(met - KNOWN - {VERDICT, *said.columns.values()}):
        notes.append(f"keys not used: {named(others)}")
    rows, more = read_objects(records, said, place, unused=False)
    return rows, (*notes, *more) if rows else more


def _runs(found: Any, place: str) -> tuple[list[Any], object]:
    if isinstance(found, list):
        return found, None
    if all(isinstance(found.get(key), list) for key in ("runs", "results")):
        raise RecordError("two lists of runs", place=place, got="`runs` and `results`",
                          expected="one of the two")  # fmt: skip
    listed = _listed(found)
    return ([found], None) if listed is None else (listed, found.get("model"))


def _flat(run: Mapping[str, Any], model: object, place: str) -> dict[str, Any]:
    """One run with its task, verdict, grade and score under one set of keys."""
    flat = dict(run)
    outcome, score = run.get("orchestrator_result"), run.get("score")
    outcome = outcome if isinstance(outcome, Mapping) else {}
    score = score if isinstance(score, Mapping) else {}
    _put(flat, "task_id", place, task_id=run.get("task_id"), task=run.get("task"),
         orchestrator_result=outcome.get("task_id"))  # fmt: skip
    flat.setdefault("task_id", None)
    flat.setdefault("seed", 0)  # its runners' own default, left out where a run broke
    flat.setdefault("condition", "full")  # its agent and campaign runners know no other
    flat.setdefault("error", None)
    if model is not None:
        flat.setdefault("model", model)
    _put(flat, "pass", place, grader_verdict=_word(run.get("grader_verdict")),
         score=score.get("pass"), **{"pass": run.get("pass")})  # fmt: skip
    for holder in (run, score):
        secondary = holder.get("secondary")
        if isinstance(secondary, Mapping) and "partial_score" in secondary:
            flat.setdefault("partial_score", secondary["partial_score"])
    _put(flat, VERDICT, place, agent_verdict=run.get("agent_verdict"),
         orchestrator_result=outcome.get("verdict"), verdict=run.get("verdict"))  # fmt: skip
    if VERDICT not in flat and ({"agent_verdict", "verdict"} & run.keys() or "verdict" in outcome):
        flat[VERDICT] = None
    return flat


def _put(flat: dict[str, Any], key: str, place: str, **said: object) -> None:
    """Keep what is said of one thing in several places, all of which must say the same."""
    told = [(name, value) for name, value in said.items() if value is not None]
    for name, value in told[1:]:
        if (type(value), value) != (type(told[0][1]), told[0][1]):
            raise RecordError("a run that says two things", place=place,
                              got={told[0][0]: told[0][1], name: value},
                              expected="the same in both")  # fmt: skip
    if told:
        flat[key] = told[0][1]


def _word(said: object) -> object:
    return {"pass": True, "fail": False}.get(said, said) if isinstance(said, str) else said
