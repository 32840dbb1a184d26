"""How many more of several flavors fit together, the price of rules, and forecasts."""

from __future__ import annotations

from typing import Final, Literal, get_args

from msgspec import Struct

from gantt.model.diagnosis import Relaxation
from gantt.model.usage_history import Period

By = Literal["fleet", "zone", "aggregate"]
BY: Final = get_args(By)


class Share(Struct, frozen=True):
    """What one flavor gets. ``more``: how many fit beside the shares of the others;
    ``alone``: if no other flavor got any. ``zones``, ``aggregates`` (which may
    overlap), ``hosts``: where these are, by name. ``limits``: what blocks one more ->
    on how many hosts, as in ``Capacity``. ``is_lower_bound``: counting ended at one of
    the options in ``limits``."""

    flavor: str
    weight: float
    more: int
    alone: int
    zones: dict[str, int] = {}
    aggregates: dict[str, int] = {}
    hosts: dict[str, int] = {}
    limits: dict[str, int] = {}
    is_lower_bound: bool = False


class Split(Struct, frozen=True):
    """The hosts of ``name``, a zone or an aggregate ("": of the fleet), divided.

    ``shares``: in the order in which the flavors were given. ``level``: the least
    ``more / weight`` of a flavor that fits at all; ``level_bound``: no split has a
    higher one.
    """

    name: str
    shares: tuple[Share, ...]
    level: float = 0.0
    level_bound: float = 0.0


RuleKind = Literal["request", "filter", "option", "ratio", "reserved", "units"]


class Price(Struct, frozen=True):
    """What one rule costs: ``more`` instances than now would fit without it; below
    zero: so many fit only thanks to it. ``zones``, ``aggregates`` (which may overlap):
    the same by name, where it is not 0.

    ``kind``: "request": the request asks for it (``given_up`` says it as a dry run
    takes it); "filter": the enabled filter ``name``; "option": an option of the
    scheduler that adds conditions; "ratio", "reserved", "units": allocation ratios
    other than 1, reserved amounts, and units of inventories of the class ``name``.
    """

    kind: RuleKind
    name: str
    text: str
    more: int
    zones: dict[str, int] = {}
    aggregates: dict[str, int] = {}
    given_up: Relaxation | None = None
    is_lower_bound: bool = False


class Prices(Struct, frozen=True):
    """``total``: how many fit with every rule; ``prices``: the dearest first, then
    those that cost nothing. ``left_out``: rules that were not tried: those beyond
    ``capacity_rules`` or ``capacity_steps``, and those without which the request means
    nothing."""

    total: int
    prices: tuple[Price, ...]
    left_out: int = 0
    is_lower_bound: bool = False


class FairSplit(Struct, frozen=True):
    """``splits``: one of the fleet, or one of each zone or aggregate. Those of zones
    can be launched together; aggregates may share hosts, and each is counted as if it
    were alone. ``revision``: of the books."""

    by: By
    splits: tuple[Split, ...]
    revision: int = 0


MOST_DAYS: Final = 366
"""That a forecast may reach ahead."""
_BY_HOURS_DAYS: Final = 30
OutlookKind = Literal["class", "flavor"]
OutlookState = Literal[
    "forecast", "not within horizon", "nothing left", "too little history"
]


class Outlook(Struct, frozen=True):
    """When one resource class, or one flavor, runs out. ``where``: a zone or aggregate;
    "": all hosts. ``left``: amounts of the class, or instances of the flavor, that are
    left now.

    ``lasts_until``: with a chance of 90 % there is room until then; ``likely_until``:
    of 50 %; ``latest_until``: of 10 %. Times are microseconds since the epoch; None:
    not within the horizon, or there is no forecast (``state``). ``chance``: that it
    runs out within the horizon. ``is_own``: from the usage history of the zone itself;
    otherwise the hosts are taken to grow by their part of all use. ``ends_by``: the
    class that is used up first, most often; "": none within the horizon, or it is no
    class that ends it."""

    kind: OutlookKind
    name: str
    where: str
    left: int
    state: OutlookState
    lasts_until: int | None = None
    likely_until: int | None = None
    latest_until: int | None = None
    chance: float | None = None
    is_own: bool = False
    ends_by: str = ""


class Forecast(Struct, frozen=True):
    """``at``: now. ``history_s``: how long the usage history is that was used;
    ``horizon_s``: how far the dates reach, which is half of that at most."""

    by: By
    at: int
    history_s: int
    horizon_s: int
    outlooks: tuple[Outlook, ...]


def period_of(horizon_days: int) -> Period:
    """The periods of the usage history that a forecast is made from: hours, which are
    kept for twice as long, or days."""
    return "hour" if horizon_days <= _BY_HOURS_DAYS else "day"
