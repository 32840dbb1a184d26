"""How signals end commands: wherever they interrupt them, and each of several."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.programs import captured

WAIT_S = 60
# Two signals while the main thread has the lock of what it waits for.
_TWICE = """
import signal
from gantt.cli.stop_signals import stop_signals
with stop_signals() as ended:
    with ended._cond:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    print(ended.wait(30))
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""
_UNWOUND = """
import signal, time
from gantt.cli.stop_signals import unwound
with unwound():
    try:
        {interrupted}
        time.sleep(30)
        print("went on")
    finally:
        print("tidied", flush=True)
"""
_AT_ONCE = "signal.raise_signal({number})"
# Python ignores what is raised in a callback of garbage that is collected.
_IN_A_CALLBACK = """import weakref
        class One: pass
        one = One()
        kept = weakref.ref(one, lambda _: signal.raise_signal({number}))
        del one"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return captured([sys.executable, "-c", code], timeout=WAIT_S, preexec_fn=_heed)


def _heed() -> None:
    """As from a terminal: what a shell starts in the background ignores the one, and
    what nohup starts the other."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_no_signal_waits_for_the_lock_of_the_event() -> None:
    found = run(_TWICE)
    assert (found.stdout, found.stderr) == ("True\nTrue\n", "")


@pytest.mark.parametrize("where", [_AT_ONCE, _IN_A_CALLBACK])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_begun_is_tidied_before_the_signal_ends_it(
    number: signal.Signals, where: str
) -> None:
    found = run(_UNWOUND.format(interrupted=where.format(number=int(number))))
    assert (found.returncode, found.stdout) == (-number, "tidied\n"), found.stderr
    assert found.stderr == ""


@pytest.mark.parametrize("where", [_AT_ONCE, _IN_A_CALLBACK])
def test_ctrl_c_is_not_lost_in_a_callback(where: str) -> None:
    found = run(_UNWOUND.format(interrupted=where.format(number=int(signal.SIGINT))))
    assert found.stdout == "tidied\n", found.stderr
    assert "KeyboardInterrupt" in found.stderr


def test_a_signal_that_the_caller_ignores_is_ignored() -> None:
    code = _UNWOUND.format(interrupted=_AT_ONCE.format(number=int(signal.SIGHUP)))
    code = code.replace("sleep(30)", "sleep(0)")
    found = run(f"import signal\nsignal.signal(1, signal.SIG_IGN)\n{code}")
    assert (found.returncode, found.stdout) == (0, "went on\ntidied\n"), found.stderr


def test_what_else_a_callback_raises_is_told() -> None:
    callback = _IN_A_CALLBACK.format(number=999)
    found = run(_UNWOUND.format(interrupted=callback).replace("sleep(30)", "sleep(0)"))
    assert (found.returncode, found.stdout) == (0, "went on\ntidied\n")
    assert "Invalid argument" in found.stderr
