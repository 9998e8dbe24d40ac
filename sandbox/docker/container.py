"""From a box's spec to the engine's container configuration. Asks the engine nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rolewall.errors import InputError
from rolewall.sandbox.docker.image import HOST, Image
from rolewall.sandbox.docker.profile import Profile
from rolewall.sandbox.host import image_binds
from rolewall.sandbox.kit import Kit
from rolewall.sandbox.owner import Owner
from rolewall.sandbox.protocol import BoxSpec, ZoneMount
from rolewall.sandbox.showing import shown_places
from rolewall.sandbox.uids import Identity
from rolewall.sandbox.workdir import further_places

__all__ = [
    "CAPABILITIES",
    "LABEL",
    "Plan",
    "configuration",
    "labels",
]

LABEL = "rolewall"
# What init needs to become its own user, start the role as another and end it.
CAPABILITIES = ("KILL", "SETGID", "SETUID")
MEBIBYTE = 1024 * 1024
SHM_MEGABYTES = 64
# Over a placeholder the zone is attached when the box has started; until then,
# and should that fail, there is an empty directory that nobody can write.
PLACEHOLDER = "ro,nosuid,nodev,noexec,size=4k,mode=0555"


@dataclass(frozen=True)
class Plan:
    """All that a container is made from.

    ``attach`` leaves placeholders for the zones instead of binding them.
    ``host_users`` asks an engine that remaps users not to. ``cores`` is how many
    the machine has: an engine refuses to limit a box to more.
    """

    spec: BoxSpec
    image: Image
    identity: Identity
    kit: Kit
    profile: Profile
    run: str
    attach: bool
    cores: float
    host_users: bool = False


def labels(run: str, label: str) -> dict[str, str]:
    """What tells whose a container is, and whether its harness still lives."""
    me = Owner.me()
    return {
        f"{LABEL}.run": run,
        f"{LABEL}.label": label,
        f"{LABEL}.owner": str(os.geteuid()),
        f"{LABEL}.pid": str(me.pid),
        f"{LABEL}.started": str(me.started),
        f"{LABEL}.pidns": str(me.namespace),
    }


def configuration(plan: Plan) -> dict[str, Any]:
    """The body of the engine's create request.

    Raises:
        InputError: a zone's source cannot be mounted, or targets lie in one another.
    """
    identity = plan.identity
    return {
        "Image": plan.image.id,
        "Entrypoint": [
            *("/rolewall/init", "serve", "--control", "path:/rolewall/control.sock"),
            *("--role", f"{identity.role_uid}:{identity.role_gid}"),
            *("--self", f"{identity.init_uid}:{identity.init_gid}"),
        ],
        "Cmd": [],
        "Env": [],
        "User": "0:0",
        "WorkingDir": "/",
        "Hostname": "box",
        "NetworkDisabled": True,
        # An image's health check would run beside init, outside the tap.
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": labels(plan.run, plan.spec.label),
        "HostConfig": _host_config(plan),
    }


def _host_config(plan: Plan) -> dict[str, Any]:
    return {
        "AutoRemove": True,
        "NetworkMode": "none",
        # Else an engine may copy the host's resolver settings into the box.
        "Dns": ["127.0.0.1"],
        "DnsSearch": ["."],
        "IpcMode": "private",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "Init": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(CAPABILITIES),
        "SecurityOpt": ["no-new-privileges", *plan.profile.options()],
        "LogConfig": {"Type": "none", "Config": {}},
        "ShmSize": min(SHM_MEGABYTES, plan.spec.private_mb) * MEBIBYTE,
        "Tmpfs": _tmpfs(plan),
        "Mounts": _mounts(plan),
        **({"UsernsMode": "host"} if plan.host_users else {}),
        **_limits(plan.spec, plan.cores),
    }


def _limits(spec: BoxSpec, cores: float) -> dict[str, Any]:
    memory = spec.limits.memory_mb * MEBIBYTE
    return {
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": round(min(spec.limits.cpus, cores) * 1e9),
        "PidsLimit": spec.limits.pids + 1,  # init is one of them
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
    }


def _tmpfs(plan: Plan) -> dict[str, str]:
    role = plan.identity
    private = (
        f"rw,exec,nosuid,nodev,size={plan.spec.private_mb}m,mode=0755,"
        f"uid={role.role_uid},gid={role.role_gid}"
    )
    found = {f"/{name}": private for name in plan.spec.private}
    if plan.attach:
        found |= {f"/{mount.zone}": PLACEHOLDER for mount in plan.spec.mounts}
        found |= {place: PLACEHOLDER for _, place in further_places(plan.spec)}
    # A volume of the image would be a writable directory that is no zone.
    taken = _zone_targets(plan.spec)
    found |= {v: PLACEHOLDER for v in plan.image.volumes if v.rstrip("/") not in taken}
    _refuse_nested(taken, found)
    return found


def _zone_targets(spec: BoxSpec) -> set[str]:
    places = {place for _, place in further_places(spec)}
    zones = {f"/{mount.zone}" for mount in spec.mounts} | {f"/{name}" for name in spec.private}
    return zones | places


def _refuse_nested(zones: Iterable[str], targets: Iterable[str]) -> None:
    """A mount below a zone would follow links that a role can plant there."""
    for zone in map(PurePosixPath, zones):
        for target in map(PurePosixPath, targets):
            if target != zone and target.is_relative_to(zone):
                raise InputError(
                    f"a mount at {target} would lie in the zone {zone.name}",
                    place="image or zones",
                    hint="use another zone name, or an image without that volume",
                )


def _mounts(plan: Plan) -> list[dict[str, Any]]:
    shown = [(bind.source, bind.target) for bind in image_binds(plan.spec.image)]
    names = ["group", "hosts", "passwd"]
    names += ["nsswitch.conf"] if plan.spec.image == HOST else []
    shown += [(plan.kit.path / "etc" / name, f"/etc/{name}") for name in names]
    shown.append((plan.kit.path, "/rolewall"))
    shown += shown_places(plan.spec)
    _refuse_nested(_zone_targets(plan.spec), [target for _, target in shown])
    mounts = [_bind(source, target, writable=False) for source, target in shown]
    for mount in plan.spec.mounts:
        _check_source(mount)
        if not plan.attach:
            mounts.append(_bind(mount.source, f"/{mount.zone}", writable=mount.writable))
    if not plan.attach:
        mounts += [
            _bind(mount.source, place, writable=mount.writable)
            for mount, place in further_places(plan.spec)
        ]
    return mounts


def _bind(source: Path, target: str, *, writable: bool) -> dict[str, Any]:
    return {
        "Type": "bind",  # unlike a volume, never made when the source is missing
        "Source": str(source),
        "Target": target,
        "ReadOnly": not writable,
        # Read-only is not recursive: a mount below would stay writable.
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }


def _check_source(mount: ZoneMount) -> None:
    source, place = mount.source, f"zone {mount.zone}"
    if not source.is_absolute() or source.is_symlink() or not source.is_dir():
        raise InputError(
            "not a directory that can be mounted",
            place=place,
            got=str(source),
            expected="the absolute path of a directory, no link",
        )
