"""OpenStack Placement itself, from its installed package, in a process of its own.

For tests in which it runs before, beside and after Gantt on one database: it keeps its
engine and what it has synchronized in modules, so that a process has one database. It
makes its tables with its own migrations, and is asked through its own application.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.api.wsgi_client import Answer, WsgiClient

STOP_S = 30.0
ATTEMPTS = 20


class Placement:
    """Sends requests to a process that ``placement_on`` started."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(
        self, method: str, target: str, *, version: int = 39, body: object = None
    ) -> Answer:
        """Its answer. Raises AssertionError when the process has ended.

        On SQLite, Placement gives up when another process writes between its own read
        and write: it is asked again then, as a client would.
        """
        for _ in range(ATTEMPTS):
            answer = self._send([method, target, version, body])
            if answer.status != 500 or "database is locked" not in answer.text:
                break
        return answer

    def _send(self, request: list[object]) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"Placement has ended: {self._process.wait(STOP_S)}"
        status, reason, headers, text = json.loads(line)
        return Answer(status, reason, headers, text.encode())


@contextmanager
def placement_on(url: str) -> Iterator[Placement]:
    """Placement on ``url``, its tables brought to its own newest revision."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Placement(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(STOP_S)
        assert process.stdout is not None
        process.stdout.close()


def _serve(url: str) -> None:
    """Answer each line of standard input with a line on standard output."""
    from oslo_config import cfg
    from placement import conf, db_api, deploy
    from placement.db.sqlalchemy import migration
    from psycopg import Cursor

    options = cfg.ConfigOpts()
    conf.register_opts(options)
    for group, name, value in (
        ("placement_database", "connection", url),
        ("api", "auth_strategy", "noauth2"),
        ("oslo_policy", "enforce_new_defaults", False),
    ):
        options.set_override(name, value, group)
    options([], project="placement", default_config_files=[])
    if url.startswith("postgresql"):
        # Placement reads, and never uses, what cursors of psycopg 2 had.
        Cursor.lastrowid = 0  # type: ignore[attr-defined]
    db_api.configure(options)
    migration.upgrade("head")
    call = WsgiClient(deploy.loadapp(options))
    for line in sys.stdin:
        method, target, version, body = json.loads(line)
        answer = call(method, target, version=version, body=body)
        told = [answer.status, answer.reason, answer.headers, answer.text]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
