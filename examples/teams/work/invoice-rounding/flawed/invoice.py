"""Invoice totals."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def total(lines):
    """Return the sum of all lines with tax, with two decimals."""
    result = Decimal(0)
    for net, rate in lines:
        gross = Decimal(net) * (1 + Decimal(rate) / 100)
        result += gross.quantize(CENT, rounding=ROUND_HALF_UP)
    return str(result)
