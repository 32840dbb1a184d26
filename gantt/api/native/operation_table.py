"""What answers each operation of ``gantt.model.operations``.

Where the row names a method of the library, that is called with what was sent. What
does more has a handler here, by the id of its operation: it takes the Call and the
fields of the path and returns the answer. What all have in common is in ``perform``.
"""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from gantt.api.call import Call
from gantt.api.native import (
    advise,
    claims,
    fleet,
    openapi,
    placements,
    records,
    redaction,
    select,
)
from gantt.api.native.arguments import arguments
from gantt.api.native.body_decoder import BodyDecoder, query
from gantt.model.operation import Operation
from gantt.model.operation_bodies import Enclosing

Handler = Callable[..., object]

_encode = msgspec.json.Encoder(order="deterministic").encode


def describe(_call: Call) -> dict[str, Any]:
    """GET /gantt/openapi.json"""
    return _description()


@functools.cache
def _description() -> dict[str, Any]:
    return openapi.document()


HANDLERS: Final[Mapping[str, Handler]] = {
    "table_describe": describe,
    "select_select": select.select,
    "advise_advise": advise.advise,
    "external_nova": advise.nova,
    "external_cinder": advise.storage,
    "external_manila": advise.storage,
    "placements_place": placements.place,
    "placements_list": placements.list_,
    "placements_confirm": placements.confirm,
    "placements_release": placements.release,
    "demands_list": placements.demands,
    "demands_show": placements.demand,
    "demands_cancel": placements.cancel_demand,
    "claims_confirm": claims.confirm,
    "claims_release": claims.release,
    "decisions_list": records.decisions,
    "audit_report": records.audit,
    "shadow_observe": records.observe,
    "shadow_list": records.shadows,
    "hosts_show": fleet.host,
    "hosts_update": fleet.update_host,
    "reports_take_in": fleet.take_in,
    "instances_list": fleet.instances,
    "aggregates_show": fleet.aggregate,
    "aggregates_update": fleet.update_aggregate,
    "aggregates_delete": fleet.delete_aggregate,
    "services_update": fleet.update_service,
    "server_groups_update": fleet.update_server_group,
}


def performer(one: Operation) -> Callable[..., None]:
    """What serves the route of ``one``."""
    handler = HANDLERS.get(one.known_as) or _calling(one)
    return functools.partial(perform, one, handler)


def perform(one: Operation, handler: Handler, call: Call, **fields: str) -> None:
    """Call the handler, and answer. Raises Problem and GanttError."""
    with call.gantt.bearing(call.request_id):
        answer = handler(call, **fields)
    if answer is None:
        call.no_content()
    else:
        call.reply(_encode(answer), modified_at=None)
        if one.is_long:
            call.compress()


def _calling(one: Operation) -> Handler:
    """A handler that calls the method of the library, or the engine's for a page."""
    body = None if one.body is None else BodyDecoder(one.body)
    shown = redaction.SHOWN.get(one.answer)

    def answered(call: Call, **fields: str) -> object:
        sent = [] if one.query is None else [query(call, one.query)]
        sent += [] if body is None else [body.read(call)]
        ask = functools.partial(call.gantt.answer, one, *fields.values())
        if one.is_whole:
            return _enclosed(one.answer, ask(*sent))
        named = ChainMap(*(arguments(call, each) for each in sent))
        if shown is None:
            return _enclosed(one.answer, ask(**named))
        with redaction.refusals(call):
            found = ask(**named)
        return shown(call, found)

    return answered


def _enclosed(kind: Any, found: Any) -> object:
    """The answer as ``kind`` has it: ``found``, or in its members."""
    if kind is None or not issubclass(kind, Enclosing):
        return found
    is_page = "next" in kind.__struct_fields__
    return kind(*found) if is_page else kind(found)
