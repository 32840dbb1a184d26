"""The process that watches the workers of ``gantt scheduler``."""

from __future__ import annotations

import signal
import threading

import pytest

from gantt.conf import ConfigSource
from gantt.openstack.rpc.workers import Workers


def test_a_signal_that_another_thread_gets_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of two at once, when the first still waits for the main thread."""
    workers, is_over = Workers(ConfigSource(), 1, 1.0), threading.Event()
    monkeypatch.setattr(workers, "_start", lambda number: None)
    late: list[str] = []

    def stop_twice() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not is_over.wait(5):
            late.append("the main thread had to be told")
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    other = threading.Timer(0.5, stop_twice)
    other.start()
    assert workers.run()
    is_over.set()
    other.join()
    assert late == []
