"""The programs, called in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gantt.cli.main import gantt
from tests import inprocess


class Program:
    """Calls a program with ``--url`` set by the environment, and reads its answer."""

    def __init__(self, program: click.Command, url: str) -> None:
        self._program = program
        self.url = url
        self._environ = {
            "GANTT_URL": url,
            "GANTT_TOKEN": "admin",
            "NO_COLOR": None,
            # A Gantt may be serving on the default port beside the tests.
            "OS_GANTT__LISTEN": "127.0.0.1:0",
        }

    def run(self, *arguments: str) -> Result:
        """Call it with any outcome; only exceptions of click may be raised."""
        result = CliRunner(env=self._environ).invoke(self._program, arguments)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def do(self, *arguments: str) -> str:
        """Its output, when it succeeds."""
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def ask(self, *arguments: str) -> Any:
        """The JSON that it prints."""
        return json.loads(self.do(*arguments, "-o", "json"))

    def fail(self, *arguments: str, status: int = 1) -> str:
        """Standard error when it exits with ``status``."""
        result = self.run(*arguments)
        assert result.exit_code == status, result.output
        assert "Traceback" not in result.output
        return result.stderr


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with inprocess.service(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture
def cli(service: str) -> Program:
    """``gantt`` against a service that all tests share; they use names of their own."""
    return Program(gantt, service)
