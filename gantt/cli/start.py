"""Where the programs start. What they import takes a while, and Ctrl-C ends them in
silence then as well: by the signal itself, since nothing has begun that needs an end.

Apart from the programs because it must import none of that before.
"""

from __future__ import annotations

import signal
from importlib import import_module


def gantt() -> None:
    """The console script ``gantt``."""
    _run("gantt.cli.main")


def agent() -> None:
    """The console script ``gantt-agent``."""
    _run("gantt.cli.agent")


def launch() -> None:
    """The console script ``gantt-launch``."""
    _run("gantt.cli.launch")


def manage() -> None:
    """The console script ``gantt-manage``."""
    _run("gantt.cli.manage")


def status() -> None:
    """The console script ``gantt-status``."""
    _run("gantt.cli.status")


def _run(name: str) -> None:
    handler = signal.getsignal(signal.SIGINT)
    # Not where the caller ignores it, as nohup and shells in the background do.
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        program = import_module(name)
    finally:
        signal.signal(signal.SIGINT, handler)
    program.main()
