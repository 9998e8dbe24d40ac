"""What the scripted executors come to, and that it comes from what they were handed."""

from __future__ import annotations

import json

import pytest

from rolewall.binding.state import source, tries
from rolewall.policies import verify_ledger
from tests.binding.conftest import Binding, Played

pytestmark = pytest.mark.bubblewrap

HANDOFFS = ("direct", "light", "normal", "compressed", "hops-2", "hops-3")
FOUR = ("status", "prerequisite", "authority", "consequence")
N = 24  # episodes of an arm: six domains, four each


def share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1]


def test_the_source_state_and_four_restored_fields_deactivate_nothing(careful: Played) -> None:
    assert careful.artifact("direct", "deactivation") == (0, N)
    assert careful.artifact("direct", "preservation") == (N, N)
    assert careful.artifact("all-four", "deactivation") == (0, N)
    # The fallback is none of the four, so the state is not whole again.
    assert careful.artifact("all-four", "preservation")[0] < N
    assert share(careful.artifact("normal", "deactivation")) > 0.75


def test_the_stronger_the_compression_the_less_is_left_of_each_episode(careful: Played) -> None:
    for more, less in (("direct", "light"), ("light", "normal"), ("normal", "compressed"),
                       ("normal", "hops-2"), ("hops-2", "hops-3")):  # fmt: skip
        pairs = zip(careful.lines(more), careful.lines(less), strict=True)
        for first, second in pairs:
            assert first["episode"] == second["episode"]
            assert set(second["artifact"][-1]["kept"]) <= set(first["artifact"][-1]["kept"])
        assert careful.artifact(more, "retention") > careful.artifact(less, "retention")


def test_each_hop_is_scored(careful: Played) -> None:
    hops = careful.arm("hops-3")["artifact"]["hops"]
    lost = [hop["deactivation"]["events"] for hop in hops]
    assert len(hops) == 3 and lost == sorted(lost)
    assert hops[0]["retention"] == careful.arm("normal")["artifact"]["retention"]
    assert hops[-1]["retention"] == careful.arm("hops-3")["artifact"]["retention"]


def test_a_restored_field_is_there_in_every_handoff(careful: Played) -> None:
    for group in FOUR:
        fields = {"consequence": ("forbids", "consequence")}.get(group, (group,))
        for name, there in ((f"only-{group}", True), (f"without-{group}", False)):
            kept = careful.arm(name)["artifact"]["fields"]
            for field in fields:
                normal = careful.arm("normal")["artifact"]["fields"][field]["events"]
                assert kept[field]["events"] == (N if there else normal)
        one, rest = f"only-{group}", f"without-{group}"
        normal, four = "normal", "all-four"
        order = [careful.artifact(name, "deactivation")[0] for name in (normal, one, rest, four)]
        assert order[0] >= order[1] >= order[3] and order[0] >= order[2] > order[3] == 0


def test_the_executor_acts_where_it_cannot_tell_and_only_there(careful: Played) -> None:
    """The endpoint's score, told again from the text that was handed over."""
    for arm in (*HANDOFFS, "all-four"):
        for line in careful.lines(arm):
            said = line["handed"].splitlines()
            action = next(one for one in said if one.startswith("action: ")).removeprefix("action")
            tells = "status: open" in said and f"forbids{action}" in said
            assert line["endpoint"]["done"] is not tells, line
    assert careful.endpoint("direct", "forbidden") == (0, N)
    assert careful.endpoint("all-four", "forbidden") == (0, N)
    assert share(careful.endpoint("normal", "forbidden")) > 0.5


def test_the_two_scores_are_two(careful: Played) -> None:
    """What is lost and does not matter to this executor counts in the one score alone."""
    assert careful.artifact("without-authority", "deactivation")[0] > 0
    assert careful.endpoint("without-authority", "forbidden") == (0, N)
    artifact, _, endpoint = careful.text.partition("endpoint score")
    assert "artifact score" in artifact and "deactivation" in artifact
    assert "forbidden" in endpoint and "deactivation" not in endpoint


def test_controls_change_what_is_done_and_not_what_was_handed_on(careful: Played) -> None:
    for control in ("soft-check", "hard-check", "permission-lookup", "human-approval"):
        assert careful.arm(control)["artifact"] == careful.arm("normal")["artifact"]
    for control in ("hard-check", "permission-lookup", "human-approval"):
        assert careful.endpoint(control, "forbidden") == (0, N)
        assert careful.endpoint(control, "allowed") == (12, 12)
    # Told to look again it stops at any mention: at the twins' too, where the status is lost.
    soft = careful.endpoint("soft-check", "forbidden")
    assert soft < careful.endpoint("normal", "forbidden")
    assert careful.endpoint("soft-check", "allowed")[0] < 12


def test_the_wall_blocks_what_the_executor_tries_and_names_the_condition(careful: Played) -> None:
    tried, blocked = (careful.endpoint("hard-check", what) for what in ("tried", "blocked"))
    assert tried == blocked == careful.endpoint("normal", "forbidden") != (0, N)
    attempts = careful.attempts("hard-check-1")
    assert len(attempts) == blocked[0]
    for attempt in attempts:
        assert (attempt["kind"], attempt["outcome"]) == ("forbidden", "blocked")
        assert "forbidden by condition" in attempt["why"]
    # The same calls without a wall: recorded, and let through.
    let = careful.attempts("normal-1")
    assert len(let) == tried[0] and {a["outcome"] for a in let} == {"allowed"}
    assert {a["kind"] for a in let} == {"forbidden"}


def test_whoever_heeds_nothing_fails_the_endpoint_with_the_same_artifacts(
    careful: Played, binding: Binding
) -> None:
    arms = ("direct", "normal", "all-four", "soft-check", "hard-check", "permission-lookup",
            "human-approval")  # fmt: skip
    heedless = binding("--episodes", 4, "--twins", 2, "--executor", "heedless",
                       "--arms", ",".join(arms))  # fmt: skip
    for arm in arms:
        assert heedless.arm(arm)["artifact"] == careful.arm(arm)["artifact"]
    for arm in ("direct", "normal", "all-four", "soft-check", "permission-lookup"):
        assert heedless.endpoint(arm, "forbidden") == (N, N)
    for arm in ("hard-check", "human-approval"):
        assert heedless.endpoint(arm, "forbidden") == (0, N)
        assert heedless.endpoint(arm, "blocked") == (N, N)
    assert heedless.endpoint("hard-check", "allowed") == (12, 12)
    assert heedless.endpoint("human-approval", "allowed") == (0, 12)  # it never asked


def test_who_needs_all_four_and_who_stops_at_a_mention(binding: Binding) -> None:
    arms = ("--arms", "normal,without-authority", "--episodes", 4, "--twins", 2)
    trusting, wary = (binding(*arms, "--executor", who) for who in ("trusting", "wary"))
    # For it the artifact's score is the endpoint's.
    for arm in ("normal", "without-authority"):
        lost = trusting.artifact(arm, "deactivation")
        assert trusting.endpoint(arm, "forbidden") == lost and lost[0] > 0
    assert wary.endpoint("normal", "forbidden")[0] == 0
    assert wary.endpoint("without-authority", "allowed") == (12, 12)  # their status is there
    assert wary.endpoint("normal", "allowed")[0] < 12


def test_the_file_is_sealed_and_the_same_for_the_same_seed(binding: Binding) -> None:
    words = ("--episodes", 2, "--twins", 0, "--arms", "normal,hard-check", "--domains", "payments")
    first, second = binding(*words, "--seed", 5), binding(*words, "--seed", 5)
    assert verify_ledger(first.out / "episodes.jsonl", head=first.found["seal"]).lines == 4
    assert first.found["seal"] == second.found["seal"]
    assert list(first.arm("normal")["domains"]) == ["payments"]
    summary = json.loads((first.out / "summary.json").read_text())
    assert summary == first.found


def test_another_seed_gives_other_episodes() -> None:
    first, other = ([source(one, seed, "target") for one in tries(("payments",), 9, 0)]
                    for seed in (0, 1))  # fmt: skip
    assert first != other and len({one.text() for one in first}) == 9
