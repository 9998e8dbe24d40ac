from concurrent.futures import ThreadPoolExecutor

import pytest
from ledger import Ledger


@pytest.fixture
def path(tmp_path):
    Ledger(tmp_path / "l.db").open_account("ana")
    return tmp_path / "l.db"


def test_once_across_a_restart(path):
    assert Ledger(path).apply("e1", "ana", 500) is True
    again = Ledger(path)
    assert again.apply("e1", "ana", 500) is False
    assert again.balance("ana") == 500


def test_once_for_many_at_the_same_time(path):
    def deliver(_):
        ledger = Ledger(path)
        return [ledger.apply(f"e{n}", "ana", 10) for n in range(5)]

    with ThreadPoolExecutor(4) as pool:
        answers = [answer for one in pool.map(deliver, range(4)) for answer in one]
    assert sum(answers) == 5
    assert Ledger(path).balance("ana") == 50


def test_a_failed_booking_can_be_repeated(path):
    ledger = Ledger(path)
    with pytest.raises(KeyError):
        ledger.apply("e1", "bo", 100)
    ledger.open_account("bo")
    assert ledger.apply("e1", "bo", 100) is True
    assert ledger.balance("bo") == 100


@pytest.mark.parametrize(("account", "cents"), [("ana", 501), ("bo", 500)])
def test_other_contents_under_the_same_event_are_refused(path, account, cents):
    ledger = Ledger(path)
    ledger.open_account("bo")
    ledger.apply("e1", "ana", 500)
    with pytest.raises(ValueError):
        ledger.apply("e1", account, cents)
    assert (ledger.balance("ana"), ledger.balance("bo")) == (500, 0)


def test_opening_an_account_again_keeps_its_balance(path):
    ledger = Ledger(path)
    ledger.apply("e1", "ana", 500)
    ledger.open_account("ana")
    assert ledger.balance("ana") == 500
