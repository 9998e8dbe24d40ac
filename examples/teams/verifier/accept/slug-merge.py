"""Every point of the specification: the answers of the code as it was, on telling texts."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, "")
import blog
import shop


def as_it_was(text, kept=""):
    return re.sub(rf"[^a-z0-9{kept}]+", "-", text.strip().lower()).strip("-")


TEXTS = [
    "my_post", "A Mug", "  Ends  ", "-- x --", "__init__", "ÄÖ über", "a&b", "1,5 l", "", "!", "_",
    "x" * 99, "a" * 23 + " b", "a" * 24 + " b", "a" * 22 + "--b", "Tab\tand\nline", "UP_low-9",
]  # fmt: skip
for text in TEXTS:
    found = blog.slug(text)
    assert found == as_it_was(text, "_"), f"blog.slug({text!r}) is {found!r} (3)"
    wanted = as_it_was(text)[:24].rstrip("-") or "item"
    found = shop.slug(text)
    assert found == wanted, f"shop.slug({text!r}) is {found!r} (3)"
    found = shop.product_path(text, 7)
    assert found == f"/p/7/{wanted}", f"shop.product_path({text!r}, 7) is {found!r} (3)"
for name in ("blog.py", "shop.py"):
    source = Path(name).read_text(encoding="utf-8")
    assert re.search(r"^\s*(from slugs import|import slugs)", source, re.M), f"{name}: slugs (1)"
    assert not re.search(r"^\s*(import|from)\s+re\b", source, re.M), f"{name}: its own re (1)"
assert not os.path.lexists("legacy_slugs.py"), "the third copy is still there (2)"
