"""Signals of ``gantt serve``, wherever the kernel delivers them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.live import STOP_S
from tests.programs import captured

# Its main thread sleeps, as granian's does; the signal goes to another one.
PROGRAM = """
import signal, sys, threading, time
from gantt.api.hosting.worker_processes import Processes
from gantt.api.hosting.run_directory import RunDirectory
from gantt.conf import load

def reread():
    print("read", flush=True)
    return load(environ={})

run = RunDirectory.begin(sys.argv[1])
processes = Processes("gantt", run=run, reread=reread, delay_s=0)
for hook in processes.hooks_startup:
    hook()
other = threading.Thread(target=time.sleep, args=(3600,), daemon=True)
other.start()
for place, number in enumerate(map(int, sys.argv[2:])):
    after_s = 0.2 + place / 2
    threading.Timer(after_s, signal.pthread_kill, (other.ident, number)).start()
print("stops" if processes.main_loop_interrupt.wait(20) else "sleeps", flush=True)
"""


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((signal.SIGTERM,), ["stops"]),
        ((signal.SIGINT,), ["stops"]),
        ((signal.SIGHUP, signal.SIGTERM), ["read", "stops"]),
    ],
    ids=["SIGTERM", "SIGINT", "SIGHUP and SIGTERM"],
)
def test_a_signal_that_another_thread_gets_is_heard(
    tmp_path: Path, numbers: tuple[signal.Signals, ...], told: list[str]
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run")]
    found = captured(
        [*command, *(str(int(one)) for one in numbers)],
        timeout=STOP_S,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert found.stdout.split() == told, found.stderr
