"""Host aggregates over HTTP, as Nova has them."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import (
    DOCUMENT,
    AggregateQuery,
    AggregatesBody,
    Body,
    check_same,
    query,
)
from gantt.errors import NotFound
from gantt.model.fleet_lists import HostAggregateQuery
from gantt.model.forms.document import is_envelope
from gantt.model.forms.fleet import read_aggregates
from gantt.model.hosts import HostAggregate

_BODY = Body(AggregatesBody)


class Aggregates(Struct, frozen=True):
    """A page of host aggregates, by name.

    ``next``: continue after it; "": it is the last."""

    aggregates: tuple[HostAggregate, ...]
    next: str = ""


def list_(call: Call) -> Aggregates:
    """GET /gantt/aggregates"""
    asked = query(call, HostAggregateQuery)
    return Aggregates(*call.gantt.host_aggregate_page(asked))


def show(call: Call, uuid: str) -> HostAggregate:
    """GET /gantt/aggregates/{uuid}"""
    for aggregate in call.gantt.list_host_aggregates(HostAggregateQuery(uuid=uuid)):
        return aggregate
    raise NotFound(f"There is no host aggregate with uuid {uuid}.")


def update_all(call: Call) -> None:
    """PUT /gantt/aggregates: replaces those in the body and keeps all others."""
    call.gantt.set_host_aggregates(read_aggregates(_BODY.read(call).aggregates))


def update(call: Call, uuid: str) -> None:
    """PUT /gantt/aggregates/{uuid}"""
    body = DOCUMENT.read(call)
    given = body if is_envelope(body) else {"uuid": uuid, **body}
    (aggregate,) = read_aggregates([given])
    check_same("aggregate", uuid, aggregate.uuid)
    call.gantt.set_host_aggregates((aggregate,))


def delete(call: Call, uuid: str) -> None:
    """DELETE /gantt/aggregates/{uuid}"""
    call.gantt.delete_host_aggregate(uuid=uuid)


def delete_one_of(call: Call) -> None:
    """DELETE /gantt/aggregates?id="""
    asked = query(call, AggregateQuery)
    call.gantt.delete_host_aggregate(uuid=asked.uuid, number=asked.id)
