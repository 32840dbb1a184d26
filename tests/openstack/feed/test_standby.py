"""Of several feeds of one Gantt one reads, and another takes over where it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import gantt
from gantt.client.exchange import NoSuchRoute
from gantt.conf.feed_settings import FeedOptions
from gantt.model.protocol import GanttProtocol
from gantt.openstack.feed import Feed, Standby, standby
from tests import inprocess
from tests.openstack.feed.conftest import Cloud
from tests.waiting import until

SILENCE_S = 1.0
LOOKS_PER_SILENCE = standby.SILENCE_S / standby._LOOK_S  # before ``quick``


class Running:
    """A ``gantt feed``, in a thread; ``waited``: whether it stood by at first."""

    def __init__(self, cloud: Cloud, books: GanttProtocol) -> None:
        options = FeedOptions(api_url=cloud.api.url, feed_interval=0.1)
        self.started: list[float] = []
        self.waited = False
        self.feeds = Standby(
            books,
            lambda: Feed(options, books),
            lambda _, took: self.started.append(took),
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.feeds.run(lambda: setattr(self, "waited", True), self._end)

    def stop(self) -> None:
        """As SIGTERM does."""
        self._end.set()
        self._thread.join()
        self.feeds.close()

    def die(self) -> None:
        """As SIGKILL does: it says nothing any more."""
        self.feeds._over.set()
        self.feeds._feed.stop()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "SILENCE_S", SILENCE_S)
    monkeypatch.setattr(standby, "_LOOK_S", 0.1)


@pytest.fixture
def two(cloud: Cloud, tmp_path: Path) -> Iterator[tuple[Running, Running]]:
    """The first feeds already; each has a connection to the service of its own."""
    cloud.cell("one").host("h1")
    with ExitStack() as stack:
        url = stack.enter_context(inprocess.service(tmp_path))
        found = []
        for _ in range(2):
            books = stack.enter_context(closing(gantt.connect(url)))
            one = Running(cloud, books)
            stack.callback(one.stop)
            found.append(one)
            until(lambda one=one: bool(one.started or one.waited), 30)  # type: ignore[misc]
        first, second = found
        assert (len(first.started), first.waited, second.waited) == (1, False, True)
        yield first, second


def test_the_second_reads_nothing_and_is_ready(two: tuple[Running, Running]) -> None:
    first, second = two
    assert first.feeds.counts()["standby"] == 0
    assert first.feeds.counts()["statements"] > 0
    counts = second.feeds.counts()
    assert (counts["standby"], counts["rounds"], counts["statements"]) == (1, 0, 0)
    assert (first.feeds.unready(), second.feeds.unready()) == ("", "")
    assert second.feeds.notice() == "another feed reads: standby"


def test_it_takes_over_from_one_that_ends(
    two: tuple[Running, Running], cloud: Cloud
) -> None:
    first, second = two
    first.stop()
    until(lambda: second.started != [], 30)
    cloud.cell("two").host("h2")
    until(lambda: second.feeds.counts()["hosts"] == 2, 30)
    assert len(first.started) == 1


def test_it_takes_over_from_one_that_is_killed(two: tuple[Running, Running]) -> None:
    first, second = two
    first.die()
    until(lambda: second.started != [], 30)
    assert second.feeds.counts()["standby"] == 0


def test_one_that_stood_still_stands_by_when_it_goes_on(
    two: tuple[Running, Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    look, goes_on = first.feeds._look, threading.Event()
    monkeypatch.setattr(first.feeds, "_look", lambda: goes_on.wait(30) and look())
    until(lambda: second.started != [], 30)
    goes_on.set()
    until(lambda: first.feeds.counts()["standby"] == 1, 30)
    until(lambda: first.feeds.counts()["rounds"] == 0, 30)
    assert second.feeds.counts()["standby"] == 0
    second.die()
    until(lambda: len(first.started) == 2, 30)


def test_one_that_could_not_ask_stands_by_as_soon_as_it_can(
    two: tuple[Running, Running],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = two
    look = first.feeds._look

    def fails() -> None:
        if not second.started:
            raise ValueError("unexpected")
        look()

    monkeypatch.setattr(first.feeds, "_look", fails)
    until(lambda: second.started != [], 30)
    until(lambda: first.feeds.counts()["standby"] == 1, 30)
    assert second.feeds.counts()["standby"] == 0
    assert "ValueError: unexpected" in caplog.text


def test_it_asks_some_times_before_it_is_missed_and_not_each_second() -> None:
    assert 3 <= LOOKS_PER_SILENCE <= 4


def test_a_service_of_an_earlier_release_is_fed_by_all(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.cell("one").host("h1")

    def unknown(*_: object, **__: object) -> None:
        raise NoSuchRoute("Not Found")

    with closing(gantt.connect("memory://")) as books, ExitStack() as stack:
        monkeypatch.setattr(books, "feed_turn", unknown)
        for _ in range(2):
            one = Running(cloud, books)
            stack.callback(one.stop)
            until(lambda one=one: one.started != [], 30)  # type: ignore[misc]
