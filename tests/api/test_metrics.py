"""Counts of the engine as Prometheus reads them."""

from __future__ import annotations

import gantt
from gantt.api.app import build_app
from gantt.conf import load
from gantt.connection import open_gantt
from tests.api.wsgi_client import WsgiClient


def test_metrics_tell_limits_and_what_was_done() -> None:
    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://", gantt.EngineOptions(queue_length=7)) as books:
        client = WsgiClient(build_app(books, settings))
        before = client("GET", "/metrics").text
        books.create_provider("host")
        after = client("GET", "/metrics").text
    assert "gantt_queue_limit 7.0" in before
    assert "gantt_commands_total 1.0" in before
    assert "gantt_commands_total 2.0" in after
    assert "gantt_revision 2.0" in after
