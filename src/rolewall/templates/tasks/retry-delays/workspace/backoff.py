"""How long to wait between attempts."""


def delays(attempts, base, cap):
    """Return the seconds to wait between `attempts` attempts."""
    return [base * 2.0**n for n in range(attempts)]
