"""A readable difference of two manifests, rendered by git from the blob store alone.

Manifests decide what changed; this is for the eye. Git runs with the bare
store as repository and current directory, with no work tree, and without any
configuration of the machine or user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import storage
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.gittree import write_tree
from rolewall.sandbox.manifest import Manifest

__all__ = ["render_diff"]

_HARDENED = (
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.bigFileThreshold=1m",
    "core.pager=cat",
)
_SECONDS = 60.0
_ENV = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


def render_diff(
    store: BlobStore, before: Manifest, after: Manifest, *, limit: int = 1024 * 1024
) -> str:
    """Unified diff text of two manifests taken with ``store``.

    At most ``limit`` bytes, a last line says so where more was cut. Control
    characters of the files are in it: escape it before it is shown. Bytes that
    are no UTF-8 appear as ``\\xNN``. Raises StorageError, when there is no
    git command or it takes over a minute too.
    """
    trees = [write_tree(store, manifest).oid for manifest in (before, after)]
    git = shutil.which("git")
    if git is None:
        raise StorageError("git is not installed", expected="the git command on PATH")
    data = _run([*_command(git, store.path), *trees, "--"], store.path, limit)
    text = data[:limit].decode("utf-8", "backslashreplace")
    return f"{text}\n[cut after {limit} bytes]\n" if len(data) > limit else text


def _command(git: str, path: Path) -> list[str]:
    options = [part for setting in _HARDENED for part in ("-c", setting)]
    flags = ["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--full-index"]
    return [git, f"--git-dir={path}", "--no-pager", *options, "diff", *flags]


def _run(argv: list[str], cwd: Path, limit: int) -> bytes:
    """At most one byte more than ``limit`` of what the command writes."""
    with storage(cwd), tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv, cwd=cwd, env=_ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        )
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        with process:
            assert process.stdout is not None
            data = process.stdout.read(limit + 1)
            if len(data) > limit:
                process.kill()
        timer.cancel()
        if process.returncode != 0 and len(data) <= limit:
            said.seek(0)
            text = said.read(500).decode("utf-8", "replace").strip()
            raise StorageError(f"git shows no difference: {text or 'killed'}", place=str(cwd))
    return data
