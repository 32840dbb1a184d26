"""A service with two hosts."""

from __future__ import annotations

import pytest

from gantt.engine.gantt import Gantt
from tests.api.native.fleet import client_of, report
from tests.api.wsgi_client import WsgiClient


@pytest.fixture
def client(books: Gantt) -> WsgiClient:
    client = client_of(books)
    report(client, "one", "two")
    return client
