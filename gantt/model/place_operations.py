"""The operations of the plain door: a part of the table in ``operations``."""

from __future__ import annotations

from typing import Final

from gantt.model import operation_bodies as b
from gantt.model.operation import Operation
from gantt.model.placements import PlacedQuery, Plan

PLACE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "placements_place",
        "POST /gantt/place",
        "Book a place for each thing that is asked for, all of them or none; under "
        "the same plan (or header Idempotency-Key) the same demand has the same "
        "answer. Hosts and aggregates in it require gantt:hosts:choose, other "
        "projects gantt:claims:any.",
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
)
