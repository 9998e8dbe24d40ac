"""Who may touch what: pure data and pure functions, but for the ledger's own file."""

from __future__ import annotations

if __name__ != "rolewall.policies":
    raise ImportError(f"import this as rolewall.policies, not as {__name__}")

from rolewall.policies.attempt import Attempt, Effect, Kind, Observe, Outcome
from rolewall.policies.classify import (
    DELETED,
    Call,
    Judgement,
    Target,
    View,
    ViewZone,
    is_cache,
    is_own,
    judge,
    judge_peek,
)
from rolewall.policies.conditions import (
    CONDITIONS,
    HAS_VERIFIER,
    HAS_WALL,
    ROLES,
    TEAM_ROLES,
    condition,
    enforced,
    prompt_only,
)
from rolewall.policies.holds import hold
from rolewall.policies.ledger import (
    LINE_MAX,
    ZERO,
    Ledger,
    LedgerTail,
    read_ledger,
    verify_ledger,
)
from rolewall.policies.lint import lint
from rolewall.policies.model import (
    HARNESS,
    HELD_NAMED,
    Access,
    Hold,
    HostPort,
    Limits,
    Policy,
    Zone,
)
from rolewall.policies.mounts import Compiled, Hidden, Mount, compile_mounts
from rolewall.policies.network import parse_host_port
from rolewall.policies.parse import LimitsFile, policy_from_mapping
from rolewall.policies.text import SHORT, escape, shorten, unescape

__all__ = [
    "CONDITIONS",
    "DELETED",
    "HARNESS",
    "HAS_VERIFIER",
    "HAS_WALL",
    "HELD_NAMED",
    "LINE_MAX",
    "ROLES",
    "SHORT",
    "TEAM_ROLES",
    "ZERO",
    "Access",
    "Attempt",
    "Call",
    "Compiled",
    "Effect",
    "Hidden",
    "Hold",
    "HostPort",
    "Judgement",
    "Kind",
    "Ledger",
    "LedgerTail",
    "Limits",
    "LimitsFile",
    "Mount",
    "Observe",
    "Outcome",
    "Policy",
    "Target",
    "View",
    "ViewZone",
    "Zone",
    "compile_mounts",
    "condition",
    "enforced",
    "escape",
    "hold",
    "is_cache",
    "is_own",
    "judge",
    "judge_peek",
    "lint",
    "parse_host_port",
    "policy_from_mapping",
    "prompt_only",
    "read_ledger",
    "shorten",
    "unescape",
    "verify_ledger",
]
