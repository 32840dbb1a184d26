"""How many more of several flavors fit together."""

from __future__ import annotations

from typing import Final, Literal, get_args

from msgspec import Struct

By = Literal["fleet", "zone", "aggregate"]
BY: Final = get_args(By)


class Share(Struct, frozen=True):
    """Of one flavor. ``more``: how many fit beside the shares of the others; ``alone``:
    if no other flavor got any. ``zones``, ``aggregates`` (which may overlap),
    ``hosts``: where these are, by name. ``limits``: what blocks one more -> on how many
    hosts, as in ``Capacity``. ``is_lower_bound``: counting ended at one of the options
    in ``limits``."""

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


class FairSplit(Struct, frozen=True):
    """``splits``: one of the fleet, or one of each zone or aggregate. Those of zones
    can be launched together; aggregates may share hosts, and each is counted as if it
    were alone. ``revision``: of the books."""

    by: By
    splits: tuple[Split, ...]
    revision: int = 0
