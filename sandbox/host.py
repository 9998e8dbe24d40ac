"""What the image ``host`` shows of the host, always read-only.

``/usr``, a few files of ``/etc``, and the base Python interpreter at its own
path, with the box runtime in the place of that interpreter's packages.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rolewall.sandbox.runtime import runtime_directory

__all__ = [
    "HOST_LINKS",
    "PYTHON_PATH",
    "Bind",
    "base_python",
    "host_binds",
    "host_etc",
    "image_binds",
]

HOST_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
PYTHON_PATH = "/rolewall/python"
ETC = (
    "alternatives",
    "ssl",
    "pki",
    "ca-certificates",
    "localtime",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "mime.types",
)


@dataclass(frozen=True, slots=True)
class Bind:
    """A read-only bind mount of ``source`` at ``target``."""

    source: Path
    target: str


def base_python() -> Path:
    """The interpreter that boxes of the image ``host`` call ``python3``."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Path(sys.base_prefix).resolve() / "bin" / name


def host_binds() -> list[Bind]:
    """The binds of the image ``host``, parents before what lies below them."""
    binds = [Bind(Path("/usr"), "/usr")]
    binds += [Bind(Path("/etc") / n, f"/etc/{n}") for n in ETC if (Path("/etc") / n).exists()]
    prefix = Path(sys.base_prefix).resolve()
    if not prefix.is_relative_to("/usr"):
        binds.append(Bind(prefix, str(prefix)))
    runtime = runtime_directory()
    binds += [Bind(runtime, str(site)) for site in _package_directories(prefix)]
    return binds


def image_binds(image: str) -> list[Bind]:
    """The binds for ``image``: a named image gets the runtime at ``PYTHON_PATH`` only."""
    return host_binds() if image == "host" else [Bind(runtime_directory(), PYTHON_PATH)]


def _package_directories(prefix: Path) -> list[Path]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = [prefix / "lib" / version / "site-packages"]
    found += sorted(Path("/usr/local/lib").glob("python3*/*-packages"))
    return list(dict.fromkeys(path for path in found if path.is_dir()))


def host_etc(role_uid: int, role_gid: int, init_uid: int) -> dict[str, bytes]:
    """Files of ``/etc`` that are made, not shown: who is who in the box."""
    passwd = (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"role:x:{role_uid}:{role_gid}:role:/home:/bin/sh\n"
    )
    if init_uid != role_uid:
        passwd += f"init:x:{init_uid}:{init_uid}:init:/:/usr/sbin/nologin\n"
    passwd += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    group = f"root:x:0:\nrole:x:{role_gid}:\nnogroup:x:65534:\n"
    return {
        "passwd": passwd.encode(),
        "group": group.encode(),
        "nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    }
