"""The operations of the plain door: a part of the table in ``operations``."""

from __future__ import annotations

from typing import Final

from gantt.model import operation_bodies as b
from gantt.model.demand_queue import DemandQuery, DemandsQuery, DemandView
from gantt.model.operation import Operation
from gantt.model.placements import PlacedQuery, Plan

PLACE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "placements_place",
        "POST /gantt/place",
        "Book a place for each thing that is asked for, all of them or none; under "
        "the same plan (or header Idempotency-Key) the same demand has the same "
        "answer. With wait_s one without room waits for it. Hosts and aggregates in it "
        "require gantt:hosts:choose, a priority and other projects gantt:claims:any.",
        rule="gantt:place",
        body=b.PlaceBody,
        answer=Plan,
        errors=(409,),
        work="search",
        name="place_demand",
        is_whole=True,
        is_preview=True,
    ),
    Operation(
        "placements_list",
        "GET /gantt/placements",
        "A page of what was placed by name, by uuid; that of other projects requires "
        "gantt:claims:any.",
        rule="gantt:placements:list",
        query=PlacedQuery,
        answer=b.Placements,
        work="list",
        narrow=("name", "plan"),
        name="list_placements",
        page="placement_page",
        is_whole=True,
        is_preview=True,
    ),
    Operation(
        "placements_confirm",
        "POST /gantt/placements/confirm",
        "What was placed with a lease stays, with all that was placed together with "
        "it.",
        rule="gantt:placements:confirm",
        body=b.PlacedBody,
        errors=(404, 409),
        name="confirm_placement",
        is_preview=True,
    ),
    Operation(
        "placements_release",
        "POST /gantt/placements/release",
        "Free what was placed: one thing, or all of a plan.",
        rule="gantt:placements:release",
        body=b.PlacedBody,
        errors=(404, 409),
        name="release_placement",
        is_preview=True,
    ),
    Operation(
        "demands_list",
        "GET /gantt/demands",
        "A page of demands that wait for room, the next one first, and of those that "
        "ended in the last hour; those of other projects require gantt:claims:any.",
        rule="gantt:demands:list",
        query=DemandsQuery,
        answer=b.Demands,
        work="list",
        name="list_demands",
        is_preview=True,
        page="demand_page",
        is_whole=True,
    ),
    Operation(
        "demands_show",
        "GET /gantt/demands/{uuid}",
        "A demand that waits for room: its place in the queue, why it waits, or what "
        "became of it; with wait_s once that is known, or after so long.",
        rule="gantt:demands:list",
        query=DemandQuery,
        answer=DemandView,
        errors=(404,),
        work="search",
        name="show_demand",
        is_preview=True,
    ),
    Operation(
        "demands_cancel",
        "DELETE /gantt/demands/{uuid}",
        "A demand that waits for room waits no more, and is not placed.",
        rule="gantt:demands:cancel",
        errors=(404, 409),
        name="cancel_demand",
        is_preview=True,
    ),
)
