"""A zone at two places of a box: one file has one name in the ledger."""

from __future__ import annotations

import pytest

from rolewall.policies import View, condition


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (b"/app", b"/workspace"),
        (b"/app/a/b", b"/workspace/a/b"),
        (b"/app/\xff", b"/workspace/\xff"),
        (b"/application", b"/application"),
        (b"/srv/app", b"/srv/app"),
        (b"/workspace/a", b"/workspace/a"),
    ],
)
def test_a_path_has_the_name_of_its_zone(path: bytes, named: bytes) -> None:
    plain = View.of(condition("enforced")(("executor", "verifier")), "verifier")
    view = View(plain.role, plain.zones, (("/app", "/workspace"),))
    assert View.from_json(view.to_json()) == view
    assert view.in_zone(path) == named
    assert plain.in_zone(path) == path
