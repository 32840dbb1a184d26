"""Segments of routed networks, whose aggregates a remote Placement has."""

from __future__ import annotations

import uuid as uuids

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost, Unavailable
from gantt.model.spec import RequestedNetwork, ScheduleRequest
from tests.elsewhere import Elsewhere, Shaky, Wall, ask, engine_on

SEGMENT = str(uuids.uuid4())
RACK = str(uuids.uuid4())


class Asked(Shaky):
    """Notes whose aggregates it is asked for."""

    failure: Exception | None = None

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.of: list[str] = []

    def aggregates(self, provider_uuid: str) -> frozenset[str]:
        self.of.append(provider_uuid)
        if self.failure is not None:
            raise self.failure
        return super().aggregates(provider_uuid)


def request(*segments: str) -> ScheduleRequest:
    network = RequestedNetwork("net", segments=frozenset(segments))
    return ask(requested_networks=(network,))


def routed(books: Shaky, wall: Wall) -> Gantt:
    return engine_on(
        books, wall=wall, query_placement_for_routed_network_aggregates=True
    )


def test_hosts_share_an_aggregate_with_the_segment(
    there: Elsewhere, wall: Wall
) -> None:
    books = Asked(there.url)
    with routed(books, wall) as engine:
        there.fleet(engine, "h1", "h2", "h3")
        there.books.create_provider("segment", uuid=SEGMENT)
        for uuid in (SEGMENT, there.providers["h2"]):
            generation = there.books.get_aggregates(uuid).generation
            there.books.set_aggregates(uuid, [RACK], generation=generation)
        ((chosen,),) = engine.schedule(request(SEGMENT))
        assert chosen.service_host == "h2"
        assert books.of == [SEGMENT]
        engine.schedule(request())
        assert books.of == [SEGMENT]
        with pytest.raises(NoValidHost, match="has no aggregate in Placement"):
            engine.schedule(request(SEGMENT, str(uuids.uuid4())))


def test_a_silent_placement_is_the_reason(there: Elsewhere, wall: Wall) -> None:
    books = Asked(there.url)
    books.failure = Unavailable("secret address")
    with routed(books, wall) as engine:
        there.fleet(engine, "h1")
        with pytest.raises(NoValidHost, match=r"network segments: No answer\.") as seen:
            engine.schedule(request(SEGMENT))
        assert "secret" not in seen.value.message
        (record,) = engine.decisions()
        assert record.failure == seen.value.message
        assert there.used() == 0
        books.failure = None
        with pytest.raises(NoValidHost, match="has no aggregate"):
            engine.schedule(request(SEGMENT))
