"""The whole fleet in one short answer: columns instead of an object per host.

Apart from ``HostView``, which says all of one host: of ten thousand hosts that would be
many megabytes, and a map needs a dozen numbers of each.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

STATES: Final = ("enabled", "disabled", "down", "stale")
"""What ``FleetMap.states`` counts in; see ``placement.usages.host_states``."""


class ClassColumns(Struct, frozen=True):
    """One resource class, by host: what its tree of providers has, and what is used."""

    capacity: tuple[int, ...]
    used: tuple[int, ...]


class Sets(Struct, frozen=True):
    """Which of ``names`` each host bears: ``of[i]`` is the number of its set in
    ``sets``, whose members are numbers in ``names``."""

    names: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    of: tuple[int, ...]


class FleetMap(Struct, frozen=True):
    """Hosts as columns of one length, in any order.

    ``place``: give it back as ``after`` to get only what changed since. ``is_whole``:
    these are all hosts; if not, others are as they were. ``at``: now; ``rows``: a
    number for each host, which may be another's when the host is gone; ``gone``: rows
    without a host. ``nodes`` None: named as the host. ``states``: numbers in STATES.
    ``zones``, ``zone``: names, and the number of each host's. ``aggregate_names``: by
    number in ``aggregates``. ``updated_at``: the last report, or None. ``metrics``: as
    reported, None where a host reports no such number. Of hosts without a provider the
    classes are what they report. Times are microseconds since the epoch.
    """

    place: str
    revision: int
    at: int
    is_whole: bool
    rows: tuple[int, ...]
    gone: tuple[int, ...]
    hosts: tuple[str, ...]
    nodes: tuple[str | None, ...]
    states: tuple[int, ...]
    zones: tuple[str, ...]
    zone: tuple[int, ...]
    aggregates: Sets
    aggregate_names: tuple[str, ...]
    traits: Sets
    updated_at: tuple[int | None, ...]
    instances: tuple[int, ...]
    classes: dict[str, ClassColumns]
    metrics: dict[str, tuple[float | None, ...]]
