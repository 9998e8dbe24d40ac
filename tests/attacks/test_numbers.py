"""The attacker's numbers of system calls are those that the filter is built from."""

from __future__ import annotations

from rolewall.attacks.payload.numbers import NUMBERS
from rolewall.sandbox.tap.syscalls import TABLE


def test_attacker_and_filter_mean_the_same_calls() -> None:
    """A wrong number would make an attempt that is refused for the wrong reason."""
    filtered = {row.name: (row.x86_64, row.aarch64) for row in TABLE}
    both = NUMBERS.keys() & filtered.keys()
    assert len(both) > 50
    assert {name: NUMBERS[name] for name in both} == {name: filtered[name] for name in both}
