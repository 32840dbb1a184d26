"""Operations of a scheduler of others: Gantt advises it, and compares its answers.

A part of the table in ``operations``, by itself because other programs call it.
"""

from __future__ import annotations

from typing import Final

from gantt.model import operation_bodies as b
from gantt.model.advice import Advice
from gantt.model.forms.advice import Names, NovaBody, StorageBody
from gantt.model.operation import Operation
from gantt.model.shadow import ShadowPage, ShadowReport

ADVICE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "advise_advise",
        "POST /gantt/advise",
        "The hosts that were sent, in the order in which to try them, and what "
        "refuses the last ones; nothing is claimed. No token is needed from the "
        "networks of advice_from.",
        rule="gantt:advise",
        body=b.AdviseBody,
        answer=Advice,
        name="advise",
        is_whole=True,
    ),
    Operation(
        "external_nova",
        "POST /scheduler/nova/external",
        "The hosts that were sent, in the order in which to try them. No token is "
        "needed from the networks of advice_from.",
        rule="gantt:advise",
        body=NovaBody,
        answer=Names,
    ),
    Operation(
        "external_cinder",
        "POST /scheduler/cinder/external",
        "The backends that were sent, by the weights that were sent.",
        rule="gantt:advise",
        body=StorageBody,
        answer=Names,
    ),
    Operation(
        "external_manila",
        "POST /scheduler/manila/external",
        "The backends that were sent, by the weights that were sent.",
        rule="gantt:advise",
        body=StorageBody,
        answer=Names,
    ),
    Operation(
        "shadow_observe",
        "POST /gantt/shadow/events",
        "Nova begins to select hosts, or has selected them: decide beside it, and "
        "compare with what it claims.",
        rule="gantt:shadow:observe",
        body=b.ShadowBody,
        name="shadow_event",
        is_whole=True,
    ),
    Operation(
        "shadow_list",
        "GET /gantt/shadow/records",
        "What Gantt decided and what Nova then claimed, latest first.",
        rule="gantt:shadow:read",
        query=b.ShadowRecordsQuery,
        answer=ShadowPage,
        work="list",
        name="shadow_records",
    ),
    Operation(
        "shadow_report",
        "GET /gantt/shadow/report",
        "How far Gantt and Nova agree, where they differ and why, and what a switch "
        "would change.",
        rule="gantt:shadow:read",
        query=b.ShadowTimes,
        answer=ShadowReport,
        work="count",
        name="shadow_report",
    ),
)
