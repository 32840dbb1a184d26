"""How long the README takes, by the clock: from nothing to a refusal explained.

Usage: python -m tests.guides.first_steps [--out FILE]

Clones the last commit into a new folder, runs the README's first and last command
there, signs in to the dashboard and opens the refusal. Not part of `make test`: it
builds an environment, from the network, as a newcomer does.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.report import Row, tell
from tests.live import STOP_S, Live, free_port
from tests.programs import begun, captured
from tests.shown import blocks, document
from tests.tidy.source import ROOT
from tests.ui.browser import Chromium, Window

LONGEST_S: Final = 1200.0
MOST: Final = 5.0  # minutes
OPENED: Final = """
const row = [...document.querySelectorAll("tbody tr")]
  .find((one) => one.innerText.includes("refused"));
row?.querySelector("a, button")?.click();
return Boolean(row);
"""
_TELLS: Final = "return document.body.innerText.includes('instead of 99999999')"


class Clock:
    """Tells the minutes since it was made. ``rows``: what was reached so far."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.rows: list[Row] = []

    def at(self, what: str, most: float | None = None) -> None:
        """``what`` has been reached now; ``most``: in so many minutes at most."""
        minutes = (time.monotonic() - self._began) / 60
        print(f"{minutes:.2f} minutes: {what}", flush=True)
        is_met = None if most is None else minutes <= most
        goal = "" if most is None else f"≤ {most:g} minutes"
        self.rows.append(Row(what, goal, f"{minutes:.2f} minutes", is_met=is_met))


@contextmanager
def making(folder: Path, port: int) -> Iterator[str]:
    """``make run`` in ``folder``, until it answers; its URL."""
    ours = ("GANTT", "PYTHON", "VIRTUAL")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    log = folder.with_suffix(".log")
    with log.open("wb") as output:
        process = begun(
            ["make", "run", f"PORT={port}"], output, cwd=folder, env=environ
        )
    live = Live(f"http://127.0.0.1:{port}", "", process, log)
    try:
        deadline = time.monotonic() + LONGEST_S
        while f"The dashboard is at {live.url}" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield live.url
    finally:
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2 * STOP_S)
        live.kill()


def look(window: Window) -> None:
    """Sign in as a newcomer does, and open what was refused."""
    window.open(token=None)
    window.wait("return document.querySelector('input')?.offsetParent != null")
    window.run("document.querySelector('input').focus()")
    window.press("admin\n")
    window.wait(
        "const found = [...document.querySelectorAll('a')]"
        ".find((one) => one.innerText === 'Decisions'); found?.click(); return !!found;"
    )
    window.wait(OPENED)
    window.wait(_TELLS)


def main() -> None:
    """Say when each step was reached, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    out: Path | None = parser.parse_args().out
    tell("python -m tests.guides.first_steps", follow, out)


def follow() -> list[Row]:
    """The README's first and last command, and the dashboard."""
    commands = [
        one.text for one in blocks(document("README.md")) if one.language == "sh"
    ]
    assert commands[0] == "make run\n"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "gantt"
        clock = Clock()
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        with making(folder, free_port()) as url:
            clock.at("make run serves, and has launched a process")
            environ = {**os.environ, "GANTT_URL": url}
            said = captured(["sh", "-c", commands[-1]], cwd=folder, env=environ)
            assert "This would help: " in said.stderr, said
            clock.at("a request is refused and explained in the terminal")
            browser = Chromium()
            try:
                with browser.window(url) as window:
                    look(window)
                    clock.at("the same in the browser", MOST)
            finally:
                browser.close()
    return clock.rows


if __name__ == "__main__":
    main()
