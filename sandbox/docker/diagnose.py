"""What this machine can enforce with Docker: for each no, the blocker and the way out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from rolewall.errors import RolewallError
from rolewall.policies import Limits
from rolewall.sandbox.docker.engine import Engine, find_engine
from rolewall.sandbox.docker.fit import refuse_unfit
from rolewall.sandbox.protocol import BoxSpec, Finding, Launched

__all__ = ["diagnose"]

TRIAL = BoxSpec(
    label="doctor", mounts=(), tap=False, limits=Limits(memory_mb=64, pids=16, disk_mb=8)
)


def diagnose(launch: Callable[[BoxSpec], Launched]) -> list[Finding]:
    """Look at the engine, then start a box with ``launch`` and remove it."""
    try:
        engine = find_engine()
    except RolewallError as error:
        return [_failed("docker engine", error)]
    with closing(engine):
        try:
            return [*_engine(engine), _trial(launch)]
        except RolewallError as error:
            return [_failed("docker engine", error)]


def _engine(engine: Engine) -> list[Finding]:
    info = engine.info
    where = f"{engine.version} at {engine.address}, {info.get('OSType')}/{info.get('Architecture')}"
    cgroup = f"cgroup v{info.get('CgroupVersion', '1')}, driver {info.get('CgroupDriver')}"
    return [
        Finding("docker engine", ok=True, detail=where),
        _fit(engine),
        _limits(info, cgroup),
        _users(engine),
        Finding("docker storage", ok=True, detail=str(info.get("Driver"))),
        Finding("docker runtime", ok=True, detail=str(info.get("DefaultRuntime"))),
    ]


def _fit(engine: Engine) -> Finding:
    try:
        refuse_unfit(engine)
    except RolewallError as error:
        return _failed("docker isolation", error)
    options = ", ".join(str(o) for o in engine.info.get("SecurityOptions") or ())
    return Finding("docker isolation", ok=True, detail=options)


def _limits(info: Any, cgroup: str) -> Finding:
    names = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "cores"}
    absent = [text for key, text in names.items() if not info.get(key)]
    if absent:
        return Finding(
            "docker limits",
            ok=False,
            detail=f"{cgroup}: no limit of {', '.join(absent)}",
            way_out="boot with these cgroup controllers on, for example cgroup_enable=memory",
        )
    swap = "" if info.get("SwapLimit") else "; memory is limited, swap is not"
    return Finding("docker limits", ok=True, detail=cgroup + swap)


def _users(engine: Engine) -> Finding:
    if engine.security_option("userns") is None:
        return Finding("docker users", ok=True, detail="the host's")
    return Finding(
        "docker users", ok=True, detail="remapped by the engine; boxes ask for the host's"
    )


def _trial(launch: Callable[[BoxSpec], Launched]) -> Finding:
    try:
        box = launch(TRIAL)
        box.close()
    except RolewallError as error:
        return _failed("docker box", error)
    users = "role and init apart" if box.identity.distinct else "role and init share a user"
    return Finding("docker box", ok=True, detail=f"starts; {users}")


def _failed(subject: str, error: RolewallError) -> Finding:
    detail = f"{error.place}: {error.message}" if error.place else error.message
    return Finding(subject, ok=False, detail=detail, way_out=error.hint or "")
