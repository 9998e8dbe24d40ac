"""What dead harnesses left on disk, outside run directories: found by name, and removed.

Kits, directories made here for a while, and box runtimes that were not finished. No
engine is needed for any of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import storage
from rolewall.sandbox.kit import clean_kits
from rolewall.sandbox.owner import is_left_over, new_name
from rolewall.sandbox.remove import remove_tree
from rolewall.sandbox.runtime import cache_directory
from rolewall.sandbox.stopping import to_the_end

__all__ = ["clean_leftovers", "temporary_directory"]


@contextmanager
def temporary_directory(*, cached: bool = False) -> Iterator[Path]:
    """A directory that is gone afterwards; should this process be killed, with ``clean``.

    It lies where temporary files do, or with ``cached`` in the cache directory, so that what
    is made there can be renamed into that; and is for its owner alone.

    Raises:
        StorageError: it cannot be made or removed.
    """
    place = cache_directory() if cached else Path(tempfile.gettempdir())
    path = place.resolve() / new_name()
    with storage(path):
        path.mkdir(mode=0o700, parents=cached)
    try:
        yield path
    finally:
        with to_the_end():
            remove_tree(path)


def clean_leftovers() -> list[str]:
    """Remove what dead harnesses of this user left on disk; a line for each."""
    removed = clean_kits()
    for kind, place in (
        ("directory", lambda: Path(tempfile.gettempdir())),
        ("unfinished copy", cache_directory),
    ):
        removed += [f"{kind} {path}" for path in _left_in(place) if _remove(path)]
    return removed


def _left_in(place: Callable[[], Path]) -> list[Path]:
    try:
        return [path for path in place().iterdir() if is_left_over(path)]
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return []  # what cannot be listed cannot have been written here


def _remove(path: Path) -> bool:
    with suppress(StorageError):
        remove_tree(path)
    return not path.exists()
