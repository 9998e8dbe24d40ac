import ast
from pathlib import Path

import blog
import pytest
import shop

BLOG = {
    "snake_case stays": "snake_case-stays",
    "__init__": "__init__",
    "  Ünïcode & more ": "n-code-more",
    "---": "",
    "a" * 40: "a" * 40,
}
SHOP = {
    "snake_case goes": "snake-case-goes",
    "***": "item",
    "": "item",
    "The longest name of a mug in this shop": "the-longest-name-of-a-mu",
    "The longest name of all x y": "the-longest-name-of-all",
}


@pytest.mark.parametrize(("text", "expected"), BLOG.items())
def test_blog_slugs_stay(text, expected):
    assert blog.slug(text) == expected


@pytest.mark.parametrize(("text", "expected"), SHOP.items())
def test_shop_slugs_stay(text, expected):
    assert shop.slug(text) == expected
    assert shop.product_path(text, 3) == f"/p/3/{expected}"


def imported(path):
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_one_implementation_is_left():
    assert not Path("legacy_slugs.py").exists()
    for path in ("blog.py", "shop.py"):
        assert "slugs" in set(imported(path))
        assert "re" not in set(imported(path))
