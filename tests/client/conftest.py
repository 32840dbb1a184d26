"""Every implementation of GanttProtocol, for one suite."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from gantt.api.server import open_app
from gantt.client.remote import RemoteGantt
from gantt.conf import load
from gantt.connection import connect
from gantt.model.protocol import GanttProtocol

OTHER = "GANTT_TEST_PLACEMENT_URL"
KINDS = ["memory", "http", *(["other"] if os.environ.get(OTHER) else [])]
# The old defaults let the token admin reshape, which is for services otherwise.
CONFIGURATION = """
[placement_database]
connection = memory://
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


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Gantt's own WSGI application over books in memory."""
    file = tmp_path_factory.mktemp("service") / "gantt.conf"
    file.write_text(CONFIGURATION)
    settings = load([str(file)])
    app, books = open_app(settings)
    server = make_server(
        "127.0.0.1", 0, app, server_class=ThreadedServer, handler_class=QuietHandler
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    books.close()


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest) -> Callable[[], GanttProtocol]:
    """Opens the books of each kind."""
    if request.param == "memory":
        return lambda: connect("memory://")
    if request.param == "other":
        return lambda: RemoteGantt(os.environ[OTHER])
    url: str = request.getfixturevalue("service")
    return lambda: RemoteGantt(url)


@pytest.fixture
def books(opened: Callable[[], GanttProtocol]) -> Iterator[GanttProtocol]:
    """Books of each kind; those of a service are shared, so tests use new names."""
    found = opened()
    yield found
    found.close()
