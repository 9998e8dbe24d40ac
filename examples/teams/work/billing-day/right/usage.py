"""Usage by day."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from zones import offset_at


def daily_totals(events, zone):
    """Return (day, units) for each day of `zone`, days without usage included."""
    totals = Counter()
    for time, units in events:
        totals[_local_day(time, zone)] += units
    if not totals:
        return []
    first, last = min(totals), max(totals)
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [(day.isoformat(), totals[day]) for day in days]


def _local_day(time, zone):
    moment = datetime.fromisoformat(time)
    if moment.tzinfo is None:
        raise ValueError(f"the time has no offset: {time}")
    moment = moment.astimezone(UTC)
    return (moment + offset_at(zone, moment)).date()
