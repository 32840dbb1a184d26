"""The HTTP layer without an engine: handlers that a test supplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gantt.api.access.access_policy import DefaultPolicy
from gantt.api.access.auth import noauth2
from gantt.api.app import build_routes
from gantt.api.call import Call, Door
from gantt.api.middleware import logged, mounted, with_health
from gantt.api.routes import Route
from gantt.conf import ApiOptions
from tests.api.wsgi_client import WsgiClient

NOW = 1_700_000_000


class Books:
    """Replaces the engine, as far as these tests use it."""

    ready = True

    def unready(self) -> str:
        return "" if self.ready else "the books cannot be read; the log says why"

    def notice(self) -> str:
        return ""

    def is_logged(self, error: object) -> bool:
        return False

    def counts(self) -> dict[str, float]:
        return {}

    def lag(self) -> int:
        return 0

    def totals(self) -> tuple[dict[str, tuple[float, float]], dict[str, int]]:
        return {}, {}

    def observe(self, observer: object) -> None:
        del observer  # nothing happens here


def client_for(
    handler: Callable[..., None],
    *,
    options: ApiOptions | None = None,
    routes: dict[str, dict[str, Route]] | None = None,
    books: Any = None,
) -> WsgiClient:
    """A client of a door where ``handler`` answers GET and PUT of /thing."""
    books = books or Books()
    table = routes or {"/thing": {"GET": Route(handler), "PUT": Route(handler)}}
    door = Door(
        gantt=books,
        options=options or ApiOptions(),
        policy=DefaultPolicy(),
        clock=lambda: float(NOW),
    )
    app = build_routes(door, noauth2, table)
    return WsgiClient(mounted(with_health(logged(app), books.unready)))


def answer_nothing(call: Call) -> None:
    call.reply({})
