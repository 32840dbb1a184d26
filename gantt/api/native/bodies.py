"""Typed bodies and queries of the native API; refusals name the wrong field.

Request specs and host reports are passed on undecoded: ``model.forms`` reads them, for
the library and HTTP alike.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from gantt.api.call import Call
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params
from gantt.errors import Invalid
from gantt.model.advice import AdviceHost, Mode, Operation, Stage
from gantt.model.bounds import Lease, Name, RequestId
from gantt.model.capacity import MOST_DAYS, By
from gantt.model.diagnosis import Relaxation
from gantt.model.names import canonical
from gantt.model.paging import PAGE, After
from gantt.model.reports import Report

T = TypeVar("T")

MOST_RECORDS = 1_000_000

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

Records = Annotated[int, Meta(ge=0, le=MOST_RECORDS)]


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
    limit: Records = 100
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
    id: int | None = None


class Body(Generic[T]):
    """A type of body, with its decoder built once."""

    __slots__ = ("_decode",)

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, call: Call) -> T:
        """Raises Problem 400 (which names the field), 413, 415."""
        raw = call.json_body()
        try:
            return self._decode(raw)
        except msgspec.ValidationError as error:
            raise Problem(400, f"JSON does not validate: {error}") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise Problem(400, f"Malformed JSON: {error}") from None
        except RecursionError:
            raise Problem(400, "Malformed JSON: nested too deeply") from None


DOCUMENT: Body[Document] = Body(Document)


def query(call: Call, kind: type[T]) -> T:
    """The parameters of the query. Raises Problem 400, which names the parameter."""
    try:
        return msgspec.convert(Params(call.query_string).last, kind, strict=False)
    except msgspec.ValidationError as error:
        text = f"Invalid query string parameters: {error}"
        raise Problem(400, text) from None


def check_same(what: str, in_path: str, in_body: str) -> None:
    """Raises Invalid when the body names another object than the path."""
    if canonical(in_path) != canonical(in_body):
        raise Invalid(
            f"The path names {what} {in_path!r} and the body {in_body!r}: they must be "
            "the same."
        )
