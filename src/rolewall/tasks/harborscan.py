"""What the text of a Harbor task says that it will need: the network, other places."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["fetching", "places_outside"]

_FETCH = re.compile(
    r"""(?<![\w./-])(?:
        (?P<package>apt-get|apt|apk|yum|dnf|pip3?|uv|npm|cargo|gem|conda)
        \s+(?:-\S+\s+|--\S+\s+)*(?:install|update|add|i|ci|tool|pip|run|sync|create)\b
      | (?P<program>curl|wget|uvx|npx|pipx)\s
      | (?P<git>git)\s+clone\s
      | (?P<go>go)\s+(?:get|install)\s
    )""",
    re.X,
)
_LOCAL = re.compile(r"\b(?:localhost|127\.0\.0\.1|::1)\b")
_PATH = re.compile(r"(?<![\w./~$}:-])/(?:[\w.+@-]+/)*[\w.+@-]+")
# Of the box or of the protocol, whatever the task.
_KNOWN = ("/tests", "/logs", "/solution", "/dev", "/proc", "/bin", "/usr/bin", "/usr/local/bin",
          "/workspace")  # fmt: skip
MOST_NAMED = 5


def fetching(texts: Iterable[str]) -> tuple[str, ...]:
    """The programs by which shell scripts fetch things from elsewhere, by name."""
    found = set()
    for text in texts:
        for line in text.splitlines():
            code = line.strip()
            if not code.startswith("#") and not _LOCAL.search(code):
                found |= {match[match.lastgroup or 0] for match in _FETCH.finditer(code)}
    return tuple(sorted(found))


def places_outside(text: str, workdir: str) -> tuple[str, ...]:
    """Paths of a text that lie neither in the work nor where every box has them."""
    inside = (*_KNOWN, workdir)
    found = {
        path
        for path in _PATH.findall(text)
        if not any(path == place or path.startswith(f"{place}/") for place in inside)
    }
    return tuple(sorted(found))
