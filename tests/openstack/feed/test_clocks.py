"""Nova's rows are judged by the clock of their database, not by this machine's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest

from gantt.openstack.feed.nova_connection import NovaDatabase
from tests.databases import Databases
from tests.kinds import SERVER_KINDS
from tests.openstack.feed import nova_databases
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.test_cloud_feed import allocate, hosted
from tests.waiting import until

Clock = Callable[..., datetime]
APART = timedelta(hours=1)


def plain_now(*_: object) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@pytest.fixture(params=[-APART, APART], ids=["behind", "ahead"])
def elsewhere(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> timedelta:
    """By how much Nova and its databases are apart from this machine."""
    apart: timedelta = request.param
    there: Clock = lambda *_: plain_now() + apart  # noqa: E731
    monkeypatch.setattr(NovaDatabase, "now", there)
    monkeypatch.setattr(nova_databases, "now", lambda: there().replace(microsecond=0))
    return apart


def has_vcpus(cloud: Cloud, count: int) -> bool:
    (host,) = cloud.books.list_hosts()
    return bool(host.stats["vcpus"] == count)


@pytest.mark.usefixtures("elsewhere")
def test_services_are_up_and_changes_seen_whatever_the_time_is_here(
    cloud: Cloud,
) -> None:
    cell = cloud.cell("one")
    node = cell.host("h1")
    feed = cloud.feed(feed_full_interval=0)
    states = cloud.books.totals()[1]
    assert (states["enabled"], states["down"]) == (1, 0)
    for vcpus in (65, 66):
        cell.change("compute_nodes", node, vcpus=vcpus)
        until(partial(has_vcpus, cloud, vcpus))
    assert 0 <= feed.counts()["lag_seconds"] < 60


@pytest.mark.usefixtures("elsewhere")
def test_an_audit_goes_by_when_a_cell_was_told_of(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    hosted(cloud, cell, "h1")
    cloud.feed()
    allocate(cloud, "h1", str(uuid4()))
    found = cloud.books.audit()
    assert (found.listing, found.findings) == (1, ()), "it may be about to start"


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_the_time_at_a_server(kind: str, databases: Databases) -> None:
    with (
        databases.database(kind, is_furnished=False) as url,
        closing(NovaDatabase("a cell", url, 5.0)) as database,
    ):
        assert abs(database.now() - plain_now()) < timedelta(seconds=60)
