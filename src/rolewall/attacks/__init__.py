"""The attack suite: what one role tries against another's zones, the harness and the host.

It is a team and a task of rolewall's own. The attacker plays in a box like any role; each
attempt is made in a process of its own, behind the wall, and its twin where it must succeed.
"""

from __future__ import annotations

from rolewall.attacks.outcome import Row
from rolewall.attacks.page import as_markdown
from rolewall.attacks.suite import Report, play_attacks, report_of
from rolewall.attacks.table import as_sheets
from rolewall.attacks.team import make_tree

__all__ = [
    "Report",
    "Row",
    "as_markdown",
    "as_sheets",
    "make_tree",
    "play_attacks",
    "report_of",
]
