"""Who acts, and what passes between them: teams, agents, handoffs, verdicts."""

from __future__ import annotations

if __name__ != "rolewall.roles":
    raise ImportError(f"import this as rolewall.roles, not as {__name__}")

from rolewall.roles.absent import program_absent
from rolewall.roles.acting import act
from rolewall.roles.agents import (
    AGENTS_PATH,
    Agent,
    ChatAgent,
    CommandAgent,
    HumanAgent,
    PresetAgent,
    ReplayAgent,
    ScriptAgent,
)
from rolewall.roles.arms import ARMS, Arm, arm_named, left_of, shown_bytes
from rolewall.roles.broker import (
    TOOL_SOCKET,
    TOOLS,
    Account,
    Admission,
    Answer,
    Holds,
    Runner,
    Shelf,
    Tool,
    ToolBoxes,
    ToolDoor,
    ToolService,
    ToolUse,
    tools_text,
)
from rolewall.roles.check import (
    CHECK_SOCKET,
    CheckCopy,
    CheckRun,
    CheckService,
    WorkChanged,
    check_spec,
)
from rolewall.roles.contracts import BREACHES, BreachKind, Contract, Item, contract_of
from rolewall.roles.door import EXCHANGES, GATEWAY, GATEWAY_URL, ModelDoor, model_environment
from rolewall.roles.evidence import MOST_RESULT, Evidence, Kept, Results
from rolewall.roles.gateway import (
    Gateway,
    ModelUse,
    OpenDoor,
    Purse,
    Tape,
    key_notes,
    keys_of,
    read_tape,
)
from rolewall.roles.handedover import HANDED, HANDOFF, HANDOFF_PROGRAM, Given, handed_files
from rolewall.roles.handoff import (
    HANDOFF_ZONES,
    MAX_HANDOFF,
    NOT_WRITTEN,
    Artifact,
    Collected,
    Condition,
    Handoff,
    SealedCondition,
    Step,
    parse_handoff,
    read_handoff,
)
from rolewall.roles.humanterminal import require_terminal
from rolewall.roles.isolation import Execution, claim_seen, runs_work
from rolewall.roles.models import Budget, Endpoint, ModelAccess, Price
from rolewall.roles.playing import Acted, Replayed, Turn
from rolewall.roles.presets import PRESETS, THEN, Preset, Printed, asked_for
from rolewall.roles.presets.reading import StepList, arguments_of, mappings, text_of
from rolewall.roles.prompt import StepFacts, TaskFacts, render_prompt
from rolewall.roles.recorded import RecordedTurn
from rolewall.roles.recordedreading import RecordedFiles, read_turn
from rolewall.roles.script import Script, parse_script
from rolewall.roles.seal import (
    MAX_SEALED,
    Seal,
    SealedHandoff,
    complete_and_seal,
    lacks_evidence,
    parse_sealed,
    sealed_bytes,
    verify_seal,
)
from rolewall.roles.steps import TokenCounts, ToolCall, ToolResult, Trajectory, TrajectoryStep
from rolewall.roles.team import Team, load_team
from rolewall.roles.transcript import CALLS
from rolewall.roles.verdict import MAX_VERDICT, Check, ParsedVerdict, read_verdict

__all__ = [
    "AGENTS_PATH",
    "ARMS",
    "BREACHES",
    "CALLS",
    "CHECK_SOCKET",
    "EXCHANGES",
    "GATEWAY",
    "GATEWAY_URL",
    "HANDED",
    "HANDOFF",
    "HANDOFF_PROGRAM",
    "HANDOFF_ZONES",
    "MAX_HANDOFF",
    "MAX_SEALED",
    "MAX_VERDICT",
    "MOST_RESULT",
    "NOT_WRITTEN",
    "PRESETS",
    "THEN",
    "TOOLS",
    "TOOL_SOCKET",
    "Account",
    "Acted",
    "Admission",
    "Agent",
    "Answer",
    "Arm",
    "Artifact",
    "BreachKind",
    "Budget",
    "ChatAgent",
    "Check",
    "CheckCopy",
    "CheckRun",
    "CheckService",
    "Collected",
    "CommandAgent",
    "Condition",
    "Contract",
    "Endpoint",
    "Evidence",
    "Execution",
    "Gateway",
    "Given",
    "Handoff",
    "Holds",
    "HumanAgent",
    "Item",
    "Kept",
    "ModelAccess",
    "ModelDoor",
    "ModelUse",
    "OpenDoor",
    "ParsedVerdict",
    "Preset",
    "PresetAgent",
    "Price",
    "Printed",
    "Purse",
    "RecordedFiles",
    "RecordedTurn",
    "ReplayAgent",
    "Replayed",
    "Results",
    "Runner",
    "Script",
    "ScriptAgent",
    "Seal",
    "SealedCondition",
    "SealedHandoff",
    "Shelf",
    "Step",
    "StepFacts",
    "StepList",
    "Tape",
    "TaskFacts",
    "Team",
    "TokenCounts",
    "Tool",
    "ToolBoxes",
    "ToolCall",
    "ToolDoor",
    "ToolResult",
    "ToolService",
    "ToolUse",
    "Trajectory",
    "TrajectoryStep",
    "Turn",
    "WorkChanged",
    "act",
    "arguments_of",
    "arm_named",
    "asked_for",
    "check_spec",
    "claim_seen",
    "complete_and_seal",
    "contract_of",
    "handed_files",
    "key_notes",
    "keys_of",
    "lacks_evidence",
    "left_of",
    "load_team",
    "mappings",
    "model_environment",
    "parse_handoff",
    "parse_script",
    "parse_sealed",
    "program_absent",
    "read_handoff",
    "read_tape",
    "read_turn",
    "read_verdict",
    "render_prompt",
    "require_terminal",
    "runs_work",
    "sealed_bytes",
    "shown_bytes",
    "text_of",
    "tools_text",
    "verify_seal",
]
