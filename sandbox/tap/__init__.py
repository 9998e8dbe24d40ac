"""The tap: what a role's processes try to change, seen at the system call.

It records and, for calls that would change the box itself, refuses; files are
protected by mounts and users alone.
"""

from __future__ import annotations

from .bpf import build_deny_filter, build_filter
from .client import Supervisor, Watch
from .wire import WatchSpec, WatchSummary

__all__ = ["Supervisor", "Watch", "WatchSpec", "WatchSummary", "build_deny_filter", "build_filter"]
