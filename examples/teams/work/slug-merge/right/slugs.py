"""The one way to turn text into part of an address."""

import re


def slugify(text, keep=""):
    """Return `text` in lower case, with `-` for all but letters, digits and `keep`."""
    return re.sub(rf"[^a-z0-9{re.escape(keep)}]+", "-", text.strip().lower()).strip("-")
