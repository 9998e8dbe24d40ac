"""The boxes of one episode's roles, and the check box beside a verifier's."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from pathlib import Path

from rolewall.episode.setting import Setting
from rolewall.episode.showing import handed_to, places_of_handoffs
from rolewall.episode.zones import Zones
from rolewall.errors import StorageError
from rolewall.library import box_spec
from rolewall.policies import Access, Compiled, Policy, View, ViewZone
from rolewall.roles import (
    CHECK_SOCKET,
    GATEWAY,
    HANDOFF_PROGRAM,
    TOOL_SOCKET,
    ChatAgent,
    CheckCopy,
    CheckService,
    Turn,
    WorkChanged,
    check_spec,
    model_environment,
)
from rolewall.sandbox import (
    WORKSPACE,
    Box,
    BoxSpec,
    Listen,
    Manifest,
    WatchSpec,
    open_box,
    tree_changed,
)
from rolewall.tasks import role_environment, work_environment

__all__ = ["check_service", "in_places", "place_of_work", "role_spec"]

# Any directory can be made to look like a repository without the name .git; git would take
# it for one, and run what it says, for whoever stands in it.
GUEST_GIT = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
}


def role_spec(
    setting: Setting, zones: Zones, compiled: Compiled, turn: Turn, round_: int, step: str = ""
) -> BoxSpec:
    """The box of one role for one turn: its zones, its prompt, the team's files, and the way
    to its model, where what calls it is in the box. ``step`` is the id of the plan's step that
    the turn is for."""
    agent = setting.team.agents[compiled.role]
    gateway = () if agent.access is None or isinstance(agent, ChatAgent) else (GATEWAY,)
    files = {"prompt.md": turn.prompt.encode()}
    files |= handed_to(setting, compiled, time.time())
    programs = {"bin/handoff": HANDOFF_PROGRAM}
    for name, data in setting.team.files_of(compiled.role).items():
        kind = programs if name in setting.team.executables else files
        kind[f"agents/{name}"] = data
    return box_spec(
        compiled,
        zones.sources(mount.zone for mount in compiled.mounts),
        image=setting.image,
        files=files,
        programs=programs,
        listen=(*_listen(setting, compiled), *gateway),
        env={
            **(model_environment() if gateway else {}),
            **role_environment(
                setting.task, works=_works(setting, compiled.role), zones=setting.team.zones
            ),
            "ROLEWALL_ROLE": compiled.role,
            "ROLEWALL_TASK": setting.task.id,
            "ROLEWALL_ROUND": str(round_),
            "ROLEWALL_STEP": step,
            "ROLEWALL_SEED": str(setting.seed),
            **GUEST_GIT,
        },
        workdir=place_of_work(setting, compiled.role),
        shown=setting.shown,
    )


def _listen(setting: Setting, compiled: Compiled) -> tuple[Listen, ...]:
    """The sockets on which the harness answers the role's programs. Whoever may not see the
    work now gets no copy of it either."""
    seen = any(mount.zone == "workspace" for mount in compiled.mounts)
    check = (CHECK_SOCKET,) if compiled.role == "verifier" and seen else ()
    return (*check, *((TOOL_SOCKET,) if setting.team.tools_of(compiled.role) else ()))


def _works(setting: Setting, role: str) -> bool:
    return setting.policy.zone("workspace").owner == role


def place_of_work(setting: Setting, role: str) -> str:
    """Where the work is in a box of ``role`` besides ``/workspace``.

    Only the role that works has it where the image expects it. The image may load code from
    there unasked (an editable install, a directory of the linker's), and in a verifier's box
    that would be the executor's.
    """
    return (setting.task.workdir or WORKSPACE) if _works(setting, role) else WORKSPACE


def in_places(view: View, place: str) -> View:
    """``view``, with the further ``place`` that the workspace has in the box, and those of
    handoffs."""
    seen = (zone.name for zone in view.zones if zone.access is not Access.HIDDEN)
    work = () if place == WORKSPACE else ((place, WORKSPACE),)
    return replace(view, also=(*work, *places_of_handoffs(seen)))


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
    workdir = setting.task.workdir or WORKSPACE
    watch = WatchSpec(
        "check",
        phase,
        in_places(_check_view(setting.policy), workdir),
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
        env = {**work_environment(setting.task), **spec.env}
        spec = replace(spec, env=env, workdir=workdir)
        return open_box(setting.backend, spec, tap=setting.supervise(), watch=watch)

    listener = box.listeners.pop(CHECK_SOCKET)
    return CheckService(listener, snapshot, open_check, seconds, workdir)


def _check_view(policy: Policy) -> View:
    """The work in a check box: it has its copy, and every other zone is hidden from it."""
    hidden = (
        ViewZone(zone.name, zone.owner, Access.HIDDEN)
        for zone in policy.zones
        if not zone.private and zone.name != "workspace"
    )
    return View("check", (ViewZone("workspace", "check", Access.WRITE, private=True), *hidden))
