"""Invoice totals."""


def total(lines):
    """Return the sum of all lines with tax, with two decimals."""
    result = 0.0
    for net, rate in lines:
        result += round(float(net) * (1 + float(rate) / 100), 2)
    return f"{result:.2f}"
