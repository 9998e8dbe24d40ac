"""What an agent's own record lacks and its exchanges have."""

from __future__ import annotations

from rolewall.roles import TokenCounts, ToolCall, Trajectory, TrajectoryStep
from rolewall.trajectory.filling import filled

COUNTS = [TokenCounts(number, number, 0) for number in range(4)]
PROMPT = "# You are the verifier of `team`\n\nTask `t`"


def answer(text: str, *calls: str, tokens: TokenCounts | None = None) -> TrajectoryStep:
    asked = tuple(ToolCall(call, "run", {}) for call in calls)
    return TrajectoryStep("agent", text, calls=asked, tokens=tokens)


def trajectory(*steps: TrajectoryStep) -> Trajectory:
    return Trajectory("agent", "1", "agent", steps)


def exchanged(*steps: TrajectoryStep) -> Trajectory:
    told = TrajectoryStep("user", f"<reminder>\n{PROMPT}", time=7.0)
    return trajectory(TrajectoryStep("user", "what the program says"), told, *steps)


def test_the_prompt_is_the_first_step_and_tokens_are_of_the_answer_that_it_is() -> None:
    own = trajectory(
        answer("look", "a", tokens=TokenCounts(5)),
        answer("done"),
        TrajectoryStep("system", "ended"),
    )
    others = (answer("look", "b", tokens=COUNTS[3]), answer("done", "c", tokens=COUNTS[3]))
    mine = (answer("look", "a", tokens=COUNTS[1]), answer("done\n", tokens=COUNTS[2]))
    found = filled(own, exchanged(*others, *mine), "verifier").steps
    assert found[0] == TrajectoryStep("user", PROMPT, time=7.0)
    assert [step.tokens for step in found[1:]] == [COUNTS[1], COUNTS[2], None]


def test_what_is_there_already_and_what_is_not_sure_stays() -> None:
    own = trajectory(
        TrajectoryStep("user", "told"),
        answer("counted", tokens=COUNTS[1]),
        answer("twice"),
        answer("twice"),
        answer("of two"),
    )
    answers = [answer(text, tokens=COUNTS[3]) for text in ("counted", "twice", "of two", "of two")]
    assert filled(own, exchanged(*answers), "verifier") == own


def test_no_prompt_of_another_role_is_taken() -> None:
    own = trajectory(answer("done"))
    assert filled(own, exchanged(), "executor") == own
