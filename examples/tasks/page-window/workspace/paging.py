"""Cut a list of results into pages."""


def page(items, number, size):
    """Return page `number` of `items`, at most `size` items long."""
    start = number * size
    return items[start : start + size]


def page_count(items, size):
    """Return how many pages of `size` the `items` need."""
    return len(items) // size + 1
