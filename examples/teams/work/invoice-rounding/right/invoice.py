"""Invoice totals."""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def total(lines):
    """Return the sum of all lines with tax, with two decimals.

    Tax is rounded once for each rate, half a cent away from zero.
    """
    nets = defaultdict(Decimal)
    for net, rate in lines:
        nets[Decimal(rate)] += Decimal(net)
    result = sum((net + _cents(net * rate / 100) for rate, net in nets.items()), Decimal(0))
    return str(_cents(result) or Decimal("0.00"))


def _cents(amount):
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
