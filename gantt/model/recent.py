"""What an operator looks for first: which hosts take no requests, and what changed.

Apart from ``FleetMap``, which has numbers of every host: this has words about the few
that are not as they should be, and about what happened lately.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

MOST_NAMED: Final = 200
"""Hosts, and changes, that an answer names; ``states`` and ``changed`` count all."""
MOST_REASONS: Final = 20
LONGEST_S: Final = 86_400.0


class RecentQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/recent. ``within_s``: how long ago the changes were at most."""

    within_s: Annotated[float, Meta(gt=0, le=LONGEST_S)] = 3_600.0


class HostOut(Struct, frozen=True):
    """A host that takes no requests, or whose agent is silent.

    ``state``: one of ``fleet_map.STATES``, or ``silent``: its agent's last list of what
    runs is older than it should be. ``since``: microseconds, at the earliest known;
    None: not known. ``by``: who says so, in words; ``reason``: as that one gave it.
    """

    host: str
    node: str
    state: str
    since: int | None
    by: str
    reason: str
    instances: int


class OutCount(Struct, frozen=True):
    """All hosts that are out in one ``state``, and their instances; ``first``: a host
    that is so for the longest, since ``since``."""

    state: str
    hosts: int
    instances: int
    first: str
    since: int | None


class FleetChange(Struct, frozen=True):
    """``what``: host, service, agent, operator, cell, liveness, switch, aggregate or
    group; ``now``: how it is since ``at``; ``is_new``: it came then."""

    at: int
    what: str
    name: str
    now: str
    is_new: bool


class RefusalCount(Struct, frozen=True):
    """Requests that were refused for one ``reason``: what would have had to be given
    up, else the filter that left no host. ``request_id``: of the latest, at ``at``."""

    reason: str
    count: int
    at: int
    request_id: str


class Recent(Struct, frozen=True):
    """Now, and since ``since`` (microseconds).

    ``out``: hosts, first those in a state that few are in, then those with the most
    instances; ``states``: the most hosts first, disabled ones last. ``changes``: the
    latest first; what is gone is not among them. ``refusals``: the most frequent first,
    of records since ``seen_since``: later than ``since`` where there were too many.
    ``versions``: of nova-compute -> how many say so. ``filters``: by which requests are
    decided since ``policy_since``, when this process began or took other options over;
    ``version``: its own.
    """

    at: int
    since: int
    out: tuple[HostOut, ...]
    states: tuple[OutCount, ...]
    changes: tuple[FleetChange, ...]
    changed: int
    refusals: tuple[RefusalCount, ...]
    placed: int
    refused: int
    seen_since: int
    versions: dict[str, int]
    filters: tuple[str, ...]
    policy_since: int
    version: str
