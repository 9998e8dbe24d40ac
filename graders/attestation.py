"""A TeamBench attestation made from a verdict.

TeamBench's graders read ``submission/attestation.json`` and most of them make
``verdict == "pass"`` one of their checks, so there a grade depends on the
verdict. To grade the work alone, and so keep verdict and grade independent, a
caller gives every grading an attestation of ``approve``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

__all__ = ["write_attestation"]

WORDS = {"approve": "pass", "reject": "fail"}


def write_attestation(
    submission: Path,
    verdict: Literal["approve", "reject", "missing"],
    *,
    task: str,
    run: str,
    checks: Sequence[Mapping[str, Any]] = (),
) -> bool:
    """Write ``attestation.json`` into the harness's own directory ``submission``.

    ``checks`` are the verdict's: ``name``, ``ok``, ``evidence``. A missing verdict
    writes nothing, as a verifier that says nothing does; returns whether it wrote.
    """
    if verdict not in WORDS:
        return False
    listed = [
        {
            "id": str(check.get("name", "")),
            "ok": check.get("ok") is True,
            "note": str(check.get("evidence", "")),
        }
        for check in checks
    ]
    body = {"task_id": task, "run_id": run, "verdict": WORDS[verdict], "checklist": listed}
    (submission / "attestation.json").write_text(json.dumps(body, indent=2), encoding="utf-8")
    return True
