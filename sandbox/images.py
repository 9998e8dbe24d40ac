"""Images, for callers that take a task's start out of one."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rolewall.errors import InputError
from rolewall.sandbox.protocol import Backend

__all__ = ["ImageFacts", "Images", "images_of"]


@dataclass(frozen=True)
class ImageFacts:
    """What a local image says of itself.

    Attributes:
        name: what it was asked for by.
        id: the engine's id of it, which says what it holds.
        workdir: the directory that its commands start in.
        env: the environment of its commands.
    """

    name: str
    id: str
    workdir: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)


class Images(Protocol):
    """The images that a backend can make boxes from. Nothing is ever fetched or built."""

    def image_facts(self, name: str) -> ImageFacts:
        """What the image called ``name`` says of itself; InputError where there is none."""
        ...

    def copy_out(self, image: ImageFacts, path: str, into: Path) -> list[str]:
        """Copy a directory of an image into ``into``, new and empty; what was left out."""
        ...

    def whole(self, image: ImageFacts) -> AbstractContextManager[tarfile.TarFile]:
        """All that an image holds, to be read once from beginning to end; nothing of it runs."""
        ...


def images_of(backend: Backend) -> Images:
    """The images of ``backend``.

    Raises:
        InputError: it has none.
    """
    from rolewall.sandbox.docker import DockerBackend

    if isinstance(backend, DockerBackend):
        return backend
    raise InputError(
        f"the {backend.name} backend has no images",
        expected="the docker backend",
        hint="--backend docker, or backend: docker in the team file",
    )
