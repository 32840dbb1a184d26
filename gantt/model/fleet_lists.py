"""Which services, server groups, instances and aggregates of hosts are on a page.

``limit`` is of a list; a page of it has at most ``paging.PAGE`` of these. ``after``:
the ``next`` of the page before. ``marker``, which clients had before there was a
``next``, names the last one of the page before; ``after`` counts if both are given.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from gantt.model.bounds import Name
from gantt.model.paging import After

MOST_LISTED: Final = 10_000
"""Of one list; what follows is another, after its last one."""

Limit = Annotated[int, Meta(ge=1, le=MOST_LISTED)]


class ServiceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Services by host, then binary. ``marker``: BINARY@HOST."""

    host: Name | None = None
    binary: Name | None = None
    limit: Limit = 1_000
    marker: Name | None = None
    after: After = ""


class GroupQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Server groups by uuid. ``member``: only those with this instance. ``marker``: a
    uuid."""

    member: Name | None = None
    limit: Limit = 1_000
    marker: Name | None = None
    after: After = ""


class InstanceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Instances by uuid. ``host``: of its claim, else the one that names it; ``claim``:
    only those of this one; ``is_claimed``: only those that have a claim. ``search``: a
    part of their uuid or name, in capitals or not, or their project; these are also
    those that only have allocations. ``project_id``: only those of this one; ``names``:
    whether names are searched and shown. ``marker``: a uuid."""

    uuid: Name | None = None
    host: Name | None = None
    claim: Name | None = None
    is_claimed: bool = False
    limit: Limit = 1_000
    marker: Name | None = None
    after: After = ""
    search: Name | None = None
    project_id: Name | None = None
    names: bool = True


class HostAggregateQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Aggregates of hosts by name, then uuid. ``uuid``: only this one; ``zone``: only
    those that make this availability zone. ``marker``: a uuid; one that is gone is
    refused."""

    uuid: Name | None = None
    host: Name | None = None
    zone: Name | None = None
    limit: Limit = MOST_LISTED
    marker: Name | None = None
    after: After = ""
