"""What is left of boxes: removing one, and finding those of dead harnesses."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from rolewall.errors import BackendUnavailable, BoxError, RolewallError
from rolewall.sandbox.docker.container import LABEL
from rolewall.sandbox.docker.engine import Engine, find_engine
from rolewall.sandbox.docker.failure import has_just_ended, is_being_removed
from rolewall.sandbox.owner import Owner

__all__ = ["clean", "remove"]

RETRY_SECONDS = 0.05


def remove(engine: Engine, container: str) -> None:
    """Kill and remove a container, and see that it is gone. None there is fine.

    Raises:
        BoxError: it is still there, or the engine cannot say.
    """
    engine.lookup("remove a box", lambda client: _remove(client, container))
    if engine.lookup("look for a removed box", lambda c: c.inspect_container(container)):
        raise BoxError(
            "a box could not be removed", got=container, hint="try `rolewall clean` later"
        )


def _remove(client: Any, container: str) -> None:
    from docker.errors import APIError

    until = time.monotonic() + client.timeout
    while True:
        try:
            client.remove_container(container, v=True, force=True)
            return
        except APIError as problem:
            if is_being_removed(problem):
                client.wait(container, timeout=int(client.timeout), condition="removed")
                return
            # It ended as the engine went to kill it, which may also keep the engine from
            # removing it by itself: it has to be asked again.
            if not has_just_ended(problem) or time.monotonic() > until:
                raise
        time.sleep(RETRY_SECONDS)


def clean() -> list[str]:
    """Remove the containers of this user's dead harnesses; a line for each.

    No engine means no containers: nothing to do.

    Raises:
        BoxError: some are still there; all others are gone.
        BackendUnavailable: an engine is there, and does not answer.
    """
    try:
        engine = find_engine()
    except BackendUnavailable as error:
        if isinstance(error.__cause__, RolewallError):
            raise
        return []
    try:
        return _remove_all(engine, [found for found in _ours(engine) if _dead(found)])
    finally:
        engine.close()


def _remove_all(engine: Engine, dead: list[Mapping[str, Any]]) -> list[str]:
    removed: list[str] = []
    stuck: RolewallError | None = None
    for container in dead:
        try:
            removed.append(_removed(engine, container))
        except RolewallError as error:
            stuck = error
    if stuck:
        raise stuck
    return removed


def _ours(engine: Engine) -> list[Mapping[str, Any]]:
    """This user's containers, in whatever state: one that never started counts too."""
    mine = {"label": [f"{LABEL}.run", f"{LABEL}.owner={os.geteuid()}"]}
    found = engine.call(
        "list boxes", lambda c: c.containers(all=True, filters=mine), repeatable=True
    )
    return list(found)


def _dead(container: Mapping[str, Any]) -> bool:
    """Whether the harness is known to be gone. What cannot be told is left alone."""
    labels = container.get("Labels") or {}
    numbers = [labels.get(f"{LABEL}.{name}", "") for name in ("pidns", "pid", "started")]
    if not all(number.isdecimal() for number in numbers):
        return False
    return Owner(*map(int, numbers)).dead()


def _removed(engine: Engine, container: Mapping[str, Any]) -> str:
    remove(engine, str(container["Id"]))
    name = ", ".join(str(n).lstrip("/") for n in container.get("Names") or ())
    label = (container.get("Labels") or {}).get(f"{LABEL}.label", "")
    return f"container {name or container['Id']} ({label})"
