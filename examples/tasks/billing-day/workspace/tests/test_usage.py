from usage import daily_totals


def test_late_evening_belongs_to_the_next_local_day():
    events = [("2024-01-10T12:00:00Z", 2), ("2024-01-10T23:30:00Z", 5)]
    assert daily_totals(events, "Mitte") == [("2024-01-10", 2), ("2024-01-11", 5)]


def test_west_of_utc():
    assert daily_totals([("2024-01-10T08:00:00Z", 1)], "Island") == [("2024-01-09", 1)]
