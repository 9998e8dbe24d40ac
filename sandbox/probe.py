"""The probe: does the policy hold inside this very box?

``rolewall-init probe`` runs as the role and reports what it finds; here it is
compared with what was asked. A difference is an error, never a warning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rolewall.errors import BoxError, ProbeFailed
from rolewall.sandbox.protocol import BoxSpec, Output, ZoneMount
from rolewall.sandbox.showing import shown_places
from rolewall.sandbox.uids import Identity
from rolewall.sandbox.workdir import further_places

if TYPE_CHECKING:
    from rolewall.sandbox.box import Box

__all__ = ["differences", "probe", "untouched"]

PROBE_SECONDS = 30.0
OVERFLOW_GID = 65534
REFUSED = ("EROFS", "EACCES", "EPERM", "ENOENT", "ENOSYS")


def probe(box: Box, filters: int) -> dict[str, Any]:
    """Run the probe in ``box``; what it found, all of it as asked.

    Args:
        filters: how many seccomp filters must be in force.

    Raises:
        ProbeFailed: naming everything that is not as the policy says.
        BoxError: the box broke, or its report cannot be read.
    """
    spec = box.spec
    command = ["/rolewall/init", "probe"]
    for name, mount in _places(spec):
        command += ["--zone", f"{name}:{'rw' if mount.writable else 'ro'}"]
    for zone in spec.private:
        command += ["--zone", f"{zone}:rw"]
    for zone in spec.absent:
        command += ["--zone", f"{zone}:absent"]
    result = box.run(command, timeout=PROBE_SECONDS)
    if result.returncode != 0:
        said = result.stderr.text().strip()[:500] or "nothing"
        raise ProbeFailed(
            f"the probe ended with {result.returncode} and said: {said}",
            expected="exit status 0",
            hint="nothing of the role has run",
        )
    facts = _report(result.stdout)
    found = differences(spec, facts, box.identity, filters)
    found += _environment(facts, box.environment())
    if found:
        raise ProbeFailed(
            f"the policy is not in force in the box of {spec.label}: " + "; ".join(found),
            hint="nothing of the role has run",
        )
    return facts


@contextmanager
def untouched(mounts: Sequence[ZoneMount]) -> Iterator[None]:
    """Leave no trace of the probe's file in the times of the zones, where the
    harness may set them: only a directory's owner, and root, can."""
    before = [(mount.source, mount.source.stat()) for mount in mounts if mount.writable]
    try:
        yield
    finally:
        for path, status in before:
            if os.geteuid() in (0, status.st_uid):
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _report(written: Output) -> dict[str, Any]:
    try:
        facts = json.loads(written.data)
    except ValueError as error:
        raise BoxError(
            "the probe's report cannot be read", got=written.text()[:200], expected="JSON"
        ) from error
    if not isinstance(facts, dict):
        raise BoxError("the probe's report cannot be read", got=facts, expected="a JSON object")
    return facts


def differences(
    spec: BoxSpec, facts: Mapping[str, Any], identity: Identity, filters: int
) -> list[str]:
    """What in ``facts`` is not as ``spec`` asks, one sentence each."""
    found = _users(facts, identity)
    held = {k: v for k, v in facts["caps"].items() if k != "bnd" and int(str(v), 16)}
    if held:
        found.append(f"the role has capabilities {held}")
    if facts["no_new_privs"] != 1:
        found.append("no_new_privs is off")
    if facts["seccomp_filters"] < filters:
        found.append(f"{facts['seccomp_filters']} seccomp filters, expected {filters}")
    if len(facts["pids"]) > 2:
        found.append(f"other processes are visible: {facts['pids']}")
    if facts["interfaces"] != ["lo"]:
        found.append(f"network interfaces {facts['interfaces']}")
    if facts["root"] not in REFUSED:
        found.append("/ can be written")
    if facts["userns"] == "ok":
        found.append("user namespaces can be made")
    found += _init_reachable(facts, distinct=identity.distinct)
    return found + _zones(spec, facts["zones"])


def _places(spec: BoxSpec) -> list[tuple[str, ZoneMount]]:
    """Where zones, and what is shown, must be, without the first slash."""
    named = [(mount.zone, mount) for mount in spec.mounts]
    named += [(place.removeprefix("/"), mount) for mount, place in further_places(spec)]
    return named + [
        (place.removeprefix("/"), ZoneMount("shown", source, writable=False))
        for source, place in shown_places(spec)
    ]


def _users(facts: Mapping[str, Any], identity: Identity) -> list[str]:
    expected = {"uid": identity.role_uid, "gid": identity.role_gid}
    found = [
        f"{what} is {facts[what]}, expected {number}"
        for what, number in expected.items()
        if set(facts[what]) != {number}
    ]
    if identity.role_uid == 0:
        found.append("the role is root")
    # The kernel lets nobody but root drop groups. In its user namespace an ordinary
    # user's have no name, and lend nothing but what the host's files give them.
    kept = set() if identity.distinct else {OVERFLOW_GID}
    if set(facts["groups"]) - {identity.role_gid} - kept:
        found.append(f"further groups {facts['groups']}")
    return found


def _zones(spec: BoxSpec, seen: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = []
    for name, mount in _places(spec):
        zone = seen[name]
        if not zone["exists"] or not zone["mountpoint"]:
            found.append(f"/{name} is not mounted")
        elif mount.writable != (zone["create"] == "ok"):
            word = "writable" if mount.writable else "read-only"
            found.append(f"/{name} should be {word}, creating a file gives {zone['create']}")
        elif not mount.writable and not zone["readonly"]:
            found.append(f"/{name} is not a read-only mount")
    for name in spec.private:
        if seen[name]["create"] != "ok":
            found.append(f"/{name} should be writable, creating gives {seen[name]['create']}")
    found += [f"/{name} should not exist" for name in spec.absent if seen[name]["exists"]]
    return found


def _init_reachable(facts: Mapping[str, Any], *, distinct: bool) -> list[str]:
    found = []
    if facts["ptrace_init"] == "ok":
        found.append("the memory of pid 1 can be opened")
    if distinct and facts["kill_init"] == "ok":
        found.append("pid 1 can be signalled")
    return found


def _environment(facts: Mapping[str, Any], expected: Mapping[str, str]) -> list[str]:
    extra = sorted(set(facts["env"]) - set(expected))
    found = [f"unexpected environment variables {extra}"] if extra else []
    descriptors = [n for n in facts["fds"] if n > 2]
    if descriptors:
        found.append(f"inherited descriptors {descriptors}")
    return found
