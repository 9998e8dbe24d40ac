"""The look for what an image loads of a zone: once for each image, and kept."""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
import threading
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from rolewall._files import load_json
from rolewall.errors import InputError, RolewallError
from rolewall.sandbox.images import ImageFacts, images_of
from rolewall.sandbox.loading import LOOK, loaded_by_archive, loaded_by_host
from rolewall.sandbox.owner import new_name
from rolewall.sandbox.protocol import Backend
from rolewall.sandbox.runtime import cache_directory

__all__ = ["loaded_by_image"]

PATIENCE = 10.0  # seconds without a word
MOST_KEPT = 4096  # bytes of a kept finding

_locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
_guard = threading.Lock()


def loaded_by_image(backend: Backend, image: str, image_id: str, zones: Collection[str]) -> str:
    """Why programs of an image may load what lies in a zone, unasked; empty where it was looked
    through and nothing of it says so.

    What cannot be looked through counts as loading. Looking takes as long as the engine needs
    to hand out all of the image, once: what was found is kept in the cache directory.

    Args:
        image: what the image was asked for by; ``host`` is looked at in its loader files alone.
        image_id: the engine's id of it, of what a box was made from.
        zones: names of the zones that others write.
    """
    if image == "host":
        return loaded_by_host(frozenset(zones))
    if not image_id:
        return "an image that nobody knows any more"
    with _guard:
        lock = _locks[image_id]
    with lock:
        place = _place(image_id, zones)
        found = _kept(place, image_id)
        if found is None:
            try:
                found = _looked(backend, ImageFacts(image, image_id), zones)
            except (RolewallError, tarfile.TarError, OSError) as error:
                return f"an image that could not be looked through: {error}"[:300]
            _keep(place, image_id, found)
    return found


def _looked(backend: Backend, image: ImageFacts, zones: Collection[str]) -> str:
    told = threading.Timer(PATIENCE, _tell, [image.name])
    told.daemon = True
    told.start()
    try:
        with images_of(backend).whole(image) as archive:
            return loaded_by_archive(archive, zones)
    finally:
        told.cancel()


def _tell(image: str) -> None:
    print(
        f"looking through the image {image}, once, for what it loads of the work: it is large",
        file=sys.stderr,
        flush=True,
    )


def _place(image_id: str, zones: Collection[str]) -> Path:
    asked = json.dumps([LOOK, image_id, sorted(zones)])
    return cache_directory() / "looks" / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.json"


def _kept(place: Path, image_id: str) -> str | None:
    """What an earlier look found; None where there is none, or none that can be read."""
    try:
        found = load_json(place.read_bytes()[: MOST_KEPT + 1], str(place), max_bytes=MOST_KEPT)
    except (OSError, InputError):
        return None
    if not isinstance(found, dict) or set(found) != {"image", "look", "loads"}:
        return None
    if found["image"] != image_id or found["look"] != LOOK or not isinstance(found["loads"], str):
        return None
    return found["loads"]


def _keep(place: Path, image_id: str, loads: str) -> None:
    """A cache that cannot be written costs the time of the next look, and no more."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(new_name())
        partial.write_text(json.dumps({"image": image_id, "look": LOOK, "loads": loads}))
        partial.replace(place)
