"""Usage by day."""

from collections import Counter
from datetime import datetime

from zones import CHANGES


def daily_totals(events, zone):
    """Return (day, units) for each day of `zone`."""
    offset = CHANGES[zone][0][1]
    totals = Counter()
    for time, units in events:
        local = datetime.fromisoformat(time) + offset
        totals[local.date().isoformat()] += units
    return sorted(totals.items())
