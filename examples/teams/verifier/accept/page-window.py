"""Points 3, 4 and 5 of the specification."""

import sys

sys.path.insert(0, "")
from paging import page, page_count

assert page_count([], 5) == 1, "an empty list must have one page"
assert page([1, 2, 3], 9, 2) == [3], "beyond the last page must be the last page"
try:
    page([1, 2, 3], 0, 2)
except ValueError:
    pass
else:
    raise AssertionError("page 0 must be refused")
