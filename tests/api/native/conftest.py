"""A service with two hosts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from tests.api.native.fleet import client_of, report
from tests.api.wsgi_client import WsgiClient


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as books:
        yield books


@pytest.fixture
def client(books: Gantt) -> WsgiClient:
    client = client_of(books)
    report(client, "one", "two")
    return client
