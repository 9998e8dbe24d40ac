"""Review the pull request of this workflow run, and exit 0 only where it is approved.

Exit codes: 0 approve, 1 reject, 2 bad input, 3 the machine failed, 4 missing. In 2, 3 and 4 the
verdict is `missing`: nobody has approved.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolewall import (
    InfrastructureError,
    InputError,
    Review,
    RolewallError,
    export_commit,
    review_change,
)

FORK = "it comes from a fork: GitHub gives it no secrets, so a reviewer with a model has no key"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviewer", type=Path, required=True, help="where team and spec.md lie")
    parser.add_argument("--change", type=Path, required=True, help="checkout of the merge commit")
    parser.add_argument("--evidence", type=Path, required=True, help="a new directory")
    given = parser.parse_args()
    event: dict[str, Any] = {}
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())["pull_request"]
        review = judge(given.reviewer, given.change, given.evidence, event, os.environ)
    except RolewallError as error:
        review = Review.failed(error)
    except (KeyError, TypeError, ValueError, OSError) as error:
        what = f"{type(error).__name__}: {error}"
        review = Review.failed(InputError("not what this workflow brings", got=what))
    except Exception as error:  # a fault of this program: said as one, and no verdict
        what = f"{type(error).__name__}: {error}"
        review = Review.failed(InfrastructureError("the review broke", got=what))
    return tell(review, given.evidence, event)


def judge(
    reviewer: Path, change: Path, evidence: Path, event: Mapping[str, Any], env: Mapping[str, str]
) -> Review:
    """What the reviewer of the base branch says of the merge commit that GitHub made."""
    commit = env["GITHUB_SHA"]
    with tempfile.TemporaryDirectory() as made:
        before, after = Path(made, "before"), Path(made, "after")
        # The first parent of the merge is the base branch as the merge found it.
        export_commit(change, f"{commit}^1", before)
        export_commit(change, commit, after)
        return review_change(
            before,
            after,
            reviewer / (env.get("REVIEW_TEAM") or "team.yaml"),
            spec=(reviewer / "spec.md").read_text("utf-8"),
            claim=f"{event['title']}\n\n{event['body'] or ''}",
            allow=env.get("REVIEW_ALLOW", "").split(),
            most=int(env.get("REVIEW_MOST") or 256 << 10),
            backend=env.get("REVIEW_BACKEND") or None,
            evidence=evidence,
        )


def tell(review: Review, evidence: Path, event: Mapping[str, Any]) -> int:
    """Say one decision in the log, the step's summary, its outputs and a file."""
    token = uuid.uuid4().hex
    # What a reviewer or a change says is no workflow command.
    print(f"::stop-commands::{token}\n{review.text()}::{token}::", flush=True)
    if review.verdict == "missing":
        print("::error title=rolewall review::no verdict, so no approval; the log says why")
    if from_fork(event):
        print(f"::notice title=rolewall review::{FORK}")
    failed = [
        write(lambda: append("GITHUB_STEP_SUMMARY", review.markdown())),
        write(lambda: append("GITHUB_OUTPUT", outputs(review))),
        write(lambda: keep(evidence / "review.json", json.dumps(review.json(), indent=1) + "\n")),
    ]
    # An approval that could not be said everywhere is none.
    return 3 if review and any(failed) else review.exit_code


def from_fork(event: Mapping[str, Any]) -> bool:
    """Whether the change comes from another repository, or from one that is gone."""
    head, base = ((event.get(end) or {}).get("repo") or {} for end in ("head", "base"))
    return bool(event) and head.get("full_name") != base.get("full_name")


def outputs(review: Review) -> str:
    return f"verdict={review.verdict}\nexit-code={review.exit_code}\n"


def write(what: Callable[[], None]) -> bool:
    """Whether it failed."""
    try:
        what()
    except OSError as error:
        print(f"rolewall review: {error.strerror}: {error.filename}", file=sys.stderr)
        return True
    return False


def append(variable: str, text: str) -> None:
    """To the file that GitHub names for it; elsewhere there is none."""
    if name := os.environ.get(variable):
        with open(name, "a", encoding="utf-8") as file:
            file.write(text)


def keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
