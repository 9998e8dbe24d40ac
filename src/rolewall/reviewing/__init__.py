"""A change, judged by a team's verifier behind its wall, as one decision.

``commits`` takes trees out of a repository, ``staging`` puts a change before the verifier,
``playing`` lets it judge, ``sent`` asks whether its model was sent all of it, ``decision`` is what
came of it, ``summary`` its Markdown.
"""

from __future__ import annotations

from rolewall.reviewing.commits import export_commit
from rolewall.reviewing.decision import Review
from rolewall.reviewing.review import review_change

__all__ = ["Review", "export_commit", "review_change"]
