"""Bodies, queries and answers of Gantt's own operations, as HTTP carries them.

Request specs and host reports are passed on undecoded: ``model.forms`` reads them, for
the library and HTTP alike. Separate from ``operations``, whose rows name these.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field

from gantt.model.advice import AdviceHost, Mode, Operation, Stage
from gantt.model.artifacts import Artifact
from gantt.model.audit import GRACE_S, Finding, Findings, Grace, Kind
from gantt.model.bounds import Lease, Name, RequestId
from gantt.model.capacity import MOST_DAYS, By
from gantt.model.demand import Item, PlanName, Priority, ProjectName, WaitS
from gantt.model.demand_queue import DemandView
from gantt.model.demand_relations import ItemRelation
from gantt.model.diagnosis import Relaxation
from gantt.model.fleet import FleetRefusal
from gantt.model.hosts import HostAggregate, InstanceView, ServerGroup, Service
from gantt.model.paging import PAGE, After
from gantt.model.placements import PlacedView
from gantt.model.relations import TopologyKey
from gantt.model.reports import Report, ReportOutcome
from gantt.model.scheduling import Selections
from gantt.model.shadow import MOST_SHADOWS, Phase, Verdict
from gantt.model.spec import Flavor
from gantt.model.usage_history import EVER, MOST_RECORDS, Period, UsageRecord

MOST_DECISIONS: Final = 1_000_000
MOST_WAIT_S: Final = 60.0

Document = dict[str, Any]


def _either(native: str) -> Meta:
    """The schema in the OpenAPI document: the plain form, or Nova's."""
    names = (native, "NovaObject")
    refs = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return Meta(extra_json_schema={"anyOf": refs})


RequestForm = Annotated[
    Document,
    Meta(
        description="The plain form, the primitive of a Nova RequestSpec 1.x, or, "
        "with filter_properties, the old dict with instance_type.",
        extra_json_schema={
            "anyOf": [
                {"$ref": "#/components/schemas/RequestSpec"},
                {"$ref": "#/components/schemas/NovaObject"},
                {"type": "object", "required": ["instance_type"]},
            ]
        },
    ),
]
ReportForm = Annotated[Document, _either("HostStats")]
AggregateForm = Annotated[Document, _either("HostAggregate")]
InstanceForm = Annotated[Document, _either("Instance")]
ServiceForm = Annotated[Document, _either("Service")]
ServerGroupForm = Annotated[Document, _either("ServerGroup")]

_Records = Annotated[int, Meta(ge=0, le=MOST_DECISIONS)]
_At = Annotated[int, Meta(ge=0, le=EVER)]
_Limit = Annotated[int, Meta(ge=1, le=MOST_SHADOWS)]
_Time = Annotated[
    int, Meta(ge=0, le=EVER, description="Microseconds since the epoch, UTC.")
]
_Since = Annotated[
    str,
    Meta(
        description="REVISION, or REVISION-BATCHPREFIX as in the id of an event: "
        "start after it. Omitted: start now. The header "
        "Last-Event-ID takes precedence."
    ),
]
_Wait = Annotated[
    float,
    Meta(
        ge=0,
        le=MOST_WAIT_S,
        description="Return a page of events as JSON, as soon as there are any, "
        "or an empty one after this many seconds. Omitted: a stream "
        "of server-sent events.",
    ),
]


class Context(Struct, frozen=True):
    """On whose behalf; other fields of a context are ignored."""

    request_id: RequestId | None = None
    user_id: str | None = None
    project_id: str | None = None


class SelectBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/select. ``context``: on whose behalf, by default the caller's;
    without ``instance_uuids`` hosts are selected and nothing is claimed; ``given_up``:
    what a dry run does without, as the answer that refused the request names it;
    ``replaces``: claims of other requests for these instances make way."""

    request_spec: RequestForm
    filter_properties: Document | None = None
    instance_uuids: list[Name] | None = None
    return_alternates: bool = True
    dry_run: bool = False
    lease: Lease | None = None
    context: Context = Context()
    given_up: tuple[Relaxation, ...] = ()
    replaces: bool = False


class PlaceBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/place: a Demand. ``plan``: its name, which the header Idempotency-Key
    may give instead. ``wait_s``: where there is no room now, it waits for so long; the
    answer names the ``demand``, which GET /gantt/demands/{uuid} shows."""

    items: Annotated[tuple[Item, ...], Meta(min_length=1)]
    plan: PlanName = ""
    project: ProjectName | None = None
    lease_s: Lease | None = None
    dry_run: bool = False
    relations: tuple[ItemRelation, ...] = ()
    wait_s: WaitS | None = None
    priority: Priority = 0


class PlacedBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/placements/confirm and /release: the name of one, or of a plan."""

    name: PlanName = ""
    plan: PlanName = ""
    project: str | None = None


class CapacityBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/capacity: a request as for /gantt/select."""

    request_spec: RequestForm
    filter_properties: Document | None = None


class FairBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/capacity/fair: a request for each flavor, and a weight for each (by
    default all have the same)."""

    request_specs: list[RequestForm]
    weights: list[float] | None = None
    by: By = "fleet"


class RunsOutBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/capacity/runs-out: flavors, as requests; none: only classes."""

    request_specs: list[RequestForm] = []
    by: By = "fleet"
    horizon_days: Annotated[int, Meta(ge=1, le=MOST_DAYS)] = 30


class AdviseBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/advise. ``hosts``: in the caller's order; ``weights``: the caller's,
    by host; ``request_id``: by default that of the HTTP request."""

    spec: RequestForm
    hosts: tuple[AdviceHost, ...]
    weights: dict[Name, float] | None = None
    stage: Stage = "weigh"
    mode: Mode = "advise"
    operation: Operation | None = None
    instance_uuid: Name | None = None
    request_id: RequestId | None = None


class FeedTurnBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/fleet/turn. ``seen_beat``: without it, whose turn it is is told and
    nothing else."""

    holder: RequestId = ""
    seen_holder: RequestId = ""
    seen_beat: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class AggregatesBody(Struct, frozen=True, forbid_unknown_fields=True):
    """PUT /gantt/aggregates: HostAggregates, or primitives of Nova's Aggregate."""

    aggregates: list[AggregateForm]


class InstancesBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/instances/{host}: Instances, or primitives of Nova's Instance."""

    instances: list[InstanceForm]


class SyncBody(Struct, frozen=True, forbid_unknown_fields=True):
    """PUT /gantt/instances/{host}: all instances of the host."""

    instance_uuids: list[Name]


class ReportsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/reports: reports of agents, in order; each is answered by itself."""

    reports: list[Report]


class DecisionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/decisions. ``limit``: a page has at most 200 all the same."""

    request_id: str | None = None
    instance_uuid: str | None = None
    limit: _Records = 100
    after: After = ""


class HostsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/hosts: a page of all, or of those of a name."""

    host: str | None = None
    node: str | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE)] = PAGE
    after: After = ""


class AggregateQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """DELETE /gantt/aggregates. ``id``: its number in Nova."""

    uuid: str | None = None
    number: int | None = field(default=None, name="id")


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/audit. ``grace_s``: what is claimed for less may not run yet;
    ``limit``: of findings, of which an answer has at most 1,000; ``kinds``: only these,
    with commas between them; ``host``: only findings about it; ``max_age_s``: the last
    answer of the process that is asked will do if it is no older; 0: look now."""

    grace_s: Grace = GRACE_S
    limit: Findings = 1000
    kinds: str = ""
    host: str = ""
    after: After = ""
    max_age_s: Annotated[float, Meta(ge=0, le=3_600)] = 0.0


class RepairBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/audit/repairs: a finding as the audit told it. ``kinds``: host_gone
    is repaired only where this names it."""

    finding: Finding
    grace_s: Grace = GRACE_S
    kinds: tuple[Kind, ...] = ()


class TakeoverBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/takeovers: the known ``host`` came back as ``new_host``, or reports
    ``uuid``; "": as it was called."""

    host: Name
    new_host: str = ""
    node: str = ""
    new_node: str = ""
    uuid: Name | None = None
    dry_run: bool = False


class HostQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/host. ``node``: by default named as the host."""

    host: Name
    node: Name | None = None


class FleetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/fleet. ``after``: the place of an earlier answer; only what changed
    since is returned."""

    after: str | None = None


class ShadowBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/shadow/events. ``request_spec``: a request in any form, or the
    payload of Nova's notification; ``at``: when Nova asked, microseconds since the
    epoch (by default now)."""

    request_spec: RequestForm
    phase: Phase = "start"
    request_id: RequestId = ""
    at: _At | None = None
    instance_uuids: tuple[Name, ...] = ()


class ShadowTimes(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/shadow/report: requests from ``since`` up to, not including,
    ``until``."""

    since: _At | None = None
    until: _At | None = None


class ShadowRecordsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/shadow/records: also of one instance, request or verdict. ``limit``: a
    page has at most 200 all the same."""

    since: _At | None = None
    until: _At | None = None
    instance_uuid: str | None = None
    request_id: str | None = None
    verdict: Verdict | None = None
    limit: _Limit = 100
    after: After = ""


class UsageHistoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/usage-history. Periods begin at ``since`` or later, before ``until``;
    the answer has the latest ``limit`` records, in whole periods, and at least one.
    ``zone``: of its hosts alone; "": of all providers."""

    resource_class: str | None = None
    since: _Time | None = None
    until: _Time | None = None
    period: Period = "hour"
    limit: Annotated[int, Meta(ge=1, le=MOST_RECORDS)] = 1000
    zone: str = ""


class WatchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/watch."""

    since: _Since | None = None
    wait: _Wait | None = None


class Enclosing(Struct, frozen=True):
    """An answer that stands in an object, as its first member; ``next`` beside it:
    it is a page of a list."""


class Selected(Enclosing, frozen=True):
    """For each instance, in order: its host, then its alternates."""

    selections: Selections


class Placements(Enclosing, frozen=True):
    """A page of placements, by uuid. ``next``: continue after it; "": it is the
    last."""

    placements: tuple[PlacedView, ...]
    next: str = ""


class Demands(Enclosing, frozen=True):
    """A page of demands: those that wait, the next one first, then those that ended.
    ``next``: continue after it; "": it is the last."""

    demands: tuple[DemandView, ...]
    next: str = ""


class NamedFlavors(Enclosing, frozen=True):
    """In the order of the configuration."""

    flavors: tuple[Flavor, ...]


class UsageHistory(Enclosing, frozen=True):
    """Oldest first."""

    usage_history: tuple[UsageRecord, ...]


class Outcomes(Enclosing, frozen=True):
    """What became of each report, in their order."""

    outcomes: tuple[ReportOutcome, ...]


class Aggregates(Enclosing, frozen=True):
    """A page of host aggregates, by name.

    ``next``: continue after it; "": it is the last."""

    aggregates: tuple[HostAggregate, ...]
    next: str = ""


class Instances(Enclosing, frozen=True):
    """A page of instances, by uuid. ``next``: continue after it; "": it is the last.
    ``project_id``: the caller's, where it sees those of its own project only."""

    instances: tuple[InstanceView, ...]
    next: str = ""
    project_id: str | None = None


class Synced(Enclosing, frozen=True):
    """``known``: whether nothing had to change."""

    known: bool


class LabelsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """PUT /gantt/labels/{host}. ``labels``: key -> value; null takes the label away."""

    labels: dict[Name, Name | None] = {}


class RelationsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """PUT /gantt/relations/{uuid}. ``relations``: such as ``spread=rack:1:hard
    apart=rack:UUID``; "": none."""

    relations: str = ""


class DomainsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/domains. ``key``: only of this topology key."""

    key: Name | None = None


class ArtifactBody(Struct, frozen=True, forbid_unknown_fields=True):
    """PUT /gantt/artifacts/{name}. ``size``: bytes, or with a unit: "4GiB"."""

    size: int | str


class ArtifactsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/artifacts. ``name``: only this one."""

    name: Name | None = None


class Artifacts(Enclosing, frozen=True):
    """By name."""

    artifacts: tuple[Artifact, ...]


class TopologyKeys(Enclosing, frozen=True):
    """By key."""

    keys: tuple[TopologyKey, ...]


class Services(Enclosing, frozen=True):
    """A page of services, by host, then binary.

    ``next``: continue after it; "": it is the last."""

    services: tuple[Service, ...]
    next: str = ""


class Refused(Enclosing, frozen=True):
    """The parts of a statement that were refused; all others hold."""

    refused: tuple[FleetRefusal, ...]


class ServerGroups(Enclosing, frozen=True):
    """A page of server groups, by uuid.

    ``next``: continue after it; "": it is the last."""

    server_groups: tuple[ServerGroup, ...]
    next: str = ""
