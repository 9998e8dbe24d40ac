"""Which calls the engine lets through to the tap, and which never get there."""

from __future__ import annotations

import json
from typing import Any

from rolewall.sandbox.docker.profile import Profile, tap_profile
from rolewall.sandbox.tap.syscalls import TABLE


def allowed(profile: dict[str, Any]) -> set[str]:
    rules = [rule for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    return {name for rule in rules if not rule.get("args") for name in rule["names"]}


def test_every_call_of_the_tap_but_clone3_reaches_it() -> None:
    names = {row.name for row in TABLE}
    assert names - allowed(json.loads(tap_profile())) == {"clone3"}


def test_clone3_is_told_to_be_absent_so_that_libraries_use_clone() -> None:
    rules = json.loads(tap_profile())["syscalls"]
    about = [rule for rule in rules if "clone3" in rule["names"]]
    assert about == [{"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]


def test_clones_arguments_are_left_to_the_tap() -> None:
    rules = json.loads(tap_profile())["syscalls"]
    assert [rule.get("args") for rule in rules if "clone" in rule["names"]] == [None]


def test_what_neither_the_default_nor_the_tap_knows_stays_refused() -> None:
    profile = json.loads(tap_profile())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not {"lookup_dcookie", "vmsplice_unknown", "nfsservctl"} & allowed(profile)


def test_ordinary_calls_stay_allowed() -> None:
    assert {"read", "write", "openat", "execve", "futex", "seccomp"} <= allowed(
        json.loads(tap_profile())
    )


def test_the_engines_default_is_no_option_and_has_no_digest() -> None:
    default = Profile("engine default", None)
    assert default.options() == []
    assert default.digest is None


def test_a_profile_is_passed_as_its_text_and_recorded_by_digest() -> None:
    profile = Profile("tap", "{}")
    assert profile.options() == ["seccomp={}"]
    assert profile.digest is not None
    assert len(profile.digest) == 64
