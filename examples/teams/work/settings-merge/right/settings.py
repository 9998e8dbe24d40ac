"""Settings in layers."""

from copy import deepcopy


def merge(base, over):
    """Return the settings `base` with `over` laid over them.

    The result shares nothing that can change with its arguments.
    """
    result = deepcopy(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            below = result.get(key)
            result[key] = merge(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = deepcopy(value)
    return result
