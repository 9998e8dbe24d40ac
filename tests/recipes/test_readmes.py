"""The recipes' own pages: each stands in the index, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "recipes"
PAGES = sorted(RECIPES.glob("*/README.md"))
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def test_every_recipe_has_a_page_and_stands_in_the_index() -> None:
    index = (RECIPES.parent / "docs" / "recipes.md").read_text("utf-8")
    folders = [path for path in RECIPES.iterdir() if path.is_dir()]
    assert folders and {page.parent for page in PAGES} == set(folders)
    assert all(f"(../recipes/{folder.name}/README.md)" in index for folder in folders)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
