"""A pipeline of plain functions, with a verifier that cannot touch what it judges.

The functions stand for an orchestrator of yours: each takes the state and returns it. Only
`build` and `verify` know of rolewall.

    python pipeline.py WORK SPEC BRIEF OUT [BUILDER]

Exit codes: 0 published, 1 rejected to the end, 4 no verdict; 2 and 3 as everywhere in rolewall.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rolewall import Review, RolewallError, enforced, open_sandbox, review_change

HERE = Path(__file__).parent
ROUNDS = 3
BACKEND = os.environ.get("BACKEND", "auto")
POLICY = enforced(("executor", "verifier"))


@dataclass
class State:
    """What goes from step to step. ``zones`` are directories that the builder's box shows."""

    start: Path
    spec: str
    builder: str
    out: Path
    zones: dict[str, Path]
    round: int = 0
    review: Review | None = None
    tried: list[str] = field(default_factory=list)


def build(state: State) -> State:
    """One turn of the builder: it reads the brief and not the specification, and writes the
    work. Put your agent's command in the place of the shell script."""
    state.round += 1
    with open_sandbox(POLICY, "executor", state.zones, backend=BACKEND) as sandbox:
        done = sandbox.run(["sh", "-e"], stdin=state.builder.encode(), timeout=120)
        sandbox.finish()  # nothing of the builder is alive from here on
        state.tried += [f"{a.kind} {a.outcome} {a.syscall} {a.paths}" for a in sandbox.attempts()]
    print(f"round {state.round}: the builder ended with {done.returncode}")
    return state


def verify(state: State) -> State:
    """What the work is worth. Whatever goes wrong, the verdict is then ``missing``; a ``Review``
    is true only where it says ``approve``."""
    state.review = review_change(
        state.start,
        state.zones["workspace"],
        HERE / "team" / "team.yaml",
        spec=state.spec,
        backend=BACKEND,
    )
    print(f"round {state.round}: {state.review.text()}", end="")
    return state


def feed_back(state: State) -> State:
    """The verifier's reason, for the builder's next turn."""
    assert state.review is not None
    (state.zones["feedback"] / "feedback.txt").write_text(state.review.text())
    return state


def publish(state: State) -> State:
    shutil.copytree(state.zones["workspace"], state.out, symlinks=True)
    print(f"published {state.out}")
    return state


def after_verify(state: State) -> Callable[[State], State] | None:
    """The edge: LangGraph, for one, takes such a function in ``add_conditional_edges``."""
    assert state.review is not None
    if state.review:
        return publish
    if state.review.verdict == "reject" and state.round < ROUNDS:
        return feed_back
    return None


def run(state: State) -> int:
    step: Callable[[State], State] | None = build
    edges = {build: lambda _: verify, verify: after_verify, feed_back: lambda _: build}
    while step is not None:
        state = step(state)
        step = edges[step](state) if step in edges else None
    for line in state.tried:
        print(f"the builder tried: {line}")
    assert state.review is not None
    return state.review.exit_code


def usage() -> int:
    print("usage: pipeline.py WORK SPEC BRIEF OUT [BUILDER]", file=sys.stderr)
    return 2


def main(work: str, spec: str, brief: str, out: str, builder: str = "") -> int:
    if os.path.lexists(out):
        print(f"{out}: is there already", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        zones = {name: Path(made, name) for name in ("brief", "report", "feedback", "workspace")}
        shutil.copytree(work, zones["workspace"], symlinks=True)
        for zone in zones.values():
            zone.mkdir(exist_ok=True)
        shutil.copy(brief, zones["brief"] / "brief.md")
        script = Path(builder or HERE / "builder.sh").read_text("utf-8")
        return run(State(Path(work), Path(spec).read_text("utf-8"), script, Path(out), zones))


if __name__ == "__main__":
    try:
        if not 5 <= len(sys.argv) <= 6:
            sys.exit(usage())
        sys.exit(main(*sys.argv[1:]))
    except RolewallError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
