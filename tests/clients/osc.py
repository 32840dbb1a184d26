"""The program ``openstack`` with the osc-placement plugin, as an operator runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

PLUGIN = "openstack.placement.v1"


def plugin_commands() -> frozenset[str]:
    """All commands of osc-placement, as they are typed."""
    return frozenset(
        entry.name.replace("_", " ") for entry in entry_points(group=PLUGIN)
    )


class OpenStack:
    """Runs commands against one service at one microversion; keeps which."""

    def __init__(self, url: str, version: str = "1.39") -> None:
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
        other = OpenStack(self._environ["OS_ENDPOINT"], version)
        other.has_run = self.has_run
        return other

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``command`` with further ``arguments``, whatever comes of it."""
        words = [*command.split(), *arguments]
        for known in plugin_commands():
            if words[: len(known.split())] == known.split():
                self.has_run.add(known)
        program = Path(sys.executable).with_name("openstack")
        return subprocess.run(
            [str(program), *words],
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def do(self, command: str, *arguments: str) -> None:
        """A command that succeeds, and of which nothing is asked."""
        self._succeed(command, *arguments)

    def ask(self, command: str, *arguments: str) -> Any:
        """The JSON that a command prints."""
        return json.loads(self._succeed(command, *arguments, "-f", "json"))

    def fail(self, command: str, *arguments: str) -> str:
        """What a command that is refused tells its user."""
        ended = self.run(command, *arguments)
        assert ended.returncode != 0, f"{command} was not refused: {ended.stdout}"
        return ended.stdout + ended.stderr

    def _succeed(self, command: str, *arguments: str) -> str:
        ended = self.run(command, *arguments)
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout
