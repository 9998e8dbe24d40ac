"""What bubblewrap can do on this machine, found by doing it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from rolewall.errors import RolewallError
from rolewall.sandbox.bubblewrap.cgroup import ControlGroup
from rolewall.sandbox.bubblewrap.find import bwrap_version, find_bwrap
from rolewall.sandbox.protocol import Finding

if TYPE_CHECKING:
    from rolewall.policies import Limits

__all__ = ["diagnose"]

RESTRICT = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
COUNT = Path("/proc/sys/user/max_user_namespaces")


def diagnose(limits: Limits) -> list[Finding]:
    """Whether bubblewrap is there, can make namespaces, and can have control groups."""
    try:
        path = find_bwrap()
    except RolewallError as error:
        return [Finding("bubblewrap", False, error.message, error.hint or "")]
    version = ".".join(map(str, bwrap_version(path) or ()))
    return [
        Finding("bubblewrap", True, f"{version} at {path}"),
        _namespaces(path),
        _groups(limits),
    ]


def _namespaces(path: Path) -> Finding:
    arguments = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
    if os.geteuid() != 0:
        arguments = ["--unshare-user", "--disable-userns", *arguments]
    try:
        result = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=20, check=False
        )
    except subprocess.SubprocessError as error:
        return Finding("namespaces", False, str(error))
    if result.returncode == 0:
        return Finding("namespaces", True, "user, mount, pid, network, ipc, uts")
    return Finding("namespaces", False, result.stderr.strip(), _way_out())


def _way_out() -> str:
    if _reads(RESTRICT, "1"):
        return "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root, or docker"
    if _reads(CLONE, "0"):
        return "sysctl kernel.unprivileged_userns_clone=1, or run as root, or docker"
    if _reads(COUNT, "0"):
        return "sysctl user.max_user_namespaces=10000, or run as root, or docker"
    return "inside a container: start it with CAP_SYS_ADMIN and an unmasked /proc, or use docker"


def _reads(path: Path, value: str) -> bool:
    try:
        return path.read_text().strip() == value
    except OSError:
        return False


def _groups(limits: Limits) -> Finding:
    group = ControlGroup.make(limits)
    if group is None:
        return Finding(
            "control groups",
            False,
            "memory and pids are limited per process, cores not at all",
            "run as root where /sys/fs/cgroup is writable, or use docker",
        )
    group.remove()
    return Finding("control groups", True, "memory, pids, cpus")
