"""Boxes as containers of the local Docker engine."""

from __future__ import annotations

import os
import secrets
import socket
import tarfile
import threading
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path

from rolewall.errors import BackendUnavailable, BoxError, RolewallError
from rolewall.sandbox.docker.cleanup import clean, remove
from rolewall.sandbox.docker.container import Plan, configuration
from rolewall.sandbox.docker.contents import copy_out, image_facts, whole
from rolewall.sandbox.docker.diagnose import diagnose
from rolewall.sandbox.docker.engine import Engine, find_engine
from rolewall.sandbox.docker.fit import refuse_unfit
from rolewall.sandbox.docker.image import find_image
from rolewall.sandbox.docker.launched import DockerBox
from rolewall.sandbox.docker.profile import choose_profile
from rolewall.sandbox.guard import guarded
from rolewall.sandbox.images import ImageFacts
from rolewall.sandbox.kit import Kit
from rolewall.sandbox.leftover import clean_leftovers
from rolewall.sandbox.owner import new_name
from rolewall.sandbox.protocol import BoxSpec, Finding
from rolewall.sandbox.uids import lease

__all__ = ["DockerBackend"]

# From the engine's word that init runs until init connects.
CONNECT_SECONDS = 30.0
# Memory is limited all the same; what the box may swap is not.
TOLERATED = ("swap limit",)


class DockerBackend:
    """A ``Backend`` on ``engine``, which it then owns, or on the one that the
    environment names, connected at the first use. Safe to share between threads.
    """

    name = "docker"

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine
        self._fit = False
        self._lock = threading.Lock()
        self._run = secrets.token_hex(8)

    def launch(self, spec: BoxSpec) -> DockerBox:
        """Start a box. See ``Backend`` for the contract.

        Raises:
            BackendUnavailable: no usable engine.
            BoxError: this box could not be made.
            StorageError: the engine, or the box's kit, has no room left.
            InputError: the image does not exist, or a zone cannot be mounted.
        """
        with guarded("start a box"), ExitStack() as undo:
            engine = self._usable_engine()
            plan = self._plan(engine, spec, undo)
            name = new_name()
            undo.callback(_discard, engine, name)
            container, warnings = _start(engine, plan, name)
            control = undo.enter_context(_connected(engine, plan, container))
            box = _box(engine, plan, container, control, warnings)
            undo.pop_all()
        return box

    def _plan(self, engine: Engine, spec: BoxSpec, undo: ExitStack) -> Plan:
        image = find_image(engine, spec.image)
        profile = choose_profile(engine, tap=spec.tap)
        identity = lease(own_init_uid=True)
        undo.callback(identity.release)
        kit = Kit.make(spec, identity)
        undo.callback(kit.close)
        return Plan(
            spec=spec,
            image=image,
            identity=identity,
            kit=kit,
            profile=profile,
            run=self._run,
            attach=os.geteuid() == 0,
            cores=float(engine.info.get("NCPU") or 1),
            host_users=engine.security_option("userns") is not None,
        )

    def _usable_engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine, self._fit = find_engine(), False
            if not self._fit:
                refuse_unfit(self._engine)
                self._fit = True
            return self._engine

    def image_facts(self, name: str) -> ImageFacts:
        """What the image called ``name`` says of itself; InputError where there is none."""
        return image_facts(self._usable_engine(), name)

    def copy_out(self, image: ImageFacts, path: str, into: Path) -> list[str]:
        """Copy a directory of an image into ``into``, new and empty; what was left out."""
        return copy_out(self._usable_engine(), image, path, into, self._run)

    def whole(self, image: ImageFacts) -> AbstractContextManager[tarfile.TarFile]:
        """All that an image holds, to be read once from beginning to end; nothing of it runs."""
        return whole(self._usable_engine(), image, self._run)

    def diagnose(self) -> list[Finding]:
        """What this machine can enforce with Docker; starts a box to see."""
        return diagnose(self.launch)

    def clean(self) -> list[str]:
        """Remove containers and kits of this user's dead harnesses; a line for each."""
        # Kits first: an engine that still makes a dead harness's box then fails for want of it.
        return clean_leftovers() + clean()

    def close(self) -> None:
        """Close the connection to the engine. Boxes are closed one by one."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


def _start(engine: Engine, plan: Plan, name: str) -> tuple[str, list[str]]:
    """Create and start the container; its id, and what the engine warned of."""
    asked = configuration(plan)
    answer = engine.call("create a box", lambda c: c.create_container_from_config(asked, name))
    warnings = [str(warning) for warning in answer.get("Warnings") or ()]
    for warning in warnings:
        if not any(part in warning.lower() for part in TOLERATED):
            raise BackendUnavailable(
                f"the Docker engine would run a box without what was asked: {warning}",
                place=engine.address,
            )
    container = str(answer["Id"])
    engine.call("start a box", lambda c: c.start(container))
    return container, warnings


def _connected(engine: Engine, plan: Plan, container: str) -> socket.socket:
    """The control socket; says what became of a container whose init never connects."""
    try:
        return plan.kit.accept(CONNECT_SECONDS)
    except BoxError as error:
        found = engine.lookup("look for a box", lambda c: c.inspect_container(container))
        if found is None:
            error.hint = "its container ended by itself: the image may be for another processor"
        else:
            error.hint = "its container runs: the engine may not see this machine's files"
        raise


def _box(
    engine: Engine, plan: Plan, container: str, control: socket.socket, warnings: list[str]
) -> DockerBox:
    identity = plan.identity
    facts: dict[str, object] = {
        "backend": DockerBackend.name,
        "engine": engine.version,
        "container": container,
        "image": plan.image.name,
        "image_id": plan.image.id,
        "image_path": plan.image.path,
        "role_uid": identity.role_uid,
        "init_uid": identity.init_uid,
        "distinct_uids": identity.distinct,
        "seccomp": {"profile": plan.profile.name, "sha256": plan.profile.digest},
        "warnings": warnings,
    }
    return DockerBox(engine, container, plan, control, facts)


def _discard(engine: Engine, name: str) -> None:
    """Remove what a launch that failed may have made; its own error is the one to show."""
    with suppress(RolewallError):
        remove(engine, name)
