"""One host in full: its report, its tree of providers, who uses what of it, its claims.

Apart from ``HostView``, of which lists have thousands.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.hosts import HostView
from gantt.model.topology_view import HostTopologyView


class ClassUse(Struct, frozen=True):
    """The inventory of one class, and what of it is used; ``capacity``: what may be."""

    total: int
    reserved: int
    allocation_ratio: float
    capacity: int
    used: int


class TreeConsumer(Struct, frozen=True):
    """What one consumer uses on one provider. ``type`` None: unknown."""

    uuid: str
    project_id: str
    type: str | None
    resources: dict[str, int]


class TreeProvider(Struct, frozen=True):
    """One provider of a tree; those above it come first."""

    uuid: str
    name: str
    parent_uuid: str | None
    generation: int
    traits: tuple[str, ...]
    inventories: dict[str, ClassUse]
    consumers: tuple[TreeConsumer, ...]


class HostClaim(Struct, frozen=True):
    """A pending claim on the host: ``leased_until`` None: it is confirmed. What it
    takes is beyond the report; ``is_running``: the report counts the instance, and the
    claim holds its CPUs, cells and devices. Times are microseconds."""

    claim: str
    instance_uuid: str
    vcpus: int
    memory_mb: int
    disk_mb: int
    leased_until: int | None
    is_running: bool
    created_at: int | None


class WholeHost(Struct, frozen=True):
    """All that is known of a host, as of one moment, ``at`` (microseconds).

    ``providers`` empty: the host has no provider here. ``consumers_left_out``: beyond
    the most that one answer lists. ``names``: uuid -> name, of its instances and
    consumers whose names are known.
    """

    at: int
    view: HostView
    topology: HostTopologyView
    providers: tuple[TreeProvider, ...]
    claims: tuple[HostClaim, ...]
    consumers_left_out: int = 0
    names: dict[str, str] = {}
