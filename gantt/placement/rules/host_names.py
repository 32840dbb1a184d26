"""What names a host's agent may bring into the books: its own, and only so many.

Separate from ``own_host``, which is about the token of a host: these hold for every
agent, because a machine lists what it finds. Names of traits stay for good, and names
of instances until a whole list is without them, so that both have a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET

from gantt.errors import TooManyNames
from gantt.model.commands import ReportHost
from gantt.model.names import canonical, is_custom_name
from gantt.model.rows import HostRow
from gantt.placement import listings
from gantt.placement.fleet_queries import PLACE
from gantt.state.report_decoder import LISTED
from gantt.state.state import State

LISTS: Final = "lists_instances"
CUSTOM: Final = "CUSTOM_"


def check(state: State, command: ReportHost) -> int:
    """How many traits this report brings into being. Raises TooManyNames."""
    _check_instances(state, command)
    if command.report.fields.holds:
        check_held(command.report.fields.holds, command.most.artifacts)
    named = command.report.fields.traits
    if named is UNSET:
        return 0
    # Most are standard traits, and a function called for each would be felt.
    customs = {one for one in named if one.startswith(CUSTOM)}
    more = sum(
        is_custom_name(one) and state.traits.find(one) is None for one in customs
    )
    if more:
        _check_made(state, command, more)
    return more


def check_held(holds: Mapping[str, int], most: int) -> None:
    """Raises TooManyNames."""
    if len(holds) > most:
        raise TooManyNames(
            f"The report says that the host holds {len(holds)} artifacts, and "
            f"{most} is the limit (max_host_artifacts of [scheduler]): report the "
            "largest, or raise the limit."
        )


def _check_made(state: State, command: ReportHost, more: int) -> None:
    host, most, table = command.report.host, command.most.traits, state.fleet.hosts
    places = (table.stats[row].get(PLACE, {}) for row in table.rows_of(host))
    made = sum(place.get("made", 0) for place in places)
    if made + more > most:
        raise TooManyNames(
            f"fields.traits has {more} that do not exist yet, and reports of host "
            f"{host!r} have made {made}: {most} is the limit (max_host_traits of "
            "[scheduler]). Report traits that exist, or let an operator create them."
        )


def _check_instances(state: State, command: ReportHost) -> None:
    report, most = command.report, command.most.instances
    named = report.fields.instances
    if named is UNSET:
        return
    after, is_whole = set(named), report.fields.lists_instances
    table = state.fleet.hosts
    row = table.row_of(report.host, report.node)
    if is_whole is UNSET:
        is_whole = row is not None and table.stats[row].get(LISTS) is True
    if is_whole is not True:
        after.update(state.fleet.instances.on(report.host))
    for other in table.rows_of(report.host):
        if other != row:
            after.update(table.stats[other].get(LISTED) or ())
    if len(after) > most:
        raise TooManyNames(
            f"With this report {len(after)} instances are known on host "
            f"{report.host!r}, and {most} is the limit (max_host_instances of "
            "[scheduler]): list those that run, with lists_instances, or raise the "
            "limit."
        )


def of_others(state: State, host: HostRow, instances: Iterable[str]) -> set[str]:
    """Those that are not the host's though it may list them: booked elsewhere and not
    here; or nowhere, and another host goes on listing them."""
    fleet, consumers = state.fleet, state.consumers.row_by_uuid
    named, claims = fleet.instances.by_uuid, fleet.claims
    known = [
        one
        for one in instances
        if one in named
        or one in claims.by_instance
        or one in claims.by_holder
        or consumers.get(one) is not None
    ]
    if not known:
        return set()  # as of nearly all that are new
    root = _root(state, host)
    return {one for one in known if _is_of_another(state, host, root, one)}


def _is_of_another(
    state: State, host: HostRow, root: int | None, instance: str
) -> bool:
    ids, roots = listings.booked_at(state, instance)
    if host.id in ids or root in roots:
        return False
    if ids or roots:
        return True
    named = state.fleet.instances.by_uuid.get(instance)
    if named is None or named.host == host.host:
        return False
    table = state.fleet.hosts
    listers = table.listers.rows.get(canonical(instance), ())
    return any(table.hosts[row] == named.host for row in listers)


def _root(state: State, host: HostRow) -> int | None:
    """The root of its provider's tree, by row."""
    row = state.providers.row_of(host.uuid or "")
    return None if row is None else int(state.providers.root[row])
