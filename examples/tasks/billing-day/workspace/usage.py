"""Usage by day."""

from collections import Counter


def daily_totals(events, zone):
    """Return (day, units) for each day of `zone`."""
    totals = Counter()
    for time, units in events:
        totals[time[:10]] += units
    return sorted(totals.items())
