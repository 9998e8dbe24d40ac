from __future__ import annotations

import threading

from rolewall.sandbox.registry import interrupt_all, register


class Open:
    """Something to interrupt."""

    interrupted = False

    def interrupt(self) -> None:
        self.interrupted = True


def test_boxes_are_ended_while_others_open_some() -> None:
    go = threading.Event()

    def work() -> None:
        go.wait()
        for _ in range(20_000):
            register(Open())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    mine = [Open() for _ in range(200)]
    for each in mine:
        register(each)
    go.set()
    while any(thread.is_alive() for thread in threads):
        interrupt_all()
    assert all(each.interrupted for each in mine)
