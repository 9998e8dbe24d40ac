"""What this machine can enforce and observe, found by doing it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.errors import RolewallError
from rolewall.policies import Access, Limits
from rolewall.sandbox import BACKENDS, Backend, Finding, find_backend, temporary_directory

__all__ = ["Report", "examine"]


@dataclass
class Report:
    """Findings by backend; ``usable`` are the backends that put up a wall that held."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    usable: list[str] = field(default_factory=list)
    auto: str = ""


def examine() -> Report:
    """Examine the machine and try a box on every backend."""
    report = Report({"machine": _machine()})
    if sys.platform != "linux":
        return report
    for name in BACKENDS:
        report.findings[name] = _backend(name, report.usable)
    try:
        report.auto = find_backend("auto").name
    except RolewallError:
        report.auto = ""
    return report


def _machine() -> list[Finding]:
    if sys.platform != "linux":
        return [Finding("system", False, sys.platform, "run rolewall in a Linux virtual machine")]
    filters = Path("/proc/sys/kernel/seccomp/actions_avail")
    actions = filters.read_text() if filters.exists() else ""
    return [
        Finding("system", True, f"Linux {platform.release()} {platform.machine()}"),
        Finding(
            "seccomp notification",
            "user_notif" in actions,
            actions.strip() or "no seccomp",
            "" if "user_notif" in actions else "a kernel of 5.19 or newer, outside gVisor",
        ),
    ]


def _backend(name: str, usable: list[str]) -> list[Finding]:
    try:
        backend = find_backend(name)
    except RolewallError as error:
        return [Finding("available", False, error.message, error.hint or "")]
    findings = backend.diagnose()
    wall = _wall(backend)
    if wall.ok:
        usable.append(name)
    return [*findings, wall]


def _wall(backend: Backend) -> Finding:
    """Put a role before a read-only zone and see its edit blocked and recorded."""
    from rolewall.library import open_sandbox
    from rolewall.zones import AskedZone, zone_policy

    with temporary_directory() as scratch:
        zone = AskedZone("workspace", scratch, Access.READ)
        policy = zone_policy("verifier", [zone], (), Limits())
        try:
            with open_sandbox(policy, "verifier", {"workspace": scratch}, backend=backend) as box:
                box.run(["/bin/sh", "-c", "echo edited > /workspace/file"])
                seen = [a for a in box.attempts() if a.zone == "workspace"]
                facts = box.facts
        except RolewallError as error:
            return Finding("wall and tap", False, str(error), error.hint or "")
        landed = any(scratch.iterdir())
    if landed or not seen:
        return Finding("wall and tap", False, "an edit landed" if landed else "an edit went unseen")
    users = "own" if facts.get("distinct_uids") else "the same"
    return Finding("wall and tap", True, f"an edit was blocked and recorded; init has {users} uid")
