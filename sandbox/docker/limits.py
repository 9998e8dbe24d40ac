"""Whether a box's limits are in force, read from the kernel and not from the engine."""

from __future__ import annotations

from contextlib import suppress

from rolewall.errors import BoxError
from rolewall.sandbox.counters import group_directories
from rolewall.sandbox.docker.container import MEBIBYTE
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.usage import shared_disk_fact

__all__ = ["check_limits"]


def check_limits(groups: str, spec: BoxSpec) -> dict[str, str]:
    """Compare the limits of the control groups in ``/proc/PID/cgroup`` with the spec.

    Returns:
        for each limit the mechanism and its value, for the record.

    Raises:
        BoxError: a limit is absent or wider than asked.
    """
    asked = {
        "memory_mb": (spec.limits.memory_mb, "MiB"),
        "pids": (spec.limits.pids + 1, "processes with init"),
        "cpus": (spec.limits.cpus, "cores"),
    }
    found = {"memory_mb": _memory(groups), "pids": _pids(groups), "cpus": _cpus(groups)}
    facts = {}
    for name, (most, unit) in asked.items():
        value = found[name]
        # The kernel rounds a core's share to microseconds of a period.
        if value is None or value > most * 1.001:
            raise BoxError(f"the limit {name} is not in force", got=value, expected=most)
        facts[name] = f"cgroup, {value:g} {unit}"
    facts["disk_mb"] = f"tmpfs, {spec.private_mb} MiB a private zone; " + shared_disk_fact(
        spec.limits.disk_mb
    )
    return facts


def _memory(groups: str) -> float | None:
    found = _first(groups, ("memory.max", "memory.limit_in_bytes"), "memory")
    return None if found is None else found / MEBIBYTE


def _pids(groups: str) -> float | None:
    return _first(groups, ("pids.max",), "pids")


def _cpus(groups: str) -> float | None:
    for directory in group_directories(groups, "cpu"):
        with suppress(OSError, ValueError, ZeroDivisionError):
            if (share := directory / "cpu.max").exists():
                quota, period = share.read_text("ascii").split()
            else:
                quota = (directory / "cpu.cfs_quota_us").read_text("ascii")
                period = (directory / "cpu.cfs_period_us").read_text("ascii")
            value = int(quota) / int(period)
            return value if value > 0 else None
    return None


def _first(groups: str, names: tuple[str, ...], controller: str) -> float | None:
    for directory in group_directories(groups, controller):
        for name in names:
            with suppress(OSError, ValueError):
                return int((directory / name).read_text("ascii"))
    return None
