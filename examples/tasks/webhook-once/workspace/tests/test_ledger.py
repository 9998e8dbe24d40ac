from ledger import Ledger


def test_an_event_is_booked_once(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_account("ana")
    assert ledger.apply("e1", "ana", 500) is True
    assert ledger.apply("e1", "ana", 500) is False
    assert ledger.balance("ana") == 500


def test_other_events_are_booked(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_account("ana")
    assert ledger.apply("e1", "ana", 500)
    assert ledger.apply("e2", "ana", -200)
    assert ledger.balance("ana") == 300
