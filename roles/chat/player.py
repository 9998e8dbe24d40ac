"""The ``chat`` agent at work: a loop of answers and tool calls.

The loop runs in the harness; whatever it does for the model, it does in the role's box.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from rolewall.errors import InputError, ModelUnavailable
from rolewall.roles.agents import ChatAgent
from rolewall.roles.chat.asking import Asking
from rolewall.roles.chat.calls import Answer, Call, clean
from rolewall.roles.chat.conversation import Conversation, Exchange
from rolewall.roles.chat.endpoint import Endpoint, Refused
from rolewall.roles.chat.hands import Hands, Result
from rolewall.roles.chat.opening import first_message
from rolewall.roles.chat.speaking import Native, Said, Speech, Textual
from rolewall.roles.chat.stuck import Stuck
from rolewall.roles.chat.textcalls import hints_at_calls
from rolewall.roles.chat.tools import Message, Run, parse_tool
from rolewall.roles.chat.wayout import TEXT, way_out
from rolewall.roles.playing import Acted, Outcome, Player, Turn, outcome_of
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box, Completed

__all__ = ["ChatPlayer"]

MOST_COMMANDS = 1500  # of a phase; each is evidence in its handoff
LAST_FILE = {
    "planner": "/plan/handoff.json",
    "executor": "/report/handoff.json",
    "verifier": "/verdict/verdict.json",
    "generator": "/output/handoff.json",
}


class ChatPlayer(Player):
    """Plays one phase.

    A turn ends ``done`` when the role has handed over, ``failed`` when the model gets
    stuck or its turns are spent, and otherwise as its last command or the clock says.
    """

    def __init__(self, agent: ChatAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        self._chat = agent.chat
        self._endpoint = agent.access.endpoint
        self._say = log.say
        self._hands = Hands(
            self,
            output_chars=agent.chat.output_chars,
            command_seconds=agent.chat.command_seconds,
        )
        self._file = LAST_FILE[turn.role]
        self._stuck = Stuck()
        self._offers = turn.tools.offers() if turn.tools else []
        speech = Textual if agent.chat.tools == "text" else Native
        self._speech: Speech = speech(turn.role, self._offers)
        self._opened: list[tuple[Call, Result]] = []
        self._called = False  # natively, so that the model is known to be able to

    def run(self) -> Acted:
        """Let the model have its turn.

        Raises:
            ModelUnavailable: the endpoint, or the way to it, failed.
        """
        if self.turn.door is None:
            raise ModelUnavailable(
                "no way to a model was opened for this phase",
                hint="`rolewall run` opens one; whoever plays a phase must give its turn a door",
            )
        self._first = first_message(self.turn, self.box, self._chat)
        self._left_before = self._hands.is_there(self._file)
        if outcome := self._open():
            self.acted.outcome = outcome
            return self.acted
        self._begin()
        with closing(Endpoint(self.turn.door, lambda: self.left, self._endpoint)) as endpoint:
            asking = Asking(
                endpoint, self._chat, self.turn.seed, lambda what: self._say("cut", what=what)
            )
            try:
                self.acted.outcome = self._turns(asking)
            except ModelUnavailable as error:
                error.place = error.place or f"models.{self._endpoint.name}: {self._endpoint.url}"
                raise
        return self.acted

    def _open(self) -> Outcome | None:
        """Run the team's opening commands; how the turn has ended, if one ended it."""
        for number, command in enumerate(self._chat.opening, start=1):
            call = Call(f"opening-{number}", "run", {"command": command})
            result = self._hands.do(Run(command=command))
            if outcome := self._over(result):
                return outcome
            self._opened.append((call, result))
        return None

    def _begin(self) -> None:
        """Say all that is said before the model's first answer."""
        room = self._chat.context_tokens - self._chat.answer_tokens
        opening = last = self._speech.opening(self._first)
        self._talk = Conversation(opening, room, self._speech.tools)
        for call, result in self._opened:
            last = self._speech.results([(call, result)], 0)
            self._talk.exchanges.append(Exchange(self._speech.asked(call), last))
        self._speech.close(last, self._chat.instructions)

    def _turns(self, asking: Asking) -> Outcome:
        for number in range(1, self._chat.turns + 1):
            try:
                answer = self._ask(asking, number)
            except Refused as refused:
                return self._refused(refused)
            if self._speaks_otherwise(answer):
                self._change_speech("the model calls tools in words")
                continue
            said = self._speech.heard(answer, number)
            if outcome := self._answered(answer, said):
                return outcome
            if self._hands.commands >= MOST_COMMANDS:
                self._say("commands are spent", commands=self._hands.commands)
                return "failed"
        self._say("turns are spent", turns=self._chat.turns)
        return "failed"

    def _refused(self, refused: Refused) -> Outcome:
        """How a turn ends that gets no further answer."""
        if refused.why in ("tools", "limit-name"):  # what the team asks for is not to be had
            raise ModelUnavailable(
                "the model's endpoint refuses the request",
                got=clean(str(refused)),
                hint=TEXT
                if refused.why == "tools"
                else way_out(self._endpoint, self._chat.model, 400),
            )
        self._say("no answer", why=refused.why, words=str(refused))
        return "timeout" if refused.why == "time" else "failed"

    def _ask(self, asking: Asking, number: int) -> Answer:
        """The model's next answer, as text where its endpoint knows no tools."""
        try:
            return asking.ask(self._talk, number)
        except Refused as refused:
            native = isinstance(self._speech, Native) and self._chat.tools == "auto"
            if refused.why != "tools" or not native or self._called:
                raise
            self._change_speech(f"the endpoint knows no tools: {refused}")
        return asking.ask(self._talk, number)

    def _speaks_otherwise(self, answer: Answer) -> bool:
        """Whether a model that was offered tools, and has called none yet, writes calls."""
        native = isinstance(self._speech, Native) and self._chat.tools == "auto"
        if not native or self._called or answer.calls:
            return False
        return hints_at_calls(answer.text) or self._stuck.silent > 0

    def _change_speech(self, why: str) -> None:
        """From tool calls to text, from the beginning: nothing has been carried out yet."""
        self._say("from here on as text", why=why)
        self._speech = Textual(self.turn.role, self._offers)
        self._stuck = Stuck()
        self._begin()

    def _answered(self, answer: Answer, said: Said) -> Outcome | None:
        exchange = Exchange(said.message)
        self._talk.exchanges.append(exchange)
        if not said.calls:
            return self._silent(answer, said, exchange)
        self._called = self._called or isinstance(self._speech, Native)
        self._stuck.heard()
        done: list[tuple[Call, Result]] = []
        for call, result in self._carried_out(said, answer.cut):
            done.append((call, result))
            if outcome := self._over(result):
                return outcome
        exchange.results = self._speech.results(done, said.extra)
        return self._repeated(said, exchange)

    def _carried_out(self, said: Said, cut: bool) -> Iterator[tuple[Call, Result]]:
        for call in said.calls:
            self._hands.last = None
            result = self._do(call, cut)
            if self._hands.last is None:
                self._say("no command", tool=call.name, id=call.id, why=result.head)
            yield call, result

    def _do(self, call: Call, cut: bool) -> Result:
        problem = call.problem
        if not problem:
            try:
                offered = [offer.name for offer in self._offers]
                tool = parse_tool(call.name, call.arguments, self.turn.role, offered)
                return self._hands.do(tool)
            except InputError as error:
                problem = str(error)
        if cut:
            limit = self._chat.answer_tokens
            problem += f"; your answer was cut off, it may have {limit} tokens"
        return Result(f"error: {problem}", failed=True)

    def _over(self, result: Result) -> Outcome | None:
        """How the turn has ended with the last call, if it has."""
        last: Completed | None = self._hands.last
        if self.box.starved:
            return "memory"
        if last is not None and (last.violation or last.disk_full):
            return outcome_of(last)
        if self.left <= 0:
            return "timeout"
        return "done" if result.ends else None

    def _silent(self, answer: Answer, said: Said, exchange: Exchange) -> Outcome | None:
        """An answer without a call: the end, if it is meant so."""
        self._stuck.fell_silent()
        if said.text and not answer.cut and self._finished(said.text):
            return self._over(Result("", ends=True))
        if self._stuck.gone_silent:
            self._say("the model calls nothing", times=self._stuck.silent)
            return "failed"
        words = self._nudge(answer, said)
        self._say("nudge", words=words)
        exchange.results = [{"role": "user", "content": words}]
        return None

    def _finished(self, text: str) -> bool:
        """Whether the role has left what it must, or, told that it has not, says it now."""
        if self._hands.handed_over and self.turn.role != "verifier":
            return True
        if self._left_by_itself():
            return True
        if self._stuck.silent < 2 or self.turn.role == "verifier":
            return False
        return self._hands.do(Message(text=text)).ends

    def _left_by_itself(self) -> bool:
        """Whether the model wrote the file that ends its part without the tool for it."""
        return not self._left_before and self._hands.is_there(self._file)

    def _nudge(self, answer: Answer, said: Said) -> str:
        missing = self._speech.missing(said.text)
        if answer.cut:
            limit = self._chat.answer_tokens
            return f"Your answer was cut off: it may have {limit} tokens. {missing}"
        verifier = self.turn.role == "verifier"
        left = "given a verdict" if verifier else "left a message for the next role"
        empty = "" if said.text else "Your answer was empty. "
        return f"{empty}{missing} You have not yet {left}: {self._speech.ending}."

    def _repeated(self, said: Said, exchange: Exchange) -> Outcome | None:
        self._stuck.called(said.calls)
        if self._stuck.stuck:
            self._say("the model repeats itself", times=self._stuck.repeated)
            return "failed"
        if words := self._stuck.words():
            self._say("nudge", words=words)
            last = exchange.results[-1]
            last["content"] = clean(f"{last['content']}\n\n{words}")
        return None
