"""The bubblewrap backend: see ``rolewall.sandbox.protocol.Backend`` for its contract."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
from collections.abc import Mapping
from typing import IO

from rolewall.errors import BackendUnavailable, BoxError, InputError
from rolewall.policies import Limits
from rolewall.sandbox.bubblewrap.cgroup import ControlGroup, clean_groups
from rolewall.sandbox.bubblewrap.command import Layout, bwrap_command
from rolewall.sandbox.bubblewrap.diagnose import diagnose
from rolewall.sandbox.bubblewrap.find import bwrap_version, find_bwrap
from rolewall.sandbox.host import host_binds
from rolewall.sandbox.kit import Kit, clean_kits
from rolewall.sandbox.protocol import BoxSpec, Finding
from rolewall.sandbox.uids import Identity, lease

__all__ = ["BubblewrapBackend", "BubblewrapBox"]

END_SECONDS = 10.0
COMPLAINT_SECONDS = 2.0
MEBIBYTE = 1024 * 1024


class BubblewrapBackend:
    """Boxes by bubblewrap. Needs no engine; only the image ``host``."""

    name = "bubblewrap"

    def launch(self, spec: BoxSpec) -> BubblewrapBox:
        if spec.image != "host":
            raise InputError(
                "the bubblewrap backend has no images",
                got=spec.image,
                expected="image: host",
                hint="use the docker backend for images",
            )
        bwrap = find_bwrap()
        root = os.geteuid() == 0
        identity = lease(own_init_uid=root)
        kit: Kit | None = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            kit = Kit.make(spec, identity)
            layout = Layout(tuple(host_binds()), kit.path, theirs.fileno(), root)
            process = _spawn(bwrap_command(bwrap, spec, identity, layout), theirs)
        except BaseException:
            ours.close()
            identity.release()
            if kit:
                kit.close()
            raise
        finally:
            theirs.close()
        group = ControlGroup.make(spec.limits)
        return BubblewrapBox(process, ours, identity, kit, group, spec.limits)

    def diagnose(self) -> list[Finding]:
        return diagnose(Limits())

    def clean(self) -> list[str]:
        return clean_kits() + clean_groups()


def _spawn(command: list[str], control: socket.socket) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[control.fileno()],
            env={"PATH": "/usr/bin:/bin"},
        )
    except OSError as error:
        raise BackendUnavailable(f"bubblewrap cannot be started: {error.strerror}") from error


class BubblewrapBox:
    """One started box. Init leaves, and the kernel ends all else, when ``control`` closes."""

    filters = 0

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        identity: Identity,
        kit: Kit,
        group: ControlGroup | None,
        limits: Limits,
    ) -> None:
        self._process = process
        self._kit = kit
        self._group = group
        self.control = control
        self.identity = identity
        self.attach = os.geteuid() == 0
        self.rlimits = _rlimits(limits, grouped=group is not None)
        self.facts = _facts(identity, limits, grouped=group is not None)

    def admit(self, pid: int) -> None:
        if self._group:
            self._group.admit(pid)

    def complaint(self) -> str:
        """What bubblewrap said on standard error, once it has ended."""
        stream: IO[bytes] | None = self._process.stderr
        try:
            self._process.wait(COMPLAINT_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        return stream.read().decode("utf-8", "replace").strip() if stream else ""

    def close(self) -> None:
        self.control.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise BoxError("a box did not end", got=f"pid {self._process.pid}") from None
        finally:
            if self._process.stderr:
                self._process.stderr.close()
            if self._group:
                self._group.remove()
            self._kit.close()
            self.identity.release()


def _rlimits(limits: Limits, *, grouped: bool) -> Mapping[int, tuple[int, int]]:
    size = limits.disk_mb * MEBIBYTE
    found = {resource.RLIMIT_CORE: (0, 0), resource.RLIMIT_FSIZE: (size, size)}
    if not grouped:
        memory = limits.memory_mb * MEBIBYTE
        found[resource.RLIMIT_DATA] = (memory, memory)
        found[resource.RLIMIT_NPROC] = (limits.pids, limits.pids)
    return found


def _facts(identity: Identity, limits: Limits, *, grouped: bool) -> dict[str, object]:
    version = bwrap_version(find_bwrap()) or ()
    return {
        "backend": "bubblewrap",
        "bubblewrap": ".".join(map(str, version)),
        "image": "host",
        "role_uid": identity.role_uid,
        "init_uid": identity.init_uid,
        "distinct_uids": identity.distinct,
        "limits": {
            "memory_mb": [limits.memory_mb, "cgroup" if grouped else "rlimit per process"],
            "pids": [limits.pids, "cgroup" if grouped else "rlimit per user namespace"],
            "cpus": [limits.cpus, "cgroup" if grouped else "not enforced"],
            "disk_mb": [limits.disk_mb, "tmpfs size, rlimit per file"],
        },
    }
