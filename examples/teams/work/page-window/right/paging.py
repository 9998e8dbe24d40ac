"""Cut a list of results into pages."""


def page(items, number, size):
    """Return page `number` (from 1) of `items`, at most `size` items long.

    A number beyond the last page gives the last page.
    """
    if number < 1:
        raise ValueError(f"pages are numbered from 1, not {number}")
    start = (min(number, page_count(items, size)) - 1) * size
    return list(items[start : start + size])


def page_count(items, size):
    """Return how many pages of `size` the `items` need, at least one."""
    if size < 1:
        raise ValueError(f"a page holds at least one item, not {size}")
    return max(1, (len(items) + size - 1) // size)
