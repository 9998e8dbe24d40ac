"""How long to wait between attempts."""


def delays(attempts, base, cap):
    """Return the seconds to wait between `attempts` attempts."""
    if attempts < 1 or base <= 0:
        raise ValueError("at least one attempt, and a wait above 0")
    waits = []
    wait = base
    for _ in range(attempts - 1):
        waits.append(min(wait, cap))
        wait = min(wait * 2, cap)
    return waits
