"""A preset at work: its program found, its files laid, its output written down."""

from __future__ import annotations

from collections.abc import Mapping

from rolewall.roles.absent import program_absent
from rolewall.roles.agents import PresetAgent, placeholder_values
from rolewall.roles.door import GATEWAY_URL, PLACEHOLDER_KEY
from rolewall.roles.placeholders import expand
from rolewall.roles.playing import OWN_STEP_SECONDS, Acted, Player, Turn, outcome_of
from rolewall.roles.presets.frame import Preset, Start, Told
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box

__all__ = ["THEN", "PresetPlayer"]

# The tool that stands in the transcript for the command ``Start.then``; the program itself
# stands there under its preset's name.
THEN = "trajectory"
LAY = 'mkdir -p "${1%/*}" && cat > "$1"'


class PresetPlayer(Player):
    def __init__(
        self, agent: PresetAgent, preset: Preset, box: Box, turn: Turn, log: Transcript
    ) -> None:
        super().__init__(agent, box, turn, log)
        self._agent = agent
        self._preset = preset

    def run(self) -> Acted:
        start = self._preset.start(self._told())
        self._environment = {**start.env, **self._environment}
        if not self._lay(start.files):
            return self.acted
        argv = list(start.argv)
        self.called(self._preset.name, {"argv": argv}, self.left)
        done = self.play(
            self._preset.name,
            argv,
            {"argv": argv},
            timeout=self.left,
            stdin=start.stdin,
            cwd=start.cwd,
        )
        if done.absent:
            raise program_absent(
                self.turn.role,
                self._preset.name,
                argv[0],
                f"the agent's program cannot be started: {done.stderr.text().strip()}",
                where=self.environment["PATH"].replace(":", ", "),
                install=self._preset.install,
            )
        self.acted.outcome = outcome_of(done)
        self._print(start)
        return self.acted

    def _told(self) -> Told:
        values = placeholder_values(self.turn.role, self.turn.task)
        settings = self._agent.settings
        named = self._agent.program(role=self.turn.role, task=self.turn.task)
        return Told(
            program=named or self._preset.program,
            model=settings.model,
            prompt=self.turn.prompt,
            args=tuple(expand(word, values) for word in settings.args),
            url=GATEWAY_URL,
            key=PLACEHOLDER_KEY,
        )

    def _lay(self, files: Mapping[str, bytes]) -> bool:
        """Write the agent's files, as the role; what it may not write, this cannot either."""
        for path, data in files.items():
            argv = ["/bin/sh", "-c", LAY, "sh", path]
            begins, streams = self._log.ends(), self._log.streams()
            done = self.box.run(argv, stdin=data, timeout=OWN_STEP_SECONDS, streams=streams)
            if done.returncode != 0:
                self._note("lay", {"path": path}, done, begins)
                self.acted.outcome = outcome_of(done)
                self.acted.returncode = done.returncode
                return False
        return True

    def _print(self, start: Start) -> None:
        """Have the agent's own record printed; that this fails does not change the turn."""
        if not start.then or self.box.starved:
            return
        returncode = self.acted.returncode
        argv = list(start.then)
        self.play(THEN, argv, {"argv": argv}, timeout=OWN_STEP_SECONDS)
        self.acted.returncode = returncode
