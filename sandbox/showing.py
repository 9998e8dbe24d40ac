"""Directories of the caller's that a role may read: programs that are installed elsewhere.

The image ``host`` has the machine's ``/usr``. An agent installed in ``/opt``, or in a home
directory, is shown to a box at its own path, since programs remember where they were
installed; read-only, with its programs on the search path. Below a zone nothing can be
mounted, since a role could plant a link there: what the host has in ``/home`` or ``/tmp``, or
where the box has the work, is at ``/rolewall/shown/N`` instead, N counted from 1.

Some installers keep ``NAME/versions/N.N.N``, each a whole program, and a link elsewhere to the
newest. Such a directory NAME is a program NAME: a link in ``/rolewall/shown/bin``.
"""

from __future__ import annotations

import os
import pwd
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rolewall.errors import InputError
from rolewall.sandbox.runtime import cache_directory
from rolewall.sandbox.sources import check_directories

if TYPE_CHECKING:
    from rolewall.sandbox.protocol import BoxSpec

__all__ = [
    "LINKS",
    "SHOWN",
    "check_shown",
    "is_program",
    "search_path",
    "shown_links",
    "shown_places",
]

SHOWN = "/rolewall/shown"
LINKS = f"{SHOWN}/bin"
# What every box makes itself, or has from its image.
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc",
           "/rolewall", "/run", "/sbin", "/sys", "/usr", "/var")  # fmt: skip
# Where programs of the caller's keep keys; whoever shows such a directory shows them.
_KEYS = (".aws", ".azure", ".boto", ".cargo/credentials", ".cargo/credentials.toml", ".claude",
         ".claude.json", ".codex", ".composer/auth.json", ".config", ".databrickscfg", ".docker",
         ".gem/credentials", ".git-credentials", ".gnupg", ".gradle/gradle.properties",
         ".kube", ".local/share/keyrings", ".local/share/opencode", ".m2/settings-security.xml",
         ".m2/settings.xml", ".my.cnf", ".mylogin.cnf", ".netrc", ".npmrc", ".password-store",
         ".pgpass", ".pypirc", ".s3cfg", ".ssh", ".terraform.d/credentials.tfrc.json",
         ".terraformrc", ".vault-token", ".yarnrc.yml")  # fmt: skip
_PROGRAMS = ("bin", "node_modules/.bin", "")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}\Z")
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}\Z")


def check_shown(directories: Sequence[Path], apart: Mapping[str, Path]) -> tuple[Path, ...]:
    """The directories, normalized, if boxes may be shown them.

    Args:
        directories: as the caller named them.
        apart: what must neither lie in one nor around one, by a word for it: the run, the
            team, tasks, keys.

    Raises:
        InputError: one is no directory or a link; is or holds a part of the system, a place
            of keys, rolewall itself or what is to be kept ``apart``, or lies in such; holds
            a mount, socket, FIFO or device; lies in another; or has a path that no search
            path can hold.
    """
    found = tuple(Path(os.path.abspath(path)) for path in directories)
    for path in found:
        _check_path(path)
        for what, other in {**_never(path), **apart}.items():
            _check_apart(path, what, other)
        for what, other in _made_later().items():
            _check_apart(path, what, other, inside=False)
    check_directories({f"--show {path}": path for path in found})
    return found


def _check_path(path: Path) -> None:
    place = f"--show {path}"
    text = str(path)
    if ":" in text or not text.isprintable():
        raise InputError("a path that no search path can hold", place=place, got=text)
    real = os.path.realpath(text)
    if real != text and os.path.isdir(text):
        raise InputError("a link, or below one", place=place, got=text, expected=real)
    if name := _key_place(PurePosixPath(text)):
        raise InputError("lies in a place of keys", place=place, got=name)
    if path == Path("/"):
        raise InputError("the whole file system cannot be shown", place=place, got=text)


def _key_place(path: PurePosixPath) -> str:
    """The place of keys in a path, whoever's home it lies in; empty for none."""
    for name in _KEYS:
        parts = PurePosixPath(name).parts
        for start in range(len(path.parts) - len(parts) + 1):
            if path.parts[start : start + len(parts)] == parts:
                return str(PurePosixPath(*path.parts[: start + len(parts)]))
    return ""


def _made_later() -> dict[str, Path]:
    """Where boxes' own files and the sockets of models are made while the run goes on."""
    found = {"the directory of temporary files": Path(tempfile.gettempdir())}
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        found["the directory of boxes' own files"] = Path(runtime)
    return found


def _never(path: Path) -> dict[str, Path]:
    """What no box is shown, by a word for it, as far as ``path`` may meet it."""
    import rolewall

    package = Path(rolewall.__file__).parent
    places = {home / name for home in _homes() for name in _KEYS}
    # Of others' homes, only what is there: a service may live beside its programs.
    places |= {
        home / name
        for home in _homes_around(path)
        for name in _KEYS
        if os.path.lexists(home / name)
    }
    keys = {f"a place of keys, {place}": place for place in places}
    system = {f"a part of the system, {path}": Path(path) for path in _SYSTEM}
    return {
        **keys,
        **system,
        "the Python that boxes have": Path(sys.base_prefix),
        "rolewall": package,
        "rolewall's sandbox": Path(__file__).parent,
        "rolewall's cache": cache_directory(),
    }


def _homes() -> set[Path]:
    """The caller's home, and that of who became the caller by sudo."""
    found = {Path.home()}
    if name := os.environ.get("SUDO_USER"):
        with suppress(KeyError):
            found.add(Path(pwd.getpwnam(name).pw_dir))
    return found


def _homes_around(path: Path) -> set[Path]:
    """Whoever's home holds ``path`` or lies in it: root may show what is anybody's."""
    homes = {Path(os.path.realpath(user.pw_dir)) for user in pwd.getpwall() if user.pw_dir}
    return {home for home in homes if path.is_relative_to(home) or home.is_relative_to(path)}


def _check_apart(path: Path, what: str, other: Path, *, inside: bool = True) -> None:
    """By name and by what the name leads to: either may be a link's. ``inside``: what lies in
    ``other`` is refused too, not only what holds it."""
    for place in {other.absolute(), Path(os.path.realpath(other))}:
        within = inside and path.is_relative_to(place)
        if within or place.is_relative_to(path):
            raise InputError(
                f"{'lies in' if within else 'holds'} {what}",
                place=f"--show {path}",
                got=str(place),
                expected="a directory of programs alone, such as /opt/agents",
            )


def shown_places(spec: BoxSpec) -> list[tuple[Path, str]]:
    """The directories that a box of ``spec`` is shown, and where in it each is."""
    zones = {mount.zone for mount in spec.mounts} | {*spec.absent, *spec.private}
    taken = [PurePosixPath(spec.workdir), *(PurePosixPath(f"/{zone}") for zone in zones)]
    return [
        (source, f"{SHOWN}/{number}" if _meets(PurePosixPath(source), taken) else str(source))
        for number, source in enumerate(spec.shown, 1)
    ]


def _meets(path: PurePosixPath, taken: Sequence[PurePosixPath]) -> bool:
    return any(path.is_relative_to(place) or place.is_relative_to(path) for place in taken)


def search_path(spec: BoxSpec) -> list[str]:
    """Directories of programs in what a box of ``spec`` is shown, for its search path."""
    found = [
        str(PurePosixPath(target, name))
        for source, target in shown_places(spec)
        for name in _PROGRAMS
        if not name or (source / name).is_dir()
    ]
    return [*found, LINKS] if shown_links(spec) else found


def shown_links(spec: BoxSpec) -> dict[str, str]:
    """What ``LINKS`` holds in a box of ``spec``: name → the newest version's path there."""
    found: dict[str, str] = {}
    for source, target in shown_places(spec):
        version = _newest(source / "versions") if _PLAIN.match(source.name) else None
        if version:
            found.setdefault(source.name, f"{target}/versions/{version}")
    return found


def _newest(versions: Path) -> str | None:
    """The newest program in a directory of programs that are named by their versions."""
    try:
        names = [name for name in os.listdir(versions) if _VERSION.match(name)]
    except OSError:
        return None
    programs = [name for name in names if is_program(versions / name)]
    return max(programs, key=lambda name: [int(part) for part in name.split(".")], default=None)


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
