"""A request with changes conceded, for a dry run: those that a refusal names.

Separate from the search for the smallest change, which trusts what it tries: here the
changes come from a caller, and each must be one that the request offers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import GanttError, Invalid, shortened
from gantt.model.diagnosis import Kind, Relaxation
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.explain.concessions import conceded, concessions

MOST: Final = 8
_NAMED: Final = 200  # characters of what was named, in a message
_LOWERED: Final[frozenset[Kind]] = frozenset(("amount", "devices", "numa_nodes"))


class WeakerRequest(Struct, frozen=True, eq=False):
    """``filters_off``: enabled filters that ``driver`` does without."""

    request: ScheduleRequest
    driver: Driver
    filters_off: tuple[str, ...] = ()


def without(
    request: ScheduleRequest, driver: Driver, given_up: Sequence[Relaxation]
) -> WeakerRequest:
    """``request``, and ``driver``, without these. Raises Invalid: it does not ask for
    one of them, or there are more than ``MOST``."""
    if len(given_up) > MOST:
        raise Invalid(
            f"given_up has {len(given_up)} changes; the limit is {MOST}. Send the "
            "changed request instead."
        )
    filters_off = []
    for one in given_up:
        if one.kind == "filter":
            driver = _less(driver, one)
            filters_off.append(one.names[0])
        else:
            request = _weaker(request, one)
    return WeakerRequest(request, driver, tuple(filters_off))


def _less(driver: Driver, one: Relaxation) -> Driver:
    enabled = [each.name for each in driver.policy.filters]
    name = one.names[0] if one.names else ""
    less = driver.without(name) if name in enabled else None
    if less is None:
        raise Invalid(
            f"given_up names the filter {shortened(name, _NAMED)!r}, and the driver "
            f"{driver.name} cannot leave it out. Name one of "
            f"{', '.join(enabled) or 'none'}."
        )
    return less


def _weaker(request: ScheduleRequest, one: Relaxation) -> ScheduleRequest:
    if not _is_offered(request, one):
        names = shortened(", ".join(one.names), _NAMED)
        raise Invalid(
            f"given_up names {one.kind} {names!r} with amount "
            f"{one.amount} and lowered {one.lowered}, which the request does not ask "
            "for so. Send a change of given_up in the answer that refused it."
        )
    try:
        return conceded(request, one)
    except GanttError as error:
        raise Invalid(f"given_up cannot be applied: {error.message}") from None


def _is_offered(request: ScheduleRequest, one: Relaxation) -> bool:
    if one.kind == "instances":
        return one.lowered is not None and 0 < one.lowered < request.count
    offered = concessions(request)
    if one in offered:
        return True
    if one.kind not in _LOWERED or one.lowered is None or one.amount is None:
        return False
    is_less = 0 < one.lowered < one.amount
    bare = replace(one, lowered=None)
    return is_less and any(replace(other, lowered=None) == bare for other in offered)
