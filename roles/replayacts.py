"""What coding agents of somebody else's did, done without their program."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.roles.chat.hands import MOST_EDITED, WRITE
from rolewall.roles.chat.shown import shorten_text
from rolewall.roles.patches import FilePatch, changed, parse_patch
from rolewall.roles.playing import Player
from rolewall.roles.recorded import Did, Expected, PatchAct, ReplaceAct, RunAct
from rolewall.sandbox import Completed

__all__ = ["Done", "do_patch", "do_replace", "do_run", "drifted"]

MOST_SHOWN = 1500
COMPARED = 400  # characters at either end of an output; agents cut long ones in the middle


@dataclass(frozen=True)
class Done:
    """What came of one call: its commands, and whether it failed."""

    commands: tuple[Completed, ...]
    failed: bool


def do_run(player: Player, act: RunAct, seconds: float) -> None:
    player.called("run", act.model_dump(exclude_none=True), seconds)
    argv = [act.shell, "-c", act.command]
    arguments = {"command": shorten_text(act.command, MOST_SHOWN)}
    player.play("run", argv, arguments, timeout=seconds, cwd=act.cwd)


def do_replace(player: Player, act: ReplaceAct, seconds: float) -> bool:
    """Whether it failed."""
    player.called("replace", act.model_dump(), seconds)
    path = _absolute(player, act.path)
    text = _read(player, path, seconds)
    if text is None or act.old not in text:
        return True
    return _write(player, "replace", path, text.replace(act.old, act.new), seconds)


def do_patch(player: Player, act: PatchAct, seconds: float) -> bool:
    """Whether it failed; the first file that fails is the last that is touched."""
    player.called("patch", act.model_dump(exclude_none=True), seconds)
    where = _absolute(player, act.cwd or "")
    return any(_patch_file(player, file, where, seconds) for file in parse_patch(act.text))


def _patch_file(player: Player, file: FilePatch, where: str, seconds: float) -> bool:
    path = posixpath.join(where, file.path)
    if file.deleted:
        return _remove(player, path, seconds)
    if file.added is not None:
        return _write(player, "patch", path, file.added, seconds)
    text = _read(player, path, seconds)
    if text is None:
        return True
    try:
        now = changed(text, file.hunks)
    except ValueError:
        return True
    to = posixpath.join(where, file.to) if file.to else path
    if _write(player, "patch", to, now, seconds):
        return True
    return to != path and _remove(player, path, seconds)


def _read(player: Player, path: str, seconds: float) -> str | None:
    """None for what cannot be read, or is no text."""
    done = player.box.run(["cat", path], timeout=seconds, output_limit=MOST_EDITED)
    if done.returncode != 0 or done.stdout.truncated:
        return None
    try:
        return done.stdout.data.decode()
    except UnicodeDecodeError:
        return None


def _write(player: Player, tool: str, path: str, text: str, seconds: float) -> bool:
    data = text.encode()
    argv, arguments = ["/bin/sh", "-c", WRITE, "sh", path], {"path": path, "bytes": len(data)}
    return player.play(tool, argv, arguments, timeout=seconds, stdin=data).returncode != 0


def _remove(player: Player, path: str, seconds: float) -> bool:
    arguments = {"path": path, "removed": True}
    return player.play("patch", ["rm", "--", path], arguments, timeout=seconds).returncode != 0


def _absolute(player: Player, path: str) -> str:
    return posixpath.join(player.box.spec.workdir, path)


def drifted(did: Did, expected: Expected, done: Done) -> bool:
    """Whether a call went another way than when it was recorded, as far as that is known."""
    if expected.failed is not None and expected.failed != done.failed:
        return True
    if not isinstance(did, RunAct):
        return False
    return any(not _told(piece, expected.text) for one in done.commands for piece in _pieces(one))


def _pieces(done: Completed) -> Iterator[str]:
    """The ends of what a command wrote."""
    for output in (done.stdout, done.stderr):
        text = output.text().replace("\r\n", "\n").strip()
        yield text[:COMPARED].strip()
        yield text[-COMPARED:].strip()


def _told(piece: str, text: str) -> bool:
    """Some agents tell their model of an output as it is, some as a JSON string."""
    plain = text.replace("\r\n", "\n")
    return any(
        words in plain
        for words in (piece, json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1])
    )
