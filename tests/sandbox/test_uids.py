from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolewall.errors import BoxError
from rolewall.sandbox import uids
from rolewall.sandbox.uids import Identity, lease

root = pytest.mark.root


@root
def test_a_pair_is_leased_to_one_box_at_a_time() -> None:
    first, second = lease(own_init_uid=True), lease(own_init_uid=True)
    try:
        four = {first.role_uid, first.init_uid, second.role_uid, second.init_uid}
        assert len(four) == 4
        assert min(four) >= uids.FIRST_UID
        assert first.distinct and first.leased
    finally:
        first.release()
        second.release()


@root
def test_a_released_pair_is_leased_again() -> None:
    first = lease(own_init_uid=True)
    first.release()
    first.release()
    again = lease(own_init_uid=True)
    again.release()
    assert again.role_uid == first.role_uid


@root
def test_a_full_pool_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(uids, "POOL_DIRECTORY", tmp_path)
    monkeypatch.setattr(uids, "FIRST_UID", uids.FIRST_UID - 100)
    monkeypatch.setattr(uids, "PAIRS", 2)
    taken = [lease(own_init_uid=True) for _ in range(2)]
    with pytest.raises(BoxError, match="no free uid"):
        lease(own_init_uid=True)
    taken[0].release()
    lease(own_init_uid=True).release()
    taken[1].release()


@root
def test_a_pool_that_cannot_be_written_is_a_boxs_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(uids, "POOL_DIRECTORY", tmp_path / "file")
    with pytest.raises(BoxError, match="lease users") as caught:
        lease(own_init_uid=True)
    assert caught.value.place == str(tmp_path / "file")


def test_the_role_of_an_ordinary_user_is_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    apart, same = lease(own_init_uid=True), lease(own_init_uid=False)
    assert (apart.role_uid, apart.distinct) == (4711, True)
    assert (same.init_uid, same.distinct) == (4711, False)
    assert isinstance(same, Identity) and not same.leased
