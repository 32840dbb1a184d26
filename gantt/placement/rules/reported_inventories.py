"""What of a provider belongs to the reports of its host: inventories and traits.

A host's report keeps, under ``OWNED`` within its stats, what it wrote last: whose
provider (its id), class -> [total, reserved, ratio], and the traits that it added. An
inventory that still is what the record says is the report's. One that was there before
the first report, or was changed or deleted since, is no longer the report's (the record
says None), so that a reshape is not undone. All starts anew with another provider. What
is the reports' goes with a host that is deleted; of what is in use, nothing stays free.
"""

from __future__ import annotations

from typing import Any, Final

from gantt.errors import UnknownName
from gantt.model import rows as t
from gantt.model.commands import Inventory, UpdateHost
from gantt.model.names import MAX_INT, is_custom_name
from gantt.model.rows import InventoryRow, ProviderRow
from gantt.placement.rules import labels
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.inventories import (
    class_id,
    inventory_row,
    is_used,
    write_row,
)
from gantt.state.report_decoder import OWNED, RATIOS

_CLASSES: Final = (
    ("VCPU", "vcpus", 0),
    ("MEMORY_MB", "memory_mb", 1),
    ("DISK_GB", "local_gb", 2),
)
"""Each with the field of its total, and the place of its ratio."""
_PLAIN: Final = (1.0, 1.0, 1.0)

__all__ = [
    "OWNED",
    "amounts",
    "is_settled",
    "leave",
    "ratios",
    "settle",
    "settle_traits",
]

Amounts = list[Any]
"""[total, reserved, ratio], as JSON keeps it."""


def amounts(stats: dict[str, Any], command: UpdateHost) -> dict[str, Amounts]:
    """Class -> what the report says of it, with the settled ratio; nothing for a total
    of 0.

    More reserved than there is reserves all: no capacity is below nothing.
    """
    found: dict[str, Amounts] = {}
    settled = stats[RATIOS]
    for name, field, place in _CLASSES:
        total = stats.get(field)
        if total:
            reserved = min(command.reserved.get(name, 0), total)
            found[name] = [total, reserved, settled[place]]
    return found


def ratios(stats: dict[str, Any], command: UpdateHost) -> list[float]:
    """The host's allocation ratios from now on, of VCPUs, memory and disk: the reported
    one, else the command's where Nova reported the host, else 1.0. What others report
    of such a host, through a process that may have other options, changes nothing."""
    get = stats.get
    cpu, ram, disk = _PLAIN
    if get("comes_from_nova"):
        is_novas = command.stats.comes_from_nova is True
        known = None if is_novas else get(RATIOS)
        cpu, ram, disk = known or command.initial_ratios
    return [
        get("cpu_allocation_ratio") or cpu,
        get("ram_allocation_ratio") or ram,
        get("disk_allocation_ratio") or disk,
    ]


def is_settled(recorded: dict[str, Amounts | None], wanted: dict[str, Amounts]) -> bool:
    """Whether the record says that nothing of ``wanted`` is left to be written."""
    for name, amount in wanted.items():
        known = recorded.get(name, ())
        if known is not None and known != amount:
            return False
    for name, known in recorded.items():
        if known is not None and name not in wanted:
            return False
    return True


def settle(
    draft: Draft,
    provider: ProviderRow,
    recorded: dict[str, Amounts | None],
    wanted: dict[str, Amounts],
) -> dict[str, Amounts | None]:
    """Write the classes that are ours; the new record."""
    is_known = provider.id in draft.state.providers.row_by_id
    record = dict(recorded)
    for name, _, _ in _CLASSES:
        want = wanted.get(name)
        if name in record and (record[name] is None or record[name] == want):
            continue
        if name not in record and want is None:
            continue
        key = class_id(draft.state, name)
        have = inventory_row(draft.state, provider, key) if is_known else None
        was_ours = _is_ours(have, record.get(name)) or (
            name not in record and have is not None and _is_left(have)
        )
        if not was_ours and (have is not None or name in record):
            record[name] = None
        elif want is not None:
            _write(draft, provider, key, have, want)
            record[name] = want
        else:
            assert have is not None
            _drop(draft, provider, have, record, name)
    return record


def leave(draft: Draft, provider: ProviderRow, record: dict[str, Any]) -> None:
    """The host is deleted: what its reports own goes with it, so that it comes back as
    it then is, and nothing is placed there until it does. Of a class that is in use the
    inventory stays, all reserved, in a shape that tells whose it was (``_is_left``)."""
    settle_traits(draft, provider, record["traits"], [])
    for name, amount in record["inventories"].items():
        key = class_id(draft.state, name)
        have = inventory_row(draft.state, provider, key)
        if have is None or not _is_ours(have, amount):
            continue
        if is_used(draft, provider, key):
            all_of_it, ratio = have.total, have.allocation_ratio
            left = Inventory(all_of_it, all_of_it, 1, _more_than(all_of_it), 1, ratio)
            write_row(draft, provider, key, have, left)
        else:
            draft.delete(t.INVENTORIES, have)
        draft.bump_once(provider)


def settle_traits(
    draft: Draft, provider: ProviderRow, owned: list[str], wanted: list[str]
) -> list[str]:
    """The provider bears ``wanted``; the traits that reports own from now on.

    A custom trait comes into being by being named. Raises UnknownName.
    """
    known = draft.state.traits
    unknown = [n for n in wanted if known.find(n) is None and not is_custom_name(n)]
    if unknown:
        raise UnknownName(
            f"No such trait {', '.join(unknown)}. A host may report "
            "standard traits and traits that start with CUSTOM_."
        )
    for name in owned:
        row = known.find(name)
        if name not in wanted and row is not None:
            labels.take(draft, provider, t.PROVIDER_TRAITS, row.id)
    mine = set(owned).intersection(wanted)
    for name in wanted:
        key = draft.ensure_name(t.TRAITS, name)
        if labels.give(draft, provider, t.PROVIDER_TRAITS, key):
            mine.add(name)
    return sorted(mine)


def _is_ours(have: InventoryRow | None, record: Amounts | None) -> bool:
    if have is None or record is None:
        return False
    amounts = [have.total, have.reserved, have.allocation_ratio]
    return have.has_reports_units and amounts == record


def _is_left(have: InventoryRow) -> bool:
    """Whether a host that was deleted left it (``leave``): nothing is free, and more
    could be asked for than there is, which is no client's way to say it."""
    is_full = have.reserved == have.total and have.min_unit == have.step_size == 1
    return is_full and have.max_unit == _more_than(have.total)


def _more_than(total: int) -> int:
    return min(total + 1, MAX_INT)


def _write(
    draft: Draft,
    provider: ProviderRow,
    key: int,
    have: InventoryRow | None,
    want: Amounts,
) -> None:
    total, reserved, ratio = want
    inventory = Inventory(total, reserved, max_unit=total, allocation_ratio=ratio)
    write_row(draft, provider, key, have, inventory)
    draft.bump_once(provider)


def _drop(
    draft: Draft,
    provider: ProviderRow,
    have: InventoryRow,
    record: dict[str, Amounts | None],
    name: str,
) -> None:
    """The host has none of the class any more. While some is in use the inventory
    stays, all of it reserved."""
    if not is_used(draft, provider, have.resource_class_id):
        draft.delete(t.INVENTORIES, have)
        draft.bump_once(provider)
        del record[name]
    elif have.reserved != have.total:
        parked = [have.total, have.total, have.allocation_ratio]
        _write(draft, provider, have.resource_class_id, have, parked)
        record[name] = parked
