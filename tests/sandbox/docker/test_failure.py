"""The engine's refusals, told apart by who can put them right."""

from __future__ import annotations

import pytest
import requests
from docker import errors

from rolewall.errors import BackendUnavailable, BoxError, RolewallError, StorageError
from rolewall.sandbox.docker.failure import has_just_ended, is_being_removed, is_missing, translate


def refusal(status: int, said: str) -> errors.APIError:
    response = requests.Response()
    response.status_code = status
    return errors.APIError("refused", response=response, explanation=said)


def translated(problem: Exception) -> RolewallError:
    return translate(problem, "start a box", "unix:///x", 5.0)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("mkdir /var/lib/docker/x: no space left on device", StorageError),
        ("invalid mount config: bind source path does not exist: /x", BackendUnavailable),
        ("seccomp is not enabled in your kernel", BackendUnavailable),
        ("exec /rolewall/init: exec format error", BoxError),
        ("something nobody has seen before", BoxError),
    ],
)
def test_a_refusal_is_classed_by_what_was_said(said: str, kind: type[RolewallError]) -> None:
    error = translated(refusal(500, said))
    assert type(error) is kind
    assert said in str(error)
    assert "start a box" in str(error)
    assert error.exit_code == 3


def test_a_timeout_names_deadline_and_call() -> None:
    error = translated(requests.exceptions.ReadTimeout("read timed out"))
    assert type(error) is BoxError
    assert "5 s when asked to start a box" in str(error)


def test_a_broken_connection_means_no_engine() -> None:
    wrapped = requests.exceptions.ConnectionError(ConnectionRefusedError(111, "refused"))
    assert type(translated(wrapped)) is BackendUnavailable


def test_a_forbidden_socket_is_told_from_an_absent_engine() -> None:
    wrapped = requests.exceptions.ConnectionError(PermissionError(13, "denied"))
    assert "group `docker`" in str(translated(wrapped))


def test_what_this_process_lacks_is_not_the_engines_fault() -> None:
    wrapped = requests.exceptions.ConnectionError(OSError(24, "Too many open files"))
    error = translated(wrapped)
    assert type(error) is BoxError
    assert "Too many open files" in str(error)


def test_an_error_of_our_own_passes_unchanged() -> None:
    mine = StorageError("full")
    assert translated(mine) is mine


def test_missing_and_vanishing_are_recognised() -> None:
    assert is_missing(errors.NotFound("gone"))
    assert not is_missing(refusal(500, "no such container"))
    assert is_being_removed(refusal(409, "removal of container x is already in progress"))
    assert not is_being_removed(refusal(409, "name is in use"))


def test_a_container_that_ended_as_it_was_killed() -> None:
    said = "Could not kill running container x, cannot remove - Container x is not running"
    assert has_just_ended(refusal(500, said))
    assert not has_just_ended(refusal(409, "name is in use"))
