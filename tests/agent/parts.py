"""What collectors may have found."""

from __future__ import annotations

from collections.abc import Iterable

from gantt.agent.collectors.contract import INVENTORIES, Part


def part(amounts: dict[str, int] | None = None, traits: Iterable[str] = ()) -> Part:
    """Amounts by resource class, and traits."""
    fields = {INVENTORIES[name]: total for name, total in (amounts or {}).items()}
    return Part({**fields, "traits": tuple(sorted(traits))})
