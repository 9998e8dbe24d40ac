"""What an image on the engine says of itself, and what it holds, handed out.

The container that the engine needs for that is made and never started.
"""

from __future__ import annotations

import base64
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from rolewall.errors import BoxError, InputError
from rolewall.sandbox.docker.cleanup import remove
from rolewall.sandbox.docker.container import labels
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.image import find_image
from rolewall.sandbox.images import ImageFacts
from rolewall.sandbox.owner import new_name
from rolewall.sandbox.unpack import stream, unpack

__all__ = ["copy_out", "image_facts", "whole"]

CHUNK = 1 << 20

# How Go's FileMode says it in the header of a path's status.
GO_DIRECTORY, GO_LINK = 1 << 31, 1 << 27
STATUS_HEADER = "X-Docker-Container-Path-Stat"


def image_facts(engine: Engine, name: str) -> ImageFacts:
    """What the image called ``name`` says of itself.

    Raises:
        InputError: the engine has no such image.
    """
    image = find_image(engine, name)
    found = engine.call(f"look at the image {name}", lambda c: c.inspect_image(image.id))
    config = found.get("Config") or {}
    entries = (entry.partition("=")[::2] for entry in config.get("Env") or ())
    return ImageFacts(name, image.id, str(config.get("WorkingDir") or "/"), dict(entries))


def copy_out(engine: Engine, image: ImageFacts, path: str, into: Path, run: str) -> list[str]:
    """Copy the directory ``path`` of an image into ``into``, which is new and empty.

    Returns:
        what was left out, a line each.

    Raises:
        InputError: there is no such directory, it is reached by a link, or it is too large.
        BoxError: the engine failed, or sent what is no archive.
        StorageError: it cannot be written.
    """
    with _container(engine, image.id, run) as container:
        for part in (*reversed(PurePosixPath(path).parents), PurePosixPath(path)):
            _check_directory(engine, image, container, str(part))
        try:
            return engine.call(
                "copy a directory of an image", lambda c: _copy(c, container, path, into)
            )
        except tarfile.TarError as error:
            raise BoxError(f"the engine's archive of {path} cannot be read: {error}") from error


@contextmanager
def whole(engine: Engine, image: ImageFacts, run: str) -> Iterator[tarfile.TarFile]:
    """All that an image holds, to be read once from beginning to end.

    Raises:
        BoxError: the engine failed, or sent what is no archive.
    """
    with _container(engine, image.id, run) as container:
        chunks = engine.call("hand out an image", lambda c: c.export(container, CHUNK))
        try:
            with tarfile.open(fileobj=stream(iter(chunks)), mode="r|") as archive:
                yield archive
        finally:
            if close := getattr(chunks, "close", None):
                close()


@contextmanager
def _container(engine: Engine, image_id: str, run: str) -> Iterator[str]:
    name = new_name()
    asked = {
        "Image": image_id,
        "Entrypoint": ["/never-started"],
        "Cmd": [],
        "NetworkDisabled": True,
        "Labels": labels(run, "look"),
        "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "none", "Config": {}}},
    }
    try:
        engine.call("look into an image", lambda c: c.create_container_from_config(asked, name))
        yield name
    finally:
        remove(engine, name)


def _check_directory(engine: Engine, image: ImageFacts, container: str, path: str) -> None:
    status = engine.call("look into an image", lambda c: _status(c, container, path))
    mode = status.get("mode", 0) if status else 0
    if not mode & GO_DIRECTORY or mode & GO_LINK:
        raise InputError(
            "not a directory of the image" if status else "the image has no such directory",
            place=f"image {image.name}",
            got=path,
            expected="a directory, with no link on the way",
        )


def _status(client: Any, container: str, path: str) -> dict[str, Any] | None:
    """What stands at ``path``, by its head alone: the body would be all that lies in it."""
    place = f"{client.base_url}/v{client.api_version}/containers/{container}/archive"
    answer = client.head(place, params={"path": path}, timeout=client.timeout)
    with answer:
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        found = json.loads(base64.b64decode(answer.headers[STATUS_HEADER]))
        return found if isinstance(found, dict) else None


def _copy(client: Any, container: str, path: str, into: Path) -> list[str]:
    chunks, _ = client.get_archive(container, path)
    with tarfile.open(fileobj=stream(chunks), mode="r|") as archive:
        return unpack(archive, into, path)
