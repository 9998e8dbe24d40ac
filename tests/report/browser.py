"""A headless Chromium, spoken to over two pipes: no driver and no port.

The DevTools protocol (https://chromedevtools.github.io/devtools-protocol/): each message is
JSON that ends with a zero byte, in at descriptor 3 and out at 4.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--hide-scrollbars", "--disable-extensions", "--mute-audio",
         "--disable-background-networking", "--remote-debugging-pipe")  # fmt: skip
SECONDS = 60.0
PLACED = (
    "import os, sys; [os.dup2(int(sys.argv[n]), n + 2) for n in (1, 2)];"
    " os.execv(sys.argv[3], sys.argv[3:])"
)


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Tab:
    """One page, and all that the browser had to say about it."""

    _write: int
    _read: int
    session: str = ""
    said: list[dict[str, Any]] = field(default_factory=list)
    _left: bytes = b""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.said.append(answer)

    def _next(self) -> dict[str, Any]:
        ends = time.monotonic() + SECONDS
        while b"\0" not in self._left:
            ready, _, _ = select([self._read], [], [], max(0, ends - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._read, 1 << 20)
            assert piece, "Chromium ended"
            self._left += piece
        line, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def wait(self, event: str) -> None:
        while not any(message.get("method") == event for message in self.said):
            self.said.append(self._next())

    def open(self, page: Path) -> None:
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.said.clear()
        self.call("Page.navigate", url=page.as_uri())
        self.wait("Page.loadEventFired")

    def look(self, *, width: int, dark: bool) -> None:
        """As on a screen of that width in that scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, whose own policy allows none."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path: Path) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Console errors, violations of the page's policy, requests that were made."""
        words = []
        for message in self.said:
            method, params = message.get("method", ""), message.get("params", {})
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                words.append(json.dumps(params)[:500])
            elif method == "Network.requestWillBeSent":
                words.append(params["request"]["url"])
        return words


@contextmanager
def chromium(home: Path) -> Iterator[Tab]:
    """A browser with one empty tab. Its profile is below ``home``, and it is gone after."""
    program = find_chromium()
    assert program, f"none of {', '.join(NAMES)} is installed"
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    # The protocol's descriptors are 3 and 4, whatever else is open here.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
    process = subprocess.Popen(
        [sys.executable, "-c", PLACED, *map(str, ends), program, *FLAGS,
         f"--user-data-dir={home / 'profile'}"],
        pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": str(home)},
    )  # fmt: skip
    for end in ends:
        os.close(end)
    os.close(to_browser)
    os.close(from_browser)
    try:
        tab = Tab(write, read)
        target = tab.call("Target.createTarget", url="about:blank")["targetId"]
        attached = tab.call("Target.attachToTarget", targetId=target, flatten=True)
        tab.session = attached["sessionId"]
        yield tab
        tab.session = ""
        os.write(write, b'{"id":0,"method":"Browser.close"}\0')
        process.wait(timeout=20)
    finally:
        process.kill()
        process.wait(timeout=20)
        os.close(write)
        os.close(read)
