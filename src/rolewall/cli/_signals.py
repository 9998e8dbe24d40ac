"""Asked to stop, from the first moment to the last."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rolewall.errors import Interrupted
from rolewall.interruption import SIGNALS, SPARED

__all__ = ["interruptible"]


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt as Ctrl-C does; what is ignored stays ignored.

    A second one leaves the clean-up that the first has begun alone, which has
    deadlines of its own; a third breaks it off. Afterwards the code is decided: an
    interrupted command only has that left to say, and of any other one more signal
    ends the process without a word.
    """
    heard = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    came = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came += 1
        if came != SPARED:
            raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, interrupt)
    afterwards = signal.SIG_DFL
    try:
        yield
    except (KeyboardInterrupt, Interrupted):
        afterwards = signal.SIG_IGN
        raise
    finally:
        for number in heard:
            signal.signal(number, afterwards)
