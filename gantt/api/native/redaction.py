"""Redacts decisions for callers who are not operators.

Hosts, scores and names of providers are removed: a project sees how many hosts each
filter left for its own requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from msgspec.structs import replace

from gantt.api.access.fields import WHOLE
from gantt.api.call import Call
from gantt.errors import NoValidHost
from gantt.model.capacity import FairSplit, Forecast, Prices
from gantt.model.selection import Capacity, Decision, Why
from gantt.model.whole_host import WholeHost

NAMES: Final = "gantt:instances:names"
REFUSED = "No valid host was found."


def sees_all(call: Call) -> bool:
    """Whether policy lets the caller see complete decisions of any project."""
    return not call.door.policy.allows(WHOLE, call.caller, {})


def sees_names(call: Call) -> bool:
    """Whether policy lets the caller see how users call their instances."""
    return not call.door.policy.allows(NAMES, call.caller, {})


def why(call: Call, reason: Why) -> Why:
    """``reason`` as the caller may see it."""
    return reason if sees_all(call) else _counts(reason)


def refusal(call: Call, message: str) -> str:
    """``message``, which may name hosts, as the caller may see it."""
    return message if sees_all(call) else REFUSED


@contextmanager
def refusals(call: Call) -> Iterator[None]:
    """A NoValidHost that is raised within says what the caller may see."""
    try:
        yield
    except NoValidHost as error:
        raise NoValidHost(refusal(call, error.message)) from None


def decision(call: Call, record: Decision) -> Decision:
    """``record`` as the caller may see it."""
    return record if sees_all(call) else _bare(record)


def whole_host(call: Call, found: WholeHost) -> WholeHost:
    """``found`` as the caller may see it: its instances are of any project."""
    may = sees_names(call) and sees_all(call)
    return found if may else replace(found, names={})


def capacity(call: Call, found: Capacity) -> Capacity:
    """``found`` as the caller may see it: how many fit, but not where."""
    if sees_all(call):
        return found
    return Capacity(
        found.total,
        {},
        found.steps,
        limits=found.limits,
        is_lower_bound=found.is_lower_bound,
    )


def fair_split(call: Call, found: FairSplit) -> FairSplit:
    """``found`` as the caller may see it: how many fit by zone, but not on which hosts
    or in which aggregates."""
    if sees_all(call):
        return found
    splits = [
        replace(
            split,
            name=split.name if found.by == "zone" else "",
            shares=tuple(replace(one, hosts={}, aggregates={}) for one in split.shares),
        )
        for split in found.splits
    ]
    return replace(found, splits=tuple(splits))


def prices(call: Call, found: Prices) -> Prices:
    """``found`` as the caller may see it: what its own request costs it."""
    if sees_all(call):
        return found
    own = [replace(one, aggregates={}) for one in found.prices if one.kind == "request"]
    return replace(found, prices=tuple(own))


def forecast(call: Call, found: Forecast) -> Forecast:
    """``found`` as the caller may see it: aggregates without their names."""
    if found.by != "aggregate" or sees_all(call):
        return found
    return replace(
        found, outlooks=tuple(replace(one, where="") for one in found.outlooks)
    )


# What shows a caller less than all, by the type of the answer.
SHOWN: Final[Mapping[object, Callable[[Call, Any], object]]] = {
    Capacity: capacity,
    WholeHost: whole_host,
    FairSplit: fair_split,
    Prices: prices,
    Forecast: forecast,
}


def visible(call: Call, records: Iterable[Decision]) -> Iterator[Decision]:
    """The records that the caller may see, redacted: without permission for all, those
    of its own project."""
    if not sees_names(call):
        records = (replace(one, names={}) for one in records)
    if sees_all(call):
        yield from records
        return
    project = call.caller.project_id
    for record in records:
        if project is not None and record.project_id == project:
            yield _bare(record)


def _bare(record: Decision) -> Decision:
    return replace(
        record,
        scores=(),
        chosen=(),
        repair=None,
        takeover=None,
        request=None,
        why=None if record.why is None else _counts(record.why),
        failure=None if record.failure is None else REFUSED,
    )


def _counts(reason: Why) -> Why:
    return Why(steps=reason.steps, said=reason.said[:1])
