"""What a demand is answered with: a place for each thing that it asked for."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from gantt.model.bounds import Name, Text
from gantt.model.demand import PlanName
from gantt.model.fleet_lists import Limit
from gantt.model.names import on_one_line
from gantt.model.paging import After

_MOST_SHOWN: Final = 3


class Placement(Struct, frozen=True, repr_omit_defaults=True):
    """One thing on its host. ``uuid``: by which consumer the books know it;
    ``allocations``: provider uuid -> class -> amount, empty where hosts are chosen by
    what they report."""

    name: str
    host: str
    node: str
    item: str
    uuid: str
    allocations: dict[str, dict[str, int]] = {}

    def __str__(self) -> str:
        return f"{self.name} on {self.host}"

    def __repr__(self) -> str:
        return on_one_line(f"<{type(self).__name__} {self}>")


class Plan(Struct, frozen=True):
    """``placements``: in the order of the items. ``plan``: its name, if it has one;
    ``claim``: what confirms and releases it as a whole; None: nothing was booked
    (``dry_run``). ``leased_until``: microseconds; None: it stays. ``ended``: names of
    what has ended since, where this is the answer to a demand that was asked before.
    ``demand``: the uuid under which it waits; "": it does not."""

    placements: tuple[Placement, ...]
    plan: str = ""
    claim: str | None = None
    leased_until: int | None = None
    ended: tuple[str, ...] = ()
    demand: str = ""

    def __str__(self) -> str:
        if self.demand:
            return f"waits as demand {self.demand}"
        return "\n".join(map(self._line, self.placements))

    def _line(self, one: Placement) -> str:
        return f"{one} (ended)" if one.name in self.ended else str(one)

    def __repr__(self) -> str:
        if self.demand:
            return f"<Plan that {self}>"
        shown = [self._line(one) for one in self.placements[:_MOST_SHOWN]]
        more = len(self.placements) - len(shown)
        shown += [f"{more} more"] if more > 0 else []
        named = f"{self.plan!r}: " if self.plan else ""
        return on_one_line(f"<Plan {named}{', '.join(shown)}>")


class PlacedView(Placement, frozen=True):
    """A placement as it is known. ``state``: ``leased``, ``placed``, or ``running``
    once its host names it; ``ended``: it does so no longer, and what it took is still
    booked."""

    plan: str = ""
    project: str = ""
    state: str = "placed"
    leased_until: int | None = None

    def __str__(self) -> str:
        plan = f" by the plan {self.plan!r}" if self.plan else ""
        return f"{super().__str__()} ({self.state}{plan})"


class PlacedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Placements by uuid. ``name``: of one; ``plan``: all of this one; ``project``:
    whose these names are."""

    name: Name | None = None
    plan: PlanName | None = None
    project: Annotated[Text | None, Meta(description="Default: all.")] = None
    limit: Limit = 1_000
    after: After = ""
