"""Cut a list of results into pages."""


def page(items, number, size):
    """Return page `number` (from 1) of `items`, at most `size` items long."""
    start = (number - 1) * size
    return items[start : start + size]


def page_count(items, size):
    """Return how many pages of `size` the `items` need."""
    return (len(items) + size - 1) // size
