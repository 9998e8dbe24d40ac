"""What a model is told before its first answer.

The prompt is the generated one. What the role was left by others is read in the role's
box, as the role, and marked as the claim that it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.chat.calls import clean
from rolewall.roles.chat.shown import shorten_text, show_output
from rolewall.roles.chat.textcalls import fenced
from rolewall.roles.chatfile import ChatFile
from rolewall.roles.handoff import HANDOFF_ZONES
from rolewall.roles.onelines import cut_line
from rolewall.roles.playing import OWN_STEP_SECONDS, Turn
from rolewall.roles.seal import MAX_SEALED
from rolewall.sandbox import Box

__all__ = ["first_message"]

TEXTS = (
    ("brief", "/brief/brief.md", "The brief"),
    ("spec", "/spec/spec.md", "The whole requirements"),
)
SAID = ("status", "text", "steps", "conditions", "artifacts", "questions", "problems")
MOST_NAMES = 200
MOST_FILES = 50
MOST_USED, MOST_USE = 30, 200  # uses of tools that are listed, and characters of each
# Sections of the prompt on files that the tools write for the model.
FORMATS = re.compile(r"^## (?:Handing over|Verdict)\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
NAMES = f"find . -name .git -prune -o -type f -print | LC_ALL=C sort | head -n {MOST_NAMES + 1}"


def first_message(turn: Turn, box: Box, chat: ChatFile) -> str:
    """The prompt, and what the role can read of what others left.

    About a third of the model's context is for what others left, and another for the files
    of the workspace: the longest texts are shortened first, and say so.
    """
    head = FORMATS.sub("", turn.prompt) if chat.prompt == "short" else turn.prompt
    parts = list(_parts(box, chat, turn.role))
    room = chat.context_tokens  # in characters, of which about three are a token
    longest = min(chat.inline_chars, _share([len(text) for _, text in parts], room))
    told = [f"## {title}\n\n{fenced(shorten_text(text, longest))}" for title, text in parts]
    names, files = _workspace(box, min(chat.workspace_chars, room))
    names = shorten_text(names, longest)
    told.append(f"## Files of {box.spec.workdir}\n\n{fenced(names)}" if names else "")
    return "\n\n".join(filter(None, [head.rstrip("\n"), *told, *files])) + "\n"


def _share(sizes: list[int], room: int) -> int:
    """How long each of some texts may be, for all to have ``room`` together."""
    left, share = room, room
    for index, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return max(share, room)


def _parts(box: Box, chat: ChatFile, own: str) -> Iterator[tuple[str, str]]:
    """(title, text) of each text that is there."""
    seen = {mount.zone for mount in box.spec.mounts}
    for zone, path, title in TEXTS:
        if zone in seen and (text := _read(box, path, chat.inline_chars)):
            yield f"{title} (`{path}`)", text
    for role, zone in HANDOFF_ZONES.items():
        path = f"/{zone}/handoff.json"
        # Its own is what it left in an earlier round, for others.
        if zone in seen and role != own and (text := _handoff(box, path)):
            title = f"What the {role} left (`{path}`): its claim, which nobody has checked"
            yield title, text


def _handoff(box: Box, path: str) -> str:
    done = box.run(["cat", path], timeout=OWN_STEP_SECONDS, output_limit=MAX_SEALED + 2)
    if done.returncode != 0 or done.stdout.truncated:
        return ""
    try:
        found = load_json(done.stdout.data, path, max_bytes=MAX_SEALED)
    except InputError:
        found = None
    if not isinstance(found, dict):
        return clean(done.stdout.text())
    return clean("\n".join(_said(found)))


def _said(handoff: dict[Any, Any]) -> Iterator[str]:
    for key in SAID:
        value = handoff.get(key)
        if value:
            words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield words if key == "text" else f"{key}: {words}"
    if used := list(_used(handoff.get("evidence"))):
        yield "evidence, seen by the harness (`handoff evidence ID` says when, `handoff result ID`"
        yield "what it gave):"
        yield from used[-MOST_USED:]


def _used(evidence: object) -> Iterator[str]:
    """A line for each use of a tool. No word of it is of the clock: a request that is made
    again must be the same."""
    for one in evidence if isinstance(evidence, list) else ():
        if isinstance(one, dict):
            went = "ok" if one.get("ok") is True else "failed"
            asked = json.dumps(one.get("arguments"), ensure_ascii=False)
            told = (one.get("id"), went, one.get("origin"), one.get("tool"), asked)
            yield f"- {cut_line(' '.join(map(str, told)), MOST_USE)}"


def _read(box: Box, path: str, chars: int) -> str:
    done = box.run(["cat", path], timeout=OWN_STEP_SECONDS)
    return clean(show_output(done.stdout, chars)) if done.returncode == 0 else ""


def _workspace(box: Box, chars: int) -> tuple[str, list[str]]:
    """The names of the files, and as many of them whole as have room."""
    if not any(mount.zone == "workspace" for mount in box.spec.mounts):
        return "", []
    listed = box.run(["/bin/sh", "-c", NAMES], cwd=box.spec.workdir, timeout=OWN_STEP_SECONDS)
    lines = [line.removeprefix("./") for line in listed.stdout.text().splitlines()]
    names, files = lines[:MOST_NAMES], []
    for name in names[:MOST_FILES] if chars else []:
        text = _text(box, f"{box.spec.workdir}/{name}", chars)
        if text is not None:
            chars -= len(text)
            files.append(f"`{clean(name)}`:\n\n{fenced(text)}")
    if len(lines) > MOST_NAMES:
        names.append("[further files are not listed]")
    return clean("\n".join(names)), files


def _text(box: Box, path: str, most: int) -> str | None:
    """A whole file, if it is a text of ``most`` characters or fewer."""
    done = box.run(["cat", path], timeout=OWN_STEP_SECONDS, output_limit=4 * max(most, 1))
    if done.returncode != 0 or done.stdout.truncated or b"\0" in done.stdout.data:
        return None
    try:
        text = done.stdout.data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) <= most else None
