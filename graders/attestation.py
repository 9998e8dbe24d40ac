"""The attestation that TeamBench's graders ask for.

They read ``submission/attestation.json``, and most of them make ``verdict ==
"pass"`` one of their checks, so there a grade depends on the verdict. To grade
the work alone, every verdict, approving or not, is handed in as this one
attestation. A verifier that says nothing hands in none, and a grader that
insists on one fails the work, as it does there; but not in a calibration,
where the work's truth is known and no verifier's to change.
"""

from __future__ import annotations

import json
from pathlib import Path

from rolewall.errors import StorageError

__all__ = ["write_attestation"]


def write_attestation(submission: Path, *, task: str, run: str) -> None:
    """Write ``attestation.json`` into the harness's own directory ``submission``."""
    body = {"task_id": task, "run_id": run, "verdict": "pass", "checklist": []}
    try:
        (submission / "attestation.json").write_text(json.dumps(body, indent=2), encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"the attestation cannot be written: {error.strerror}", place=str(submission)
        ) from error
