"""A live service for clients that are not ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.osc import Program
from tests.live import Live, served


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One ``gantt serve`` for all clients; they use names of their own."""
    with served(tmp_path_factory.mktemp("live")) as live:
        yield live


@pytest.fixture(scope="session")
def program() -> Iterator[Program]:
    """The program ``openstack``."""
    program = Program()
    yield program
    program.close()
