"""A server of pages that may change after they were first asked for."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Pages:
    """``/ITEM`` is ``{"value": …}``: the first of its ``values``, at the next request the next,
    and the last from then on. Others are not found."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        asked: Counter[str] = Counter()
        lock = threading.Lock()
        values = self.values

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                item = self.path.strip("/")
                with lock:
                    n, known = asked[item], values.get(item)
                    asked[item] += 1
                body = json.dumps({"value": known[min(n, len(known) - 1)]} if known else {})
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Nothing is written."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
