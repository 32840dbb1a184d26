"""``gantt.wsgi:application`` for any WSGI server (gunicorn, uWSGI, mod_wsgi, …).

Importing this has no effect. The first request reads the configuration (files and
environment, no command line) and opens the engine: by then a forking server has started
its workers, so that each has an engine of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gantt.api.call import Environ
    from gantt.api.middleware import StartResponse, WsgiApp

LOG = logging.getLogger(__name__)


class FirstRequest:
    """A WSGI application that is built when it is first called.

    If that fails, the next request tries again, so that the configuration can be
    corrected without a restart.
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
    from contextlib import ExitStack

    from gantt.api.hosting.server import open_app, warn_of_unknown
    from gantt.conf import ConfigSource
    from gantt.liveness.watcher_setup import watching
    from gantt.observe.log_file import begin_logging
    from gantt.stream.service_streams import publishing, taking_in

    settings = ConfigSource().load()
    # Logging that the server has configured is left alone.
    begin_logging(settings.log, "gantt")
    warn_of_unknown(settings)
    app, gantt = open_app(settings)
    stack = ExitStack()
    atexit.register(stack.close)
    stack.callback(gantt.close)
    stack.enter_context(watching(settings.coordination, gantt))
    stack.enter_context(taking_in(settings.stream, gantt))
    stack.enter_context(publishing(settings.stream, gantt))
    return app


application = FirstRequest(_open)
