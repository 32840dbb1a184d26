"""The laws of repeats and releases: what is booked is what was asked.

Checked on plain rows, whatever the order of repeats, time-outs, releases and writes of
others: a claim that was not written over has allocated what it answered, no more; what
ends with its allocations leaves none of them; and what is asked again stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.holding import Amounts
from gantt.model.request_identity import read_answered
from gantt.model.rows import Key
from gantt.placement.fleet_queries import arrival_name
from tests.simulation.history import Finding, Tables

_BOOKED = "what is booked is what was asked"
_FREED = "a claim that ends frees what it added"
_AGAIN = "a repeat books nothing more"


def booked(
    before: Tables, after: Tables, command: c.Command[object] | None
) -> Iterator[Finding]:
    """After ``command``; None: an engine's own."""
    for row in _claims(after).values():
        if row.answered is None or not _is_whole(after, row):
            continue
        asked, kept = read_answered(row.answered).allocations, _shares(after, row, True)
        wanted = {uuid: one for uuid, one in asked.items() if uuid not in kept}
        found = _shares(after, row, False)
        if found != wanted:
            yield Finding(_BOOKED, f"{row} has {found} by {command}")
    if command is None or isinstance(command, c.ReleaseClaim | c.ExpireClaims):
        for key, row in _claims(before).items():
            if key not in after[t.BOOKINGS] and _is_whole(before, row):
                left = _shares(after, row, False)
                # One that stands for what another program placed wrote none of it.
                is_own = row.claim != arrival_name(row.instance_uuid, row.created_at)
                if left and row.remote is None and is_own:
                    yield Finding(_FREED, f"{row} left {left}")
    if isinstance(command, c.Claim):
        yield from _again(before, after, command)


def kept(before: Tables, after: Tables, command: c.Claim) -> set[str]:
    """Instances that go on with the claim that they had of the same request."""
    digest, found = command.identity.digest, set()
    for key, row in _claims(before).items():
        new = after[t.BOOKINGS].get(key)
        if row.answered is None or read_answered(row.answered).digest != digest:
            continue
        if isinstance(new, t.BookingRow) and new.claim == row.claim:
            found.add(row.instance_uuid)
    return found


def _again(before: Tables, after: Tables, command: c.Claim) -> Iterator[Finding]:
    digest, ended = command.identity.digest, _claims(after)
    meant = {one.instance_uuid for one in command.instances}
    named = {
        row.uuid
        for row in before[t.INSTANCES].values()
        if isinstance(row, t.InstanceRow)
    }
    off = _off(before)
    for key, row in _claims(before).items():
        is_repeat = (
            row.instance_uuid in meant
            and row.instance_uuid not in named
            and row.host_id in before[t.HOSTS]
            and not (command.identity.replaces and row.host_id in off)
            and row.counted_at is None
            and row.answered is not None
            and read_answered(row.answered).digest == digest
        )
        if is_repeat:
            new = ended.get(key)
            is_same = new is not None and new.claim == row.claim
            if not is_same or _all(before, row) != _all(after, row):
                yield Finding(_AGAIN, f"{row} became {new} by {command}")


def _off(tables: Tables) -> set[int]:
    """The ids of hosts that are disabled or forced down: Nova gets others."""
    places = {
        row.host
        for row in tables[t.SERVICES].values()
        if isinstance(row, t.ServiceRow) and (row.disabled or row.forced_down)
    }
    return {
        row.id
        for row in tables[t.HOSTS].values()
        if isinstance(row, t.HostRow) and row.host in places
    }


def _claims(tables: Tables) -> dict[Key, t.BookingRow]:
    return {
        key: row
        for key, row in tables[t.BOOKINGS].items()
        if isinstance(row, t.BookingRow)
    }


def _is_whole(tables: Tables, row: t.BookingRow) -> bool:
    """Whether the consumer is as the claim wrote it."""
    return any(
        isinstance(one, t.ConsumerRow)
        and one.uuid == row.instance_uuid
        and one.generation == row.consumer_generation
        for one in tables[t.CONSUMERS].values()
    )


def _all(tables: Tables, row: t.BookingRow) -> tuple[Amounts, Amounts]:
    return _shares(tables, row, True), _shares(tables, row, False)


def _shares(tables: Tables, row: t.BookingRow, is_kept: bool) -> Amounts:
    """What the instance has, of before the claim (``is_kept``) or by it."""
    found: Amounts = {}
    for one in tables[t.ALLOCATIONS].values():
        assert isinstance(one, t.AllocationRow)
        if one.consumer_id != row.instance_uuid:
            continue
        if (one.updated_at is not None) is is_kept:
            provider = tables[t.PROVIDERS][one.resource_provider_id]
            kind = tables[t.RESOURCE_CLASSES][one.resource_class_id]
            assert isinstance(provider, t.ProviderRow) and isinstance(kind, t.NameRow)
            found.setdefault(provider.uuid, {})[kind.name] = one.used
    return found
