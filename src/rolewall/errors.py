"""Every error a user can meet.

::

    RolewallError                  exit code
    ├── InputError                 2    a file, option or argument is not acceptable
    │   ├── PolicyError            2    a policy that does not separate duties
    │   ├── TeamError              2    a team file
    │   ├── TaskError              2    a task directory
    │   └── RecordError            2    a run directory or record that cannot be read
    ├── InfrastructureError        3    the machine, not the agents
    │   ├── BackendUnavailable     3    no engine, no bubblewrap, no user namespaces
    │   ├── BoxError               3    a box could not be made, or broke
    │   ├── ProbeFailed            3    the policy is not in force inside a box
    │   ├── TapError               3    attempts can no longer be observed
    │   ├── ModelUnavailable       3    a model's endpoint gave no answer
    │   └── StorageError           3    disk full, unreadable, not writable
    ├── NotEnoughEvidence          4    nothing, or too little, to decide on
    └── Interrupted                130  the user asked to stop

A failing *agent* is no error: it is an outcome, and stands in the record.
"""

from __future__ import annotations

__all__ = [
    "BackendUnavailable",
    "BoxError",
    "InfrastructureError",
    "InputError",
    "Interrupted",
    "ModelUnavailable",
    "NotEnoughEvidence",
    "PolicyError",
    "ProbeFailed",
    "RecordError",
    "RolewallError",
    "StorageError",
    "TapError",
    "TaskError",
    "TeamError",
]


class RolewallError(Exception):
    """The base of all errors raised on purpose.

    Args:
        message: what is wrong, in one sentence without a full stop.
        place: the file, key or option at fault, such as ``team.yaml: roles.verifier``.
        got: what was found there.
        expected: what would have been accepted.
        hint: the way out, if there is one.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        place: str | None = None,
        got: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.place = place
        self.got = got
        self.expected = expected
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        if self.got is not None:
            text += f"; got {self.got!r}"
        if self.expected is not None:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f" ({self.hint})"
        return text


class InputError(RolewallError):
    exit_code = 2


class PolicyError(InputError):
    pass


class TeamError(InputError):
    pass


class TaskError(InputError):
    pass


class RecordError(InputError):
    pass


class InfrastructureError(RolewallError):
    exit_code = 3


class BackendUnavailable(InfrastructureError):
    pass


class BoxError(InfrastructureError):
    pass


class ProbeFailed(InfrastructureError):
    pass


class TapError(InfrastructureError):
    pass


class ModelUnavailable(InfrastructureError):
    pass


class StorageError(InfrastructureError):
    pass


class NotEnoughEvidence(RolewallError):
    exit_code = 4


class Interrupted(RolewallError):
    exit_code = 130
