"""The bubblewrap command line for a box: a pure function of what is asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rolewall.sandbox.host import HOST_LINKS, Bind
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.showing import SHOWN, shown_places
from rolewall.sandbox.uids import Identity

__all__ = ["Layout", "bwrap_command"]

MEBIBYTE = 1024 * 1024
SHM_MEGABYTES = 64
NAMESPACES = (
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
# What the kernel tells there of its user's keys and of the machine, as a container engine hides it.
MASKED = ("/proc/keys", "/proc/kcore", "/proc/latency_stats", "/proc/timer_list")
# What init needs until it has moved to its own uid and opened the box's loopback sockets.
INIT_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_NET_BIND_SERVICE")


@dataclass(frozen=True)
class Layout:
    """What the host contributes: binds of the image, the kit, the control descriptor."""

    binds: tuple[Bind, ...]
    kit: Path
    control: int
    root: bool


def bwrap_command(bwrap: Path, spec: BoxSpec, identity: Identity, layout: Layout) -> list[str]:
    """Arguments that start ``rolewall-init`` as pid 1 of the box."""
    command = [str(bwrap), *NAMESPACES, "--hostname", "box", "--as-pid-1", "--clearenv"]
    if not layout.root:
        command += ["--unshare-user", "--disable-userns"]
    command += ["--cap-drop", "ALL"]
    for capability in INIT_CAPABILITIES if layout.root else ("CAP_NET_BIND_SERVICE",):
        command += ["--cap-add", capability]
    command += _file_system(spec, layout)
    command += _zones(spec, attach=layout.root)
    command += ["--remount-ro", "/", "--chdir", "/", "--"]
    command += ["/rolewall/init", "serve", "--control", f"fd:{layout.control}"]
    command += ["--role", f"{identity.role_uid}:{identity.role_gid}"]
    if identity.distinct:
        command += ["--self", f"{identity.init_uid}:{identity.init_gid}"]
    return command


def _file_system(spec: BoxSpec, layout: Layout) -> list[str]:
    arguments: list[str] = []
    shown = shown_places(spec)
    targets = ["/etc/hosts", *(bind.target for bind in layout.binds)]
    for directory in _parents([*targets, *(at for _, at in shown if not at.startswith(SHOWN))]):
        arguments += ["--perms", "0755", "--dir", directory]
    for bind in layout.binds:
        arguments += ["--ro-bind", str(bind.source), bind.target]
    for link, target in HOST_LINKS.items():
        if Path("/", link).is_symlink():
            arguments += ["--symlink", target, f"/{link}"]
        elif Path("/", link).is_dir():
            arguments += ["--ro-bind", f"/{link}", f"/{link}"]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for name in filter(os.path.exists, MASKED):
        arguments += ["--dev-bind", os.devnull, name]
    shared = min(SHM_MEGABYTES, spec.private_mb) * MEBIBYTE
    arguments += ["--perms", "1777", "--size", str(shared), "--tmpfs", "/dev/shm"]
    # Else an ordinary user's role, who owns it, could fill memory there: it has no size.
    arguments += ["--remount-ro", "/dev"]
    arguments += ["--ro-bind", str(layout.kit), "/rolewall"]
    for name in sorted(path.name for path in (layout.kit / "etc").iterdir()):
        arguments += ["--ro-bind", str(layout.kit / "etc" / name), f"/etc/{name}"]
    for source, target in shown:
        arguments += ["--ro-bind", str(source), target]
    size = str(spec.private_mb * MEBIBYTE)
    for zone in spec.private:
        arguments += ["--perms", "1777", "--size", size, "--tmpfs", f"/{zone}"]
    return arguments


def _parents(targets: list[str]) -> list[str]:
    """Directories that only lead to a mount: bubblewrap would close them to all but root."""
    found = {parent for target in targets for parent in PurePosixPath(target).parents}
    below = {p for p in found if any(p.is_relative_to(target) for target in targets)}
    return sorted(str(path) for path in found - below - {PurePosixPath("/")})


def _zones(spec: BoxSpec, *, attach: bool) -> list[str]:
    arguments: list[str] = []
    for mount in spec.mounts:
        if attach:
            arguments += ["--perms", "0555", "--dir", f"/{mount.zone}"]
        else:
            arguments += ["--bind" if mount.writable else "--ro-bind"]
            arguments += [str(mount.source), f"/{mount.zone}"]
    return arguments
