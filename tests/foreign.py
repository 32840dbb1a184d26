"""OpenStack Placement itself, from its installed package, in a process of its own.

For tests in which it runs before, beside and after Gantt on one database: it keeps its
engine and what it has synchronized in modules, so that a process has one database. It
makes its tables with its own migrations, and is asked through its own application.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from tests.api.wsgi_client import Answer, WsgiClient
from tests.forks import FORKS

STOP_S = 30.0
ATTEMPTS = 20


class Placement:
    """Sends requests to a process that ``placement_on`` started."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests

    def __call__(
        self, method: str, target: str, *, version: int = 39, body: object = None
    ) -> Answer:
        """Its answer. Raises AssertionError when the process has ended.

        On SQLite, Placement gives up when another process writes between its own read
        and write: it is asked again then, as a client would.
        """
        for _ in range(ATTEMPTS):
            answer = self._send((method, target, version, body))
            if answer.status != 500 or "database is locked" not in answer.text:
                break
        return answer

    def _send(self, request: tuple[str, str, int, object]) -> Answer:
        self._requests.send(request)
        try:
            answer = self._requests.recv()
        except EOFError:
            raise AssertionError("Placement has ended: see its traceback") from None
        assert isinstance(answer, Answer)
        return answer


@contextmanager
def placement_on(url: str) -> Iterator[Placement]:
    """Placement on ``url``, its tables brought to its own newest revision."""
    ours, theirs = FORKS.Pipe()
    process = FORKS.Process(target=_serve, args=(url, theirs))
    process.start()
    theirs.close()
    try:
        yield Placement(ours)
    finally:
        ours.close()
        process.join(STOP_S)
        process.close()


def _serve(url: str, requests: Connection) -> None:
    """Answer what comes until the other end is closed."""
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
    with suppress(EOFError):
        while True:
            method, target, version, body = requests.recv()
            requests.send(call(method, target, version=version, body=body))
