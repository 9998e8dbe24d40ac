"""Agent teams behind real walls, from Python.

Everything a caller needs is here; ``docs/library.md`` shows it in use. Names
are imported when they are first used, so ``import rolewall`` loads nothing.
Errors are in ``rolewall.errors``, and the most common ones here too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolewall.errors import (
        InfrastructureError,
        InputError,
        PolicyError,
        ProbeFailed,
        RecordError,
        RolewallError,
    )
    from rolewall.graders import Grading
    from rolewall.grading import grade_directory
    from rolewall.handoffs import handoff_bytes, read_handoff, seal_handoff
    from rolewall.library import Sandbox, box_spec, open_sandbox
    from rolewall.policies import (
        Access,
        Attempt,
        HostPort,
        Kind,
        Limits,
        Outcome,
        Policy,
        Zone,
        enforced,
        policy_from_mapping,
        prompt_only,
    )
    from rolewall.reviewing import Review, export_commit, review_change
    from rolewall.roles import Artifact, Condition, Evidence, Handoff, SealedHandoff, Step
    from rolewall.sandbox import BoxSpec, Completed, Output, WatchSummary

    __version__: str

__all__ = [
    "Access",
    "Artifact",
    "Attempt",
    "BoxSpec",
    "Completed",
    "Condition",
    "Evidence",
    "Grading",
    "Handoff",
    "HostPort",
    "InfrastructureError",
    "InputError",
    "Kind",
    "Limits",
    "Outcome",
    "Output",
    "Policy",
    "PolicyError",
    "ProbeFailed",
    "RecordError",
    "Review",
    "RolewallError",
    "Sandbox",
    "SealedHandoff",
    "Step",
    "WatchSummary",
    "Zone",
    "__version__",
    "box_spec",
    "enforced",
    "export_commit",
    "grade_directory",
    "handoff_bytes",
    "open_sandbox",
    "policy_from_mapping",
    "prompt_only",
    "read_handoff",
    "review_change",
    "seal_handoff",
]

_MODULES = {
    "rolewall.errors": (
        "InfrastructureError InputError PolicyError ProbeFailed RecordError RolewallError"
    ),
    "rolewall.graders": "Grading",
    "rolewall.grading": "grade_directory",
    "rolewall.handoffs": "handoff_bytes read_handoff seal_handoff",
    "rolewall.library": "Sandbox box_spec open_sandbox",
    "rolewall.policies": (
        "Access Attempt HostPort Kind Limits Outcome Policy Zone"
        " enforced policy_from_mapping prompt_only"
    ),
    "rolewall.reviewing": "Review export_commit review_change",
    "rolewall.roles": "Artifact Condition Evidence Handoff SealedHandoff Step",
    "rolewall.sandbox": "BoxSpec Completed Output WatchSummary",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("rolewall")
    if name not in _HOME:
        raise AttributeError(f"module 'rolewall' has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
