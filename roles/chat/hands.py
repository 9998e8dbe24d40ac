"""What a model's calls do: commands in the role's box, and nothing anywhere else.

No tool looks at who may do what. The wall does, and what it says is handed on.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.roles.chat.shown import shorten_text, show_answer, show_run
from rolewall.roles.chat.tools import (
    Edit,
    Message,
    Read,
    Run,
    Tool,
    Use,
    Verdict,
    Write,
    spoken,
)
from rolewall.roles.handoff import HANDOFF_ZONES, MAX_HANDOFF
from rolewall.roles.playing import OWN_STEP_SECONDS, Player
from rolewall.roles.verdict import MAX_VERDICT
from rolewall.sandbox import Completed

__all__ = ["Hands", "Result"]

MOST_EDITED = 8 * 1024 * 1024  # bytes of a file that is edited
MOST_CLAIMED = 500
# Characters of a call's arguments that evidence and transcript have; a handoff holds the
# evidence of a whole phase, and the record of exchanges every word.
MOST_SHOWN = 1500
# The directory is only made where it is missing: trying to would be one more attempt on
# whatever zone it lies in. Plain programs by their names, so that no verifier's write
# looks like a run of the work.
WRITE = '[ -d "${1%/*}/" ] || mkdir -p -- "${1%/*}"; cat > "$1"'
THERE = '[ -s "$1" ]'
CHECK = "rolewall-check"
SHELL_SIGNS = frozenset("|&;<>()$`\\\"'*?[]#~=%!{}\n")


@dataclass(frozen=True)
class Result:
    """``head`` says in one line how it went, ``body`` is what came of it, in words that
    others may have chosen. ``ends``: the role has handed over and its turn is over."""

    head: str
    body: str = ""
    failed: bool = False
    ends: bool = False


class Hands:
    """Carries out calls for ``player``.

    Attributes:
        last: the last command that ran, None before the first.
        commands: how many have run.
        seconds: how long one may take.
    """

    def __init__(self, player: Player, *, output_chars: int, command_seconds: float) -> None:
        self.last: Completed | None = None
        self.commands = 0
        self._player = player
        self._role = player.turn.role
        self._chars = output_chars
        self.seconds = command_seconds
        self._messaged = False
        self._checked: list[str] = []

    @property
    def handed_over(self) -> bool:
        """Whether the role has left a message in this phase."""
        return self._messaged

    def is_there(self, path: str) -> bool:
        """Whether the role sees a file that is not empty."""
        argv = ["/bin/sh", "-c", THERE, "sh", path]
        return self._player.box.run(argv, timeout=OWN_STEP_SECONDS).returncode == 0

    def do(self, tool: Tool) -> Result:
        """Carry out one call."""
        self._player.called(*spoken(tool), self._time)
        match tool:
            case Run():
                return self._run(tool)
            case Read():
                return self._read(tool)
            case Write():
                return self._write(tool)
            case Edit():
                return self._edit(tool)
            case Message() | Verdict():
                return self._message(tool) if isinstance(tool, Message) else self._verdict(tool)
            case Use():
                return self._use(tool)

    def _run(self, tool: Run) -> Result:
        if _only_checks(tool.command):
            self._checked.append(tool.command.strip())
        argv = ["/bin/sh", "-c", tool.command]
        shown = shorten_text(tool.command, MOST_SHOWN)
        return self._told(self._play("run", argv, {"command": shown}))

    def _read(self, tool: Read) -> Result:
        path, lines = self._absolute(tool.path), {"first": tool.first, "last": tool.last}
        argv = ["cat", path]
        if tool.first is not None or tool.last is not None:
            argv = ["sed", "-n", f"{tool.first or 1},{tool.last or '$'}p", path]
        given = {name: line for name, line in lines.items() if line is not None}
        return self._told(self._play("read", argv, {"path": _short(tool.path), **given}))

    def _write(self, tool: Write) -> Result:
        data = tool.text.encode()
        return self._put("write", tool.path, data, {"text": _short(tool.text)})

    def _edit(self, tool: Edit) -> Result:
        path = self._absolute(tool.path)
        found = self._player.box.run(["cat", path], timeout=self._time, output_limit=MOST_EDITED)
        if found.returncode != 0:
            return self._told(found)
        if found.stdout.truncated:
            return Result(f"{tool.path} is too large to be edited so", failed=True)
        data, old = found.stdout.data, tool.old.encode()
        if (times := data.count(old)) != 1:
            words = f"old is there {times} times in {tool.path}, not once; nothing was changed"
            return Result(words, failed=True)
        changed = data.replace(old, tool.new.encode())
        told = {"old": _short(tool.old), "new": _short(tool.new)}
        return self._put("edit", tool.path, changed, told)

    def _put(self, name: str, path: str, data: bytes, arguments: Mapping[str, Any]) -> Result:
        held = self._holds(path, data)
        argv = ["/bin/sh", "-c", WRITE, "sh", self._absolute(path)]
        given = {"path": _short(path), **arguments, "bytes": len(data)}
        done = self._play(name, argv, given, stdin=data)
        if done.returncode != 0:
            return self._told(done)
        words = "unchanged: it held just this before" if held else f"written, {len(data)} bytes"
        return Result(f"{path} is {words}")

    def _holds(self, path: str, data: bytes) -> bool:
        """Whether a file of the work is so already. Elsewhere a look would be an act that
        nobody asked for."""
        whole = posixpath.normpath(self._absolute(path))
        if not whole.startswith(f"{self._player.box.spec.workdir}/"):
            return False
        most = 2 * len(data) + 2
        found = self._player.box.run(["cat", whole], timeout=self._time, output_limit=most)
        return found.returncode == 0 and found.stdout.data == data

    def _message(self, tool: Message) -> Result:
        body = {"schema_version": 1, "status": tool.status, "text": tool.text}
        result = self._leave("message", f"/{HANDOFF_ZONES[self._role]}/handoff.json", body,
                             {"status": tool.status}, MAX_HANDOFF)  # fmt: skip
        if result.failed:
            return result
        self._messaged = True
        if self._role == "verifier":
            return Result("the message is left; your verdict is still to be given")
        return Result("the message is left", ends=True)

    def _verdict(self, tool: Verdict) -> Result:
        body = {
            "schema_version": 1,
            "nonce": self._player.turn.nonce,
            "verdict": tool.verdict,
            "summary": tool.summary,
            "checks": [check.model_dump(mode="json") for check in tool.checks],
            "commands": list(dict.fromkeys(self._checked))[:MOST_CLAIMED],
        }
        result = self._leave("verdict", "/verdict/verdict.json", body,
                             {"verdict": tool.verdict}, MAX_VERDICT)  # fmt: skip
        if result.failed:
            return result
        if not self._messaged:
            left = self._message(Message(text=tool.summary))
            if left.failed:
                return left
        return Result("the verdict is given", ends=True)

    def _use(self, tool: Use) -> Result:
        if self._player.turn.tools is None:
            return Result("your team has no tools", failed=True)
        self.commands += 1
        answer = self._player.turn.tools.call(tool.name, json.dumps(tool.arguments).encode())
        head, body = show_answer(tool.name, answer, self._chars)
        return Result(head, body, failed=not answer.ok)

    def _leave(
        self, name: str, path: str, body: Mapping[str, Any], arguments: dict[str, Any], most: int
    ) -> Result:
        data = json.dumps(body, indent=1, ensure_ascii=False).encode()
        if len(data) > most:
            return Result(f"too long: {len(data)} bytes, {most} at most", failed=True)
        return self._told(
            self._play(name, ["/bin/sh", "-c", WRITE, "sh", path], arguments, stdin=data)
        )

    def _play(
        self, name: str, argv: list[str], arguments: dict[str, Any], *, stdin: bytes = b""
    ) -> Completed:
        self.commands += 1
        self.last = self._player.play(name, argv, arguments, timeout=self._time, stdin=stdin)
        return self.last

    def _absolute(self, path: str) -> str:
        return posixpath.join(self._player.box.spec.workdir, path)

    @property
    def _time(self) -> float:
        return min(self._player.left, self.seconds)

    def _told(self, done: Completed) -> Result:
        head, body = show_run(done, self._chars, self.seconds)
        return Result(head, body, failed=done.returncode != 0)


def _short(text: str) -> str:
    return shorten_text(text, MOST_SHOWN // 3)


def _only_checks(command: str) -> bool:
    """Whether a command is one check and nothing around it, so that it can be claimed."""
    words = command.strip()
    return len(words) <= 2000 and not SHELL_SIGNS & set(words) and words.startswith(f"{CHECK} ")
