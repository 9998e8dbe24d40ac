"""Settings in layers."""


def merge(base, over):
    """Return the settings `base` with `over` laid over them."""
    base.update(over)
    return base
