"""Gantt's WSGI application on a loopback port of this very process.

Quicker than ``tests.live``, for tests that need an address and no process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from gantt.api.app import build_app
from gantt.api.hosting.server import open_app
from gantt.client.remote import RemoteGantt
from gantt.conf import load
from gantt.engine.engine_protocol import Engine
from gantt.engine.gantt import Gantt
from gantt.model.protocol import GanttProtocol
from tests.configured import settings_of
from tests.http_server import answering

DOORS = ("memory", "http")
# The old defaults let the token admin reshape, which is for services otherwise.
CONFIGURATION = """
[placement_database]
connection = {connection}
[api]
auth_strategy = noauth2
[oslo_policy]
enforce_new_defaults = false
"""


class ThreadedServer(ThreadingMixIn, WSGIServer):
    """A thread per connection; a server for tests needs no more."""

    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    """Keeps no log and looks no host names up."""

    def log_message(self, *args: object) -> None:
        pass

    def address_string(self) -> str:
        return str(self.client_address[0])


@contextmanager
def served(app: Any, server_class: type[WSGIServer] = ThreadedServer) -> Iterator[str]:
    """The URL at which ``app`` answers."""
    server = make_server(
        "127.0.0.1", 0, app, server_class=server_class, handler_class=QuietHandler
    )
    with answering(server):
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def doors(books: Gantt) -> Iterator[RemoteGantt]:
    """The same books over HTTP."""
    app = build_app(books, load(environ={}, default_auth="noauth2"))
    with served(app) as url, RemoteGantt(url) as found:
        yield found


@contextmanager
def application(
    folder: Path, connection: str = "memory://", configured: str = ""
) -> Iterator[tuple[Any, Engine]]:
    """A service over these books, and its engine; its configuration is in ``folder``.
    ``configured``: further sections."""
    app, books = open_app(
        settings_of(folder, CONFIGURATION.format(connection=connection) + configured)
    )
    try:
        yield app, books
    finally:
        books.close()


@contextmanager
def service(
    folder: Path, connection: str = "memory://", configured: str = ""
) -> Iterator[str]:
    """The URL of such a service."""
    with application(folder, connection, configured) as (app, _), served(app) as url:
        yield url


@contextmanager
def opened(door: str, folder: Path, configured: str = "") -> Iterator[GanttProtocol]:
    """The library over books in memory, by one of ``DOORS``."""
    with application(folder, configured=configured) as (app, books):
        if door == "memory":
            yield books
            return
        with served(app) as url, RemoteGantt(url) as found:
            yield found
