"""``gantt.wsgi:application`` for any WSGI server (gunicorn, uWSGI, mod_wsgi, …).

Importing this does nothing. The first request reads the configuration (files and
environment, no command line) and opens the books: by then a forking server has made
its workers, and each gets an engine of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gantt.api.call import Environ
    from gantt.api.hosting.middleware import StartResponse, WsgiApp

LOG = logging.getLogger(__name__)


class FirstRequest:
    """A WSGI application that is built when it is first called.

    A configuration that cannot be used is tried again at the next request, so that
    it can be mended without a restart.
    """

    def __init__(self, build: Callable[[], WsgiApp]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._app: WsgiApp | None = None

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        app = self._app or self._built()
        return app(environ, start_response)

    def _built(self) -> WsgiApp:
        with self._lock:
            if self._app is None:
                try:
                    self._app = self._build()
                except Exception:
                    LOG.exception("Gantt cannot serve")
                    raise
            return self._app


def _open() -> WsgiApp:
    import atexit

    from gantt.api.hosting.server import open_app, warn_of_unknown
    from gantt.conf import Source
    from gantt.observe.logs import configure_logging

    settings = Source().load()
    # Where the server has set up logging for all, it stays as it is.
    configure_logging(debug=settings.log.debug, use_json=settings.log.use_json)
    warn_of_unknown(settings)
    app, gantt = open_app(settings)
    atexit.register(gantt.close)
    return app


application = FirstRequest(_open)
