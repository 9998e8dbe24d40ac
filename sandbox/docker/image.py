"""What a box's root file system is made of.

The image ``host`` holds nothing but mount points, links and labels; what a
role sees of the machine is bound over it. It is built here and loaded into
the engine, never fetched. Any other image must be on the engine already.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.errors import BoxError, InputError
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.host import HOST_LINKS

__all__ = ["HOST", "Image", "find_image"]

HOST = "host"
REPOSITORY = "rolewall-host"
DIRECTORIES = (
    "dev",
    "etc",
    "home",
    "proc",
    "rolewall",
    "root",
    "run",
    "sys",
    "tmp",
    "usr",
    "var",
)
# A fixed date makes the image's id depend on its content alone, so that two
# harnesses that load it at once load the same image.
MADE = "1970-01-01T00:00:00Z"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
REFERENCE = re.compile(
    r"(?=.{1,512}\Z)[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+/)?[a-zA-Z0-9/._-]*"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9._-]*)?(?:@sha256:[0-9a-f]{64})?\Z"
)


@dataclass(frozen=True, slots=True)
class Image:
    """An image on the engine.

    Attributes:
        name: what the caller asked for.
        id: the engine's id; a box is made from it, so that a tag that moves
            in between changes nothing.
        path: the search path that commands in it expect.
        volumes: directories that the image declares as volumes.
    """

    name: str
    id: str
    path: str = DEFAULT_PATH
    volumes: tuple[str, ...] = ()


def find_image(engine: Engine, name: str) -> Image:
    """The image called ``name``; ``host`` is made when the engine lacks it.

    Raises:
        InputError: the engine has no such image. It is never pulled.
        BoxError: the image ``host`` could not be loaded.
    """
    if name == HOST:
        return _host_image(engine)
    if not REFERENCE.match(name) or ".." in name or "//" in name:
        raise InputError("not an image name", place="image", got=name, expected="NAME[:TAG]")
    found = _inspect(engine, name)
    if found is None:
        raise InputError(
            "the Docker engine has no such image",
            place="image",
            got=name,
            hint=f"get it first: `docker pull {name}`, or use the image `host`",
        )
    return _described(name, found)


def _inspect(engine: Engine, name: str) -> Mapping[str, Any] | None:
    return engine.lookup(f"look up the image {name}", lambda c: c.inspect_image(name))


def _described(name: str, found: Mapping[str, Any]) -> Image:
    config = found.get("Config") or {}
    environment = dict(entry.partition("=")[::2] for entry in config.get("Env") or ())
    volumes = tuple(sorted(config.get("Volumes") or ()))
    return Image(name, str(found["Id"]), environment.get("PATH") or DEFAULT_PATH, volumes)


def _host_image(engine: Engine) -> Image:
    layer = _layer()
    archive, tag = _archive(layer)
    found = _inspect(engine, tag)
    if found is None or not _is_ours(found, layer):
        engine.call("load the image `host`", lambda c: _load(c, archive), repeatable=True)
        found = _inspect(engine, tag)
    if found is None or not _is_ours(found, layer):
        raise BoxError("the image `host` did not arrive on the engine", got=tag)
    return Image(HOST, str(found["Id"]))


def _is_ours(found: Mapping[str, Any], layer: bytes) -> bool:
    """A tag can be moved by anyone who may use the engine; the content cannot."""
    return list((found.get("RootFS") or {}).get("Layers") or ()) == [_sha256(layer)]


def _load(client: Any, archive: bytes) -> None:
    for line in client.load_image(archive):
        if "error" in line:
            raise BoxError(f"the Docker engine refused the image `host`: {line['error']}")


def _layer() -> bytes:
    entries = [_entry(name, tarfile.DIRTYPE, 0o755) for name in DIRECTORIES]
    for name, target in sorted(HOST_LINKS.items()):
        link = _entry(name, tarfile.SYMTYPE, 0o777)
        link.linkname = target
        entries.append(link)
    return _tar([(entry, b"") for entry in entries])


def _archive(layer: bytes) -> tuple[bytes, str]:
    """The archive that ``docker load`` takes, and the tag it carries."""
    config = json.dumps(
        {
            "architecture": MACHINES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "created": MADE,
            "config": {"Labels": {"rolewall.image": HOST}},
            "rootfs": {"type": "layers", "diff_ids": [_sha256(layer)]},
            "history": [{"created": MADE, "created_by": "rolewall"}],
        },
        sort_keys=True,
    ).encode()
    digest = hashlib.sha256(config).hexdigest()
    tag = f"{REPOSITORY}:{digest[:16]}"
    manifest = [{"Config": f"{digest}.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    files = {
        f"{digest}.json": config,
        "layer.tar": layer,
        "manifest.json": json.dumps(manifest).encode(),
    }
    return _tar([(_entry(n, tarfile.REGTYPE, 0o644), data) for n, data in files.items()]), tag


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    return entry


def _tar(entries: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry, data in entries:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
