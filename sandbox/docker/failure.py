"""What went wrong, and whose fault it is.

Two things can fail around a box, and they must never be mixed up:

* **The command failed.** A role's program exits with a status or is killed by
  a signal. That is the agent's outcome. It is known only from
  ``rolewall-init``, over the control socket, as a ``Completed``.
* **The sandbox failed.** The engine did not answer, refused, or lost the box.
  That is infrastructure. It is known from the engine's API.

Nothing that a role runs goes through the engine's API: no ``exec``, no
container exit status, no container log is ever read as a result. (One thing may be
asked, in ``launched``: whether a box that is gone ran out of memory. The engine
removes the group that counted it.) So every error that reaches this module is the
sandbox's, and ``translate`` maps it to
an error that says who can put it right:

=====================================  =====================  ==============================
the engine                             becomes                because
=====================================  =====================  ==============================
cannot be reached, or may not be       BackendUnavailable     no box can be made here
did not answer before the deadline     BoxError               the state is unknown: the
                                                              caller discards the box
has no room left                       StorageError           making room helps
could not be asked: this process is    BoxError               not the engine's fault
out of descriptors or memory
refuses a profile, a runtime, a mount  BackendUnavailable     no box can be made here
refuses anything else                  BoxError               this box could not be made
=====================================  =====================  ==============================

An image that does not exist is the caller's fault (``InputError``) and is
raised in ``image``, the one place that asks for an image by name.
"""

from __future__ import annotations

import errno

from rolewall.errors import BackendUnavailable, BoxError, RolewallError, StorageError

__all__ = [
    "has_just_ended",
    "is_being_removed",
    "is_missing",
    "is_transient",
    "translate",
    "unreachable",
]

HTTP_CONFLICT = 409
OUR_OWN = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
START_ENGINE = "start it (`systemctl start docker`), or use the bubblewrap backend"
JOIN_GROUP = "add yourself to the group `docker` and log in again, or use the bubblewrap backend"
SAME_FILES = "the engine must run on this machine and see the same files as the harness"

# Parts of the engine's messages, lower case, with the error class and the way out.
REFUSALS: tuple[tuple[str, type[RolewallError], str], ...] = (
    ("no space left on device", StorageError, "make room below the engine's data directory"),
    ("disk quota exceeded", StorageError, "make room below the engine's data directory"),
    ("bind source path does not exist", BackendUnavailable, SAME_FILES),
    ("seccomp", BackendUnavailable, "the engine must be built with seccomp"),
    ("unknown or invalid runtime", BackendUnavailable, "use the runtime runc"),
    ("exec format error", BoxError, "the image is for another processor"),
)


def unreachable(error: OSError | None, address: str) -> BackendUnavailable:
    """No engine answers at ``address``; ``error`` tells apart absent and forbidden."""
    if error is not None and error.errno in {errno.EACCES, errno.EPERM}:
        return BackendUnavailable(
            "the Docker engine may not be used by this user", place=address, hint=JOIN_GROUP
        )
    return BackendUnavailable("no Docker engine answers", place=address, hint=START_ENGINE)


def is_missing(problem: BaseException) -> bool:
    """Whether the engine says that the thing asked for does not exist."""
    from docker import errors

    return isinstance(problem, errors.NotFound)


def is_being_removed(problem: BaseException) -> bool:
    """Whether the engine refuses to remove a container because it already does so."""
    from docker import errors

    return (
        isinstance(problem, errors.APIError)
        and problem.status_code == HTTP_CONFLICT
        and "already in progress" in str(problem.explanation)
    )


def has_just_ended(problem: BaseException) -> bool:
    """Whether the engine refuses to remove a container because, as it went to kill it, it
    ended by itself."""
    from docker import errors

    return isinstance(problem, errors.APIError) and "is not running" in str(problem.explanation)


def is_transient(problem: BaseException) -> bool:
    """Whether asking again may help: the connection broke or was too slow."""
    from requests import exceptions

    return isinstance(problem, exceptions.ConnectionError | exceptions.Timeout)


def translate(problem: Exception, doing: str, address: str, deadline: float) -> RolewallError:
    """The error to raise for ``problem``, met while ``doing``.

    Args:
        problem: what the SDK, its HTTP library or the socket raised.
        doing: what was asked of the engine, such as ``create a box``.
        address: the engine's address.
        deadline: seconds the engine had to answer.
    """
    from docker import errors
    from requests import exceptions

    if isinstance(problem, RolewallError):
        return problem
    if isinstance(problem, exceptions.Timeout) or _caused_by(problem, TimeoutError):
        return BoxError(
            f"the Docker engine did not answer in {deadline:g} s when asked to {doing}",
            place=address,
            hint="see the engine's log; `rolewall clean` removes what is left",
        )
    if isinstance(problem, errors.APIError):
        return _refusal(problem, doing)
    return _unasked(problem, doing, address)


def _unasked(problem: Exception, doing: str, address: str) -> RolewallError:
    """The engine gave no answer at all."""
    from docker import errors
    from requests import exceptions

    cause = _os_error(problem)
    if cause and cause.errno in OUR_OWN:
        return BoxError(f"cannot ask the Docker engine to {doing}: {cause.strerror}")
    connecting = isinstance(problem, exceptions.ConnectionError)
    if connecting or (cause and isinstance(problem, errors.DockerException)):
        return unreachable(cause, address)
    return BoxError(f"the Docker engine failed to {doing}: {problem}", place=address)


def _refusal(problem: Exception, doing: str) -> RolewallError:
    said = str(getattr(problem, "explanation", None) or problem).strip()
    for part, kind, hint in REFUSALS:
        if part in said.lower():
            return kind(f"the Docker engine refused to {doing}: {said}", hint=hint)
    return BoxError(f"the Docker engine refused to {doing}: {said}")


def _chain(problem: BaseException) -> list[BaseException]:
    """The exception and all it wraps: HTTP libraries hide the cause in ``args``."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [problem]
    while todo:
        current = todo.pop(0)
        if current is None or current in found:
            continue
        found.append(current)
        nested = [a for a in current.args if isinstance(a, BaseException)]
        todo += [current.__cause__, current.__context__, *nested]
    return found


def _caused_by(problem: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(each, kind) for each in _chain(problem))


def _os_error(problem: BaseException) -> OSError | None:
    """The system's own error beneath the libraries', the one with an ``errno``."""
    for each in _chain(problem):
        if isinstance(each, OSError) and each.errno is not None:
            return each
    return None
