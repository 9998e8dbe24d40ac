"""The kit: what the harness puts into a box, read-only at ``/rolewall``.

``init``, programs on the role's PATH, files such as the prompt, the box's
``/etc`` files, and for engines that cannot pass descriptors the control
socket, which is accepted once and then gone.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath

from rolewall.errors import BoxError, StorageError
from rolewall.sandbox.beneath import storage
from rolewall.sandbox.host import base_python, host_etc
from rolewall.sandbox.init import init_path
from rolewall.sandbox.owner import is_left_over, new_name
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.relay import hosts_file
from rolewall.sandbox.showing import LINKS, SHOWN, shown_links, shown_places
from rolewall.sandbox.uids import Identity

__all__ = ["Kit", "clean_kits", "kits_directory"]

# As the console script of a package: `python3 -m pytest` would import from the
# current directory too, and pass suites that should fail. Processes that tests
# spawn import this file as a module.
PYTEST = b"""#!/usr/bin/env python3
import sys

from pytest import console_main

if __name__ == "__main__":
    sys.exit(console_main())
"""


def kits_directory() -> Path:
    """A directory with a short path (a socket's path has 107 bytes) that is ours.

    Raises:
        StorageError: it cannot be made, or is another user's.
    """
    if os.geteuid() == 0:
        return _made(Path("/run/rolewall/kits"))
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return _made(Path(runtime) / "rolewall")
    for path in (_shared_place(), *_stand_ins()):
        with suppress(StorageError):
            return _made(path)
    # Where everybody writes, anybody can take the name.
    return _made(_shared_place().with_name(f"{_stand_in()}{secrets.token_hex(4)}"))


def _shared_place() -> Path:
    return Path(tempfile.gettempdir()) / f"rolewall-{os.geteuid()}"


def _stand_in() -> str:
    return f"{_shared_place().name}-"


def _stand_ins() -> list[Path]:
    """What was made in place of a directory whose name was taken."""
    with suppress(OSError):
        return sorted(filter(_is_ours, _shared_place().parent.glob(f"{_stand_in()}*")))
    return []


def _is_ours(path: Path) -> bool:
    return path.lstat().st_uid == os.geteuid() and not path.is_symlink()


def _made(path: Path) -> Path:
    with storage(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = _is_ours(path)
    if not ours:
        raise StorageError("a directory of another user is in the way", place=str(path))
    return path


class Kit:
    """One box's kit on the host. ``close`` removes it."""

    def __init__(self, path: Path, control: socket.socket) -> None:
        self.path = path
        self._control = control

    @classmethod
    def make(cls, spec: BoxSpec, identity: Identity) -> Kit:
        """Write the kit for ``spec``. Nothing is left when that fails.

        Raises:
            StorageError: it cannot be written.
            BoxError: a file of the spec would lie outside the kit.
            InputError: a network destination that cannot be relayed.
        """
        try:
            with ExitStack() as undo:
                path = kits_directory() / new_name()
                path.mkdir(mode=0o755)
                undo.callback(_remove, path)
                path.chmod(0o755)
                kit = cls(path, _listen(path / "control.sock"))
                undo.callback(kit.close)
                kit._fill(spec, identity)
                undo.pop_all()
        except OSError as error:
            raise StorageError(
                f"the box's files cannot be written: {error.strerror}", place=str(error.filename)
            ) from error
        return kit

    def _fill(self, spec: BoxSpec, identity: Identity) -> None:
        self._add("init", init_path().read_bytes(), executable=True)
        self._add("bin/pytest", PYTEST, executable=True)
        if spec.image == "host":
            for name in ("python3", "python"):
                (self.path / "bin" / name).symlink_to(base_python())
        else:
            (self.path / "python").mkdir(mode=0o755)
        for name in ("rolewall-check", "rolewall-tool"):
            (self.path / "bin" / name).symlink_to("../init")
        for name, data in host_etc(identity.role_uid, identity.role_gid, identity.init_uid).items():
            self._add(f"etc/{name}", data)
        self._add("etc/hosts", hosts_file(spec.allow))
        for _, target in shown_places(spec):
            if target.startswith(SHOWN):
                place = self.path / PurePosixPath(target).relative_to("/rolewall")
                place.mkdir(mode=0o755, parents=True)
        for name, program in shown_links(spec).items():
            link = self.path / PurePosixPath(LINKS, name).relative_to("/rolewall")
            link.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            link.symlink_to(program)
        for name, data in spec.files.items():
            self._add(name, data)
        for name, data in spec.programs.items():
            self._add(name, data, executable=True)

    def _add(self, name: str, data: bytes, *, executable: bool = False) -> None:
        target = self.path / name
        if ".." in target.parts:
            raise BoxError("a kit's file must lie in the kit", got=name)
        for parent in reversed(target.relative_to(self.path).parents):
            (self.path / parent).mkdir(mode=0o755, exist_ok=True)
        target.write_bytes(data)
        target.chmod(0o755 if executable else 0o644)

    @property
    def hosts(self) -> Path:
        return self.path / "etc" / "hosts"

    def accept(self, timeout: float) -> socket.socket:
        """The control socket, once init has connected; the door is then removed.

        Raises:
            BoxError: init did not connect in ``timeout`` seconds.
        """
        self._control.settimeout(timeout)
        try:
            connected, _ = self._control.accept()
        except TimeoutError as error:
            raise BoxError(f"rolewall-init did not answer in {timeout:g} s") from error
        finally:
            self.close_door()
        connected.setblocking(True)
        return connected

    def close_door(self) -> None:
        """Remove the control socket's path: a role would find it in its box."""
        self._control.close()
        (self.path / "control.sock").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the kit. Safe to call twice."""
        self._control.close()
        _remove(self.path)


def _listen(path: Path) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        door.bind(str(path))
        path.chmod(0o666)
        door.listen(1)
    except BaseException:
        door.close()
        raise
    return door


def _remove(path: Path) -> None:
    """Remove a kit as far as possible, with one descriptor at most: there may be no more."""
    for base, directories, files in os.walk(path, topdown=False):
        for name in (*files, *directories):
            entry = Path(base, name)
            with suppress(OSError):
                if entry.is_dir() and not entry.is_symlink():
                    entry.rmdir()
                else:
                    entry.unlink()
    with suppress(OSError):
        path.rmdir()


def clean_kits() -> list[str]:
    """Remove the kits of dead harnesses; a line for each that is gone."""
    removed = []
    for path in _left_kits():
        _remove(path)
        if not path.exists():
            removed.append(f"kit {path.name}")
    return removed


def _left_kits() -> Iterator[Path]:
    places = set(_stand_ins()) if os.geteuid() and not os.environ.get("XDG_RUNTIME_DIR") else set()
    with suppress(StorageError):  # where this user cannot have kits, none was made
        places.add(kits_directory())
    for place in sorted(places):
        with suppress(OSError):
            yield from list(filter(is_left_over, place.iterdir()))
