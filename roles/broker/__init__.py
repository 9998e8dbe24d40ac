"""A team's tools: run outside its roles, once, and shared between them."""

from __future__ import annotations

from rolewall.roles.broker.account import Account, ToolUse
from rolewall.roles.broker.admission import Admission, Holds
from rolewall.roles.broker.answer import Answer
from rolewall.roles.broker.boxes import ToolBoxes
from rolewall.roles.broker.door import ToolDoor
from rolewall.roles.broker.log import TOOLS
from rolewall.roles.broker.offers import Offer, tools_text
from rolewall.roles.broker.running import Runner
from rolewall.roles.broker.service import TOOL_SOCKET, ToolService
from rolewall.roles.broker.shelf import Shelf
from rolewall.roles.broker.tool import Tool

__all__ = [
    "TOOLS",
    "TOOL_SOCKET",
    "Account",
    "Admission",
    "Answer",
    "Holds",
    "Offer",
    "Runner",
    "Shelf",
    "Tool",
    "ToolBoxes",
    "ToolDoor",
    "ToolService",
    "ToolUse",
    "tools_text",
]
