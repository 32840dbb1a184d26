"""Which services, server groups and aggregates of hosts are on a page."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from gantt.model.bounds import Name

MOST_LISTED: Final = 10_000
"""Of one page."""

Limit = Annotated[int, Meta(ge=1, le=MOST_LISTED)]


class ServiceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Services by host, then binary. ``marker``: "BINARY@HOST" of the last one of the
    page before; None: the first page."""

    host: Name | None = None
    binary: Name | None = None
    limit: Limit = 1_000
    marker: Name | None = None


class GroupQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Server groups by uuid. ``member``: only those with this instance. ``marker``: the
    uuid of the last one of the page before."""

    member: Name | None = None
    limit: Limit = 1_000
    marker: Name | None = None


class InstanceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Instances by uuid. ``host``: of its claim, else the one that names it; ``claim``:
    only those of this one; ``is_claimed``: only those that have a claim. ``marker``:
    the uuid of the last one of the page before."""

    uuid: Name | None = None
    host: Name | None = None
    claim: Name | None = None
    is_claimed: bool = False
    limit: Limit = 1_000
    marker: Name | None = None


class HostAggregateQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Aggregates of hosts by name, then uuid. ``uuid``: only this one; ``zone``: only
    those that make this availability zone. ``marker``: the uuid of the last one of the
    page before; one that is gone is refused."""

    uuid: Name | None = None
    host: Name | None = None
    zone: Name | None = None
    limit: Limit = MOST_LISTED
    marker: Name | None = None
