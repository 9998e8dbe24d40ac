"""A report in a real browser: it is quiet, it is whole, and it can be read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.chromium, pytest.mark.bubblewrap]

# Of each element with text of its own: contrast of its colour with what is behind it, by WCAG.
CONTRAST = """
(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const found = rgb(getComputedStyle(e).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  let worst = [99, ''];
  for (const e of document.querySelectorAll('body, body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    if (['TITLE', 'DESC', 'title', 'desc'].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const ink = light(rgb(e instanceof SVGElement ? style.fill : style.color));
    const paper = light(behind(e));
    const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
    if (ratio < worst[0]) worst = [ratio, e.tagName + ' ' + e.textContent.slice(0, 40)];
  }
  return worst;
})()
"""
OVERFLOW = """
[...document.querySelectorAll('body *')].filter((e) => {
  if (e.closest('.wide, pre, .skip, svg')) return false;
  const box = e.getBoundingClientRect();
  return box.width && box.right > window.innerWidth + 1;
}).map((e) => e.tagName + ' ' + e.textContent.slice(0, 40))
"""
# Each link in turn, as a reader follows it: its target is there and can be seen.
DEAD = """
[...document.querySelectorAll('a[href]')].filter((a) => {
  location.hash = a.getAttribute('href');
  const target = document.querySelector(':target');
  return !target || !target.getClientRects().length;
}).map((a) => a.outerHTML)
"""
CUT = """
[...document.querySelectorAll('svg text')].filter((t) => {
  const box = t.getBoundingClientRect(), all = t.closest('svg').getBoundingClientRect();
  return box.left < Math.min(all.left, 0) - 1 || box.right > window.innerWidth + 1;
}).map((t) => t.textContent)
"""


@pytest.fixture(scope="module")
def page(
    real_run: Path, report: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    report(real_run, "-o", out, "--max-false-approval", "0.1")
    return out


@pytest.fixture(scope="module")
def tab(browser: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with browser.chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


def test_the_browser_has_nothing_to_complain_of_and_fetches_nothing(tab: Any, page: Path) -> None:
    tab.look(width=1100, dark=False)
    tab.open(page)
    assert tab.ask("document.readyState") == "complete"
    assert tab.complaints() == [page.as_uri()]
    assert tab.ask("document.scripts.length") == 0 and tab.ask("typeof hit") == "undefined"
    assert tab.ask("getComputedStyle(document.body).maxWidth") == "992px"  # the style is in force


def test_a_script_that_got_in_would_not_run(tab: Any, page: Path, tmp_path: Path) -> None:
    """The twin of the test above: the same page with markup that nothing escaped."""
    planted = tmp_path / "planted.html"
    marks = ("<script>window.hit = 1</script><img src='x' onerror='window.hit = 1'>"
             "<style>main { display: none }</style>")  # fmt: skip
    planted.write_text(page.read_text().replace("<main>", f"{marks}<main>"))
    tab.open(planted)
    assert tab.ask("window.hit === undefined")
    assert tab.ask("getComputedStyle(document.querySelector('main')).display") != "none"
    assert sum("Content Security Policy" in words for words in tab.complaints()) >= 3


def test_every_link_leads_to_something_that_is_seen(tab: Any, page: Path) -> None:
    tab.open(page)
    assert tab.ask("document.querySelectorAll('a[href]').length") > 40
    assert tab.ask(DEAD) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390], ids=["wide", "phone"])
def test_it_can_be_read(tab: Any, page: Path, tmp_path: Path, width: int, dark: bool) -> None:
    tab.look(width=width, dark=dark)
    tab.open(page)
    tab.ask("document.querySelectorAll('details').forEach((e) => { e.open = true })")
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.ask(OVERFLOW) == []
    assert tab.ask(CUT) == []
    ratio, where = tab.ask(CONTRAST)
    assert ratio >= 4.5, where
    paper = tab.ask("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    shot = tmp_path / "shot.png"
    tab.picture(shot)
    size, shades = _look(shot.read_bytes())
    assert size[0] == width and size[1] > 2000
    assert shades > 30


def _look(png: bytes) -> tuple[tuple[int, int], int]:
    """Width and height, and how many different pixels (of 4 bytes) it has at least."""
    width, height = struct.unpack(">II", png[16:24])
    data, place = b"", 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += 12 + length
    raw = zlib.decompress(data)
    return (width, height), len({raw[at : at + 3] for at in range(0, len(raw), 3001)})
