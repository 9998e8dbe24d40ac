"""The workspace as everybody but its executor meets it.

Readable, and with a repository of the harness's own in place of each that the
executor could fill: git in one of those would run what the executor wrote there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolewall.sandbox import (
    BlobStore,
    Manifest,
    NestedAside,
    make_readable,
    nested_aside,
    restore_git,
    restore_modes,
    restore_nested,
    storage,
    verifier_repo,
    with_nested,
)

__all__ = ["Shown", "shown"]


@dataclass(frozen=True, slots=True)
class Shown:
    """``state`` is the workspace as its executor left it, made readable."""

    state: Manifest
    nested: NestedAside

    def own(self, manifest: Manifest) -> Manifest:
        """A later state of the workspace, with the executor's own repositories in it."""
        return with_nested(manifest.with_git_of(self.state), self.state, self.nested)


@contextmanager
def shown(
    workspace: Path,
    start: Manifest,
    store: BlobStore,
    take: Callable[[], Manifest],
    aside: Path,
) -> Iterator[Shown]:
    """Show the workspace as it is in ``take()``; afterwards the executor's is as it was.

    ``aside`` is a directory that does not exist, on the same file system. What a role
    changed in the harness's repository is dropped. After an error the episode ends, so
    nothing is put back. No process may be alive at either end.

    Raises:
        StorageError: something cannot be moved, read or written.
    """
    with storage(aside):
        aside.mkdir()
    modes = make_readable(workspace)
    state = take()
    nested = nested_aside(workspace, aside / "nested")
    verifier_repo(workspace, start, state, store, aside / "git")
    yield Shown(state, nested)
    restore_git(workspace, aside / "git")
    restore_nested(workspace, nested)
    restore_modes(workspace, modes)
