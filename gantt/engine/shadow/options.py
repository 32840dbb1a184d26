"""The options of shadowing, as one frozen value."""

from __future__ import annotations

from msgspec import Struct


class ShadowOptions(Struct, frozen=True):
    """``shadow_settle_s``: how long a claim of Nova's is awaited. ``shadow_pending``:
    requests that await one, with ``shadow_pending_hosts`` hosts in all.
    ``shadow_hosts``: ranked hosts, and refused ones, that a record keeps;
    ``shadow_scored``: for so many of the best, differences are told by weigher.
    ``shadow_records``: kept by all processes of a database; ``shadow_backlog``: of a
    process, waiting to be written there."""

    shadow_settle_s: float = 30.0
    shadow_pending: int = 1_000
    shadow_pending_hosts: int = 2_000_000
    shadow_hosts: int = 10
    shadow_scored: int = 100
    shadow_records: int = 10_000
    shadow_backlog: int = 1_000
