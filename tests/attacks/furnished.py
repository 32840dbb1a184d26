"""A database with all that the operations of /gantt may be asked about: hosts with
cells and devices, records of decisions, groups and aggregates."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from msgspec.structs import replace

from gantt.bench.bench_fleets import fleet_of
from gantt.bench.fleet_setup import furnish
from gantt.bench.gantt_side import filters_of, open_books
from gantt.engine.scheduling.shared_records import encode
from gantt.model.hosts import HostAggregate, ServerGroup
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.store import open_store
from gantt.store.interface import DECISIONS, SharedDecision
from tests.attacks.operations import PROJECT, RECORDS, instance

_AT_ONCE = 500
_AGGREGATES, _GROUPS = 50, 200


def furnished(path: Path, hosts: int, records: int = RECORDS) -> Path:
    """A database at ``path`` with so many hosts and records of decisions."""
    url = f"sqlite:///{path}"
    fleet = fleet_of("nested", hosts, is_mixed=True)
    filters = filters_of(fleet)
    with open_books(url, filters) as books:
        furnish(books, fleet, lambda _done, _all: None)
        names = [one.name for one in fleet.hosts]
        books.set_host_aggregates(
            HostAggregate(
                instance(100 + n), f"aggregate{n}", hosts=frozenset(names[n::50])
            )
            for n in range(_AGGREGATES)
        )
        for n in range(_GROUPS):
            members = frozenset(instance(1_000 * n + m) for m in range(20))
            group = ServerGroup(
                instance(1_000 + n), policy="anti-affinity", members=members
            )
            books.set_server_group(group)
        spec = RequestSpec(flavor=Flavor(1, 64, 0), project_id=PROJECT)
        shown = books.decide(ScheduleRequest(spec, (instance(1),)))
    shown = replace(shown, scores=shown.scores[:10])
    store = open_store(url)
    table = store.beside(DECISIONS)
    assert table is not None
    rows = []
    for number in range(records):
        uuid = str(uuid4())
        record = replace(
            shown,
            request_id=f"req-{uuid}",
            instance_uuids=(uuid,),
            at=shown.at + number,
            project_id=PROJECT,
        )
        rows.append(
            SharedDecision(
                process="attacks",
                number=number,
                at=record.at,
                request_id=record.request_id,
                project_id=PROJECT,
                is_refused=False,
                instances=1,
                instance_uuids=f",{uuid},",
                record=encode(record, None),
            )
        )
    for start in range(0, records, _AT_ONCE):
        table.append(rows[start : start + _AT_ONCE])
    store.close()
    return path
