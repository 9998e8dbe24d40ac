import pytest
from usage import daily_totals


def test_summer_and_winter_in_one_bill():
    events = [
        ("2024-03-30T22:30:00Z", 1),
        ("2024-03-31T22:30:00Z", 10),
        ("2024-03-31T21:30:00Z", 3),
    ]
    assert daily_totals(events, "Mitte") == [
        ("2024-03-30", 1),
        ("2024-03-31", 3),
        ("2024-04-01", 10),
    ]


def test_the_hour_that_comes_twice():
    events = [("2024-10-26T21:59:59Z", 1), ("2024-10-26T22:00:00Z", 2), ("2024-10-27T22:59:59Z", 4)]
    assert daily_totals(events, "Mitte") == [("2024-10-26", 1), ("2024-10-27", 6)]


def test_times_with_an_offset():
    assert daily_totals([("2024-07-01T00:30:00+05:30", 4)], "Mitte") == [("2024-06-30", 4)]


def test_days_without_usage_are_listed():
    events = [("2024-02-28T12:00:00Z", 1), ("2024-03-02T12:00:00Z", 2)]
    assert daily_totals(events, "Mitte") == [
        ("2024-02-28", 1),
        ("2024-02-29", 0),
        ("2024-03-01", 0),
        ("2024-03-02", 2),
    ]


def test_any_order_and_none():
    assert daily_totals([], "Island") == []
    events = [("2024-01-02T12:00:00Z", 1), ("2024-01-01T12:00:00Z", 2)]
    assert daily_totals(events, "Mitte") == [("2024-01-01", 2), ("2024-01-02", 1)]


def test_a_time_without_offset_is_refused():
    with pytest.raises(ValueError):
        daily_totals([("2024-01-01T12:00:00", 1)], "Mitte")


def test_the_totals_are_a_list_and_nothing_that_only_says_so():
    assert type(daily_totals([("2024-01-01T12:00:00Z", 1)], "Mitte")) is list
