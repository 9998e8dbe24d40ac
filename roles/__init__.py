"""Who acts, and what passes between them: teams, agents, handoffs, verdicts."""

from __future__ import annotations

if __name__ != "rolewall.roles":
    raise ImportError(f"import this as rolewall.roles, not as {__name__}")

from rolewall.roles.acting import act
from rolewall.roles.agents import (
    Agent,
    ChatAgent,
    CommandAgent,
    HumanAgent,
    PresetAgent,
    ReplayAgent,
    ScriptAgent,
)
from rolewall.roles.check import (
    CHECK_SOCKET,
    CheckCopy,
    CheckRun,
    CheckService,
    WorkChanged,
    check_spec,
)
from rolewall.roles.door import GATEWAY, GATEWAY_URL, ModelDoor, model_environment
from rolewall.roles.handoff import (
    HANDOFF_ZONES,
    MAX_HANDOFF,
    Artifact,
    Collected,
    Condition,
    Handoff,
    Step,
    parse_handoff,
    read_handoff,
)
from rolewall.roles.isolation import Execution, claim_seen, runs_work
from rolewall.roles.models import Budget, Endpoint, ModelAccess, Price
from rolewall.roles.playing import Acted, Turn
from rolewall.roles.prompt import TaskFacts, render_prompt
from rolewall.roles.script import Script, parse_script
from rolewall.roles.seal import (
    MAX_SEALED,
    Evidence,
    Seal,
    SealedHandoff,
    complete_and_seal,
    parse_sealed,
    sealed_bytes,
    verify_seal,
)
from rolewall.roles.team import Team, load_team
from rolewall.roles.verdict import MAX_VERDICT, Check, ParsedVerdict, read_verdict

__all__ = [
    "CHECK_SOCKET",
    "GATEWAY",
    "GATEWAY_URL",
    "HANDOFF_ZONES",
    "MAX_HANDOFF",
    "MAX_SEALED",
    "MAX_VERDICT",
    "Acted",
    "Agent",
    "Artifact",
    "Budget",
    "ChatAgent",
    "Check",
    "CheckCopy",
    "CheckRun",
    "CheckService",
    "Collected",
    "CommandAgent",
    "Condition",
    "Endpoint",
    "Evidence",
    "Execution",
    "Handoff",
    "HumanAgent",
    "ModelAccess",
    "ModelDoor",
    "ParsedVerdict",
    "PresetAgent",
    "Price",
    "ReplayAgent",
    "Script",
    "ScriptAgent",
    "Seal",
    "SealedHandoff",
    "Step",
    "TaskFacts",
    "Team",
    "Turn",
    "WorkChanged",
    "act",
    "check_spec",
    "claim_seen",
    "complete_and_seal",
    "load_team",
    "model_environment",
    "parse_handoff",
    "parse_script",
    "parse_sealed",
    "read_handoff",
    "read_verdict",
    "render_prompt",
    "runs_work",
    "sealed_bytes",
    "verify_seal",
]
