"""SIGTERM and SIGINT end commands that run until then, or have started something.

Separate because several commands do. Signals are not blocked: threads that libraries
start before a command could block them would let them in, and end the program at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SOON_S: Final = 0.05


class StopSignal(threading.Event):
    """``number``: of the signal that set it."""

    number = 0


@contextmanager
def stop_signals() -> Iterator[StopSignal]:
    """An event that both signals set meanwhile; for the main thread."""
    ended = StopSignal()
    # A signal may interrupt this thread while it holds the lock of the event, which a
    # handler must not wait for.
    signals: SimpleQueue[int] = SimpleQueue()

    def end() -> None:
        ended.number = signals.get()
        ended.set()

    threading.Thread(target=end, name="gantt-stop", daemon=True).start()
    try:
        with _handled((signal.SIGTERM, signal.SIGINT), signals.put):
            yield ended
    finally:
        signals.put(0)


@contextmanager
def unwound() -> Iterator[None]:
    """SIGTERM and SIGHUP end what is within as Ctrl-C does, by an exception: what it
    started is stopped, its files are removed. Then the process ends by the signal. One
    that the caller ignores, as nohup does, stays ignored. For the main thread."""
    caught: list[int] = []

    def unwind(number: int) -> None:
        caught.append(number)
        raise SystemExit(128 + number)

    def unwind_again(_: int) -> None:
        raise SystemExit(128 + caught[0]) if caught else KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    usual = [one for one in numbers if signal.getsignal(one) is signal.SIG_DFL]
    try:
        with _handled(usual, unwind), _raised_again(unwind_again):
            yield
    finally:
        if caught:
            os.kill(os.getpid(), caught[0])


@contextmanager
def _handled(
    numbers: Iterable[signal.Signals], act: Callable[[int], object]
) -> Iterator[None]:
    def handle(number: int, _: FrameType | None) -> None:
        act(number)

    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _raised_again(act: Callable[[int], object]) -> Iterator[None]:
    """Within callbacks, as of garbage that is collected, Python ignores exceptions:
    where one of a signal is lost so, ``act`` is called soon afterwards."""

    def notice(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, (KeyboardInterrupt, SystemExit)):
            signal.setitimer(signal.ITIMER_REAL, _SOON_S)
        else:
            before(lost)

    with _handled((signal.SIGALRM,), act):
        before, sys.unraisablehook = sys.unraisablehook, notice
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = before
