"""The program ``openstack`` with the osc-placement plug-in, as an operator runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from msgspec import Struct

PLUGIN = "openstack.placement.v1"


def plugin_commands() -> frozenset[str]:
    """All commands of osc-placement, as they are typed."""
    return frozenset(
        entry.name.replace("_", " ") for entry in entry_points(group=PLUGIN)
    )


class Ended(Struct, frozen=True):
    """What a command told, and its exit status."""

    code: int
    out: str
    err: str


class Program:
    """``openstack``, which takes longer to load than to do what it is asked; see
    ``forked``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clients.forked"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, words: list[str], environ: dict[str, str]) -> Ended:
        """A command, from its words, to its end."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(json.dumps({"words": words, "environ": environ}) + "\n")
        asked.flush()
        return Ended(**json.loads(told.readline()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class OpenStack:
    """Runs commands against one service at one microversion; keeps which."""

    def __init__(self, program: Program, url: str, version: str = "1.39") -> None:
        self._program = program
        kept = {key: value for key, value in os.environ.items() if key[:3] != "OS_"}
        self._environ = {
            **kept,
            "OS_AUTH_TYPE": "admin_token",
            "OS_TOKEN": "admin",
            "OS_ENDPOINT": url,
            "OS_PLACEMENT_API_VERSION": version,
        }
        self.has_run: set[str] = set()

    def at(self, version: str) -> OpenStack:
        """The same program at another microversion; what it ran counts for both."""
        other = OpenStack(self._program, self._environ["OS_ENDPOINT"], version)
        other.has_run = self.has_run
        return other

    def run(self, command: str, *arguments: str) -> Ended:
        """Run ``command`` with further ``arguments``, whatever comes of it."""
        words = [*command.split(), *arguments]
        for known in plugin_commands():
            if words[: len(known.split())] == known.split():
                self.has_run.add(known)
        return self._program.run(words, self._environ)

    def do(self, command: str, *arguments: str) -> None:
        """A command that succeeds, and of which nothing is asked."""
        self._succeed(command, *arguments)

    def ask(self, command: str, *arguments: str) -> Any:
        """The JSON that a command prints."""
        return json.loads(self._succeed(command, *arguments, "-f", "json"))

    def fail(self, command: str, *arguments: str) -> str:
        """What a command that is refused tells its user."""
        ended = self.run(command, *arguments)
        assert ended.code != 0, f"{command} was not refused: {ended.out}"
        return ended.out + ended.err

    def _succeed(self, command: str, *arguments: str) -> str:
        ended = self.run(command, *arguments)
        assert ended.code == 0, f"{command}: {ended.out}{ended.err}"
        return ended.out
