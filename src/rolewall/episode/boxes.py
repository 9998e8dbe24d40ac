"""The boxes of one episode's roles, and the check box beside a verifier's."""

from __future__ import annotations

import secrets
from pathlib import Path

from rolewall.episode.setting import Setting
from rolewall.episode.zones import Zones
from rolewall.errors import StorageError
from rolewall.library import box_spec
from rolewall.policies import Access, Compiled, Policy, View, ViewZone
from rolewall.roles import CHECK_SOCKET, CheckCopy, CheckService, Turn, WorkChanged, check_spec
from rolewall.sandbox import Box, BoxSpec, Manifest, WatchSpec, open_box, tree_changed

__all__ = ["check_service", "role_spec"]

# Any directory can be made to look like a repository without the name .git; git would take
# it for one, and run what it says, for whoever stands in it.
GUEST_GIT = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
}


def role_spec(
    setting: Setting, zones: Zones, compiled: Compiled, turn: Turn, round_: int
) -> BoxSpec:
    """The box of one role for one turn: its zones, its prompt, the team's files."""
    files = {"prompt.md": turn.prompt.encode()}
    programs: dict[str, bytes] = {}
    for name, data in setting.team.files_of(compiled.role).items():
        kind = programs if name in setting.team.executables else files
        kind[f"agents/{name}"] = data
    return box_spec(
        compiled,
        zones.sources(mount.zone for mount in compiled.mounts),
        image=setting.image,
        files=files,
        programs=programs,
        listen=(CHECK_SOCKET,) if compiled.role == "verifier" else (),
        env={
            "ROLEWALL_ROLE": compiled.role,
            "ROLEWALL_TASK": setting.task.id,
            "ROLEWALL_ROUND": str(round_),
            "ROLEWALL_SEED": str(setting.seed),
            **GUEST_GIT,
        },
    )


def check_service(
    setting: Setting,
    zones: Zones,
    box: Box,
    workspace: Manifest | None,
    phase: int,
    seconds: float,
) -> CheckService | None:
    """The check box's service, for a box that asked for one.

    ``workspace`` is the state of a workspace that no role can write meanwhile, so that
    only what is new is read; None where one can.
    """
    if CHECK_SOCKET not in box.listeners:
        return None
    watch = WatchSpec(
        "check",
        phase,
        _check_view(setting.policy),
        setting.ledger,
        reads=setting.team.observe == "reads",
    )

    def snapshot() -> CheckCopy:
        copy = setting.scratch / f"check-{phase}" / secrets.token_hex(8)
        try:
            return CheckCopy(copy, zones.snapshot(copy, workspace))
        except StorageError as error:
            if workspace is None and tree_changed(error):
                raise WorkChanged from error
            raise

    def open_check(copy: Path) -> Box:
        spec = check_spec(box.spec, copy)
        return open_box(setting.backend, spec, tap=setting.supervise(), watch=watch)

    return CheckService(box.listeners.pop(CHECK_SOCKET), snapshot, open_check, seconds)


def _check_view(policy: Policy) -> View:
    """The work in a check box: it has its copy, and every other zone is hidden from it."""
    hidden = (
        ViewZone(zone.name, zone.owner, Access.HIDDEN)
        for zone in policy.zones
        if not zone.private and zone.name != "workspace"
    )
    return View("check", (ViewZone("workspace", "check", Access.WRITE, private=True), *hidden))
