"""One cloud for all of the tests, one scheduler for each set-up.

Left out unless GANTT_CLOUD=1: ``make cloud`` makes the environment that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud.books import Books
from tests.cloud.cloud import Cloud
from tests.cloud.schedulers import SETUPS, WITH_SCENARIOS, Setup
from tests.cloud.tenant import Tenant

HERE = Path(__file__).parent


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Deselect this folder where no cloud is wanted, and otherwise what is not meant
    for a set-up."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    if os.environ.get("GANTT_CLOUD", "") not in {"", "0"}:
        ours = [item for item in ours if not _is_meant(item)]
    if ours:
        left = set(ours)
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=ours)


def _is_meant(item: pytest.Item) -> bool:
    """A module may name its set-ups in ``SETUPS``; by default all with scenarios."""
    assert isinstance(item, pytest.Function)
    meant = getattr(item.module, "SETUPS", WITH_SCENARIOS)
    return item.callspec.params["setup"] in meant


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Started for the first test; its logs stay in pytest's folder."""
    found = Cloud(tmp_path_factory.mktemp("cloud"))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="session")
def tenant(cloud: Cloud) -> Tenant:
    return Tenant(cloud.connection)


@pytest.fixture(scope="session")
def books(cloud: Cloud) -> Books:
    return Books(cloud)


@pytest.fixture(scope="session", params=SETUPS)
def setup(
    request: pytest.FixtureRequest, cloud: Cloud, tenant: Tenant, books: Books
) -> Iterator[Setup]:
    """Each scheduler in turn; at its end the books are audited, then emptied."""
    found = SETUPS[request.param](cloud)
    found.start()
    yield found
    books.check()
    books.audit()
    tenant.clear()
    books.check()
    assert not books.allocations()
    found.stop()


@pytest.fixture(autouse=True)
def settled(cloud: Cloud, setup: Setup, tenant: Tenant, books: Books) -> Iterator[None]:
    """Each test begins without servers, and ends with books that fit those left."""
    tenant.clear()
    yield
    cloud.check()
    books.check()
