"""Offsets of the zones that we bill in, by the moment they begin (UTC)."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta

CHANGES = {
    "Mitte": [
        (datetime(2000, 1, 1, tzinfo=UTC), timedelta(hours=1)),
        (datetime(2024, 3, 31, 1, tzinfo=UTC), timedelta(hours=2)),
        (datetime(2024, 10, 27, 1, tzinfo=UTC), timedelta(hours=1)),
    ],
    "Island": [(datetime(2000, 1, 1, tzinfo=UTC), timedelta(hours=-9, minutes=-30))],
}


def offset_at(zone, moment):
    """Return the offset of `zone` from UTC at `moment`, an aware datetime."""
    changes = CHANGES[zone]
    return changes[bisect_right([begin for begin, _ in changes], moment) - 1][1]
