"""A host that came back under another name or uuid takes over what the known one had.

Separate from ``hosts`` because no report says this: an operator does, who knows that it
is the same machine.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.bounds import Name


class Takeover(Struct, frozen=True):
    """What moves, or moved, from ``host``, ``node`` to ``new_host``, ``new_node``.

    ``provider_uuid``: of the resource provider, which stays with its inventories,
    ``traits`` and ``aggregates``, and gets the name ``provider_name``. ``allocations``:
    instance -> class -> amount, of its whole tree. ``reported_uuid``: what the agent
    calls that provider from now on; None: its uuid. ``claims``: instances whose claims
    move; ``instances``: those that the host named; ``services``: binaries whose state
    moves; ``host_aggregates``: Nova's aggregates, by uuid. ``is_disabled``: new
    instances are kept from it, as before. ``deleted_provider``: the one that the new
    identity had made for itself, without allocations.
    """

    host: Name
    node: Name
    new_host: Name
    new_node: Name
    provider_uuid: Name | None = None
    provider_name: str = ""
    reported_uuid: Name | None = None
    inventories: dict[str, int] = {}
    allocations: dict[str, dict[str, int]] = {}
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    host_aggregates: tuple[str, ...] = ()
    is_disabled: bool = False
    deleted_provider: Name | None = None
