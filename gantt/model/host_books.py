"""One host in the books: its tree of providers, who uses what of it, and its claims.

Apart from ``HostView``, which is what the host itself reports.
"""

from __future__ import annotations

from msgspec import Struct


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


class HostBooks(Struct, frozen=True):
    """``providers`` empty: the host has no provider here. ``consumers_left_out``:
    beyond the most that one answer lists. ``at``: now, in microseconds."""

    host: str
    node: str
    at: int
    providers: tuple[TreeProvider, ...]
    claims: tuple[HostClaim, ...]
    consumers_left_out: int = 0
