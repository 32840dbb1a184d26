"""A claim whose allocations another writer has written again goes on with them.

That is so where they are the same, or where a reshape moved them within the host's
tree: what the claim added is still known, so that its lease and its release free it.
After any other write they are the writer's.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.holding import Amounts
from gantt.model.request_identity import Answered, read_answered
from gantt.model.rows import AllocationRow, BookingRow, ConsumerRow
from gantt.placement.rules.draft import Draft
from gantt.state.state import State
from gantt.topology.promised_topology import from_text, to_text

Rows = Sequence[AllocationRow]


def carry(
    draft: Draft, known: ConsumerRow | None, old: Rows, new: Rows, *, is_reshape: bool
) -> bool:
    """Whether the claim of the consumer ``known`` goes on; ``old`` and ``new``: its
    allocations before and, in the draft, after."""
    if known is None or not new:
        return False
    row = draft.state.fleet.claims.by_instance.get(known.uuid)
    if row is None or row.remote is not None:
        return False
    if row.consumer_generation != known.generation:
        return False
    if not is_reshape and _amounts(old) != _amounts(new):
        return False
    kept = _kept(draft.state, old, new)
    if kept is None:
        return False
    for one in kept:
        draft.put(t.ALLOCATIONS, replace(one, updated_at=draft.now))
    gone_on = replace(
        row, consumer_generation=known.generation + 1, updated_at=draft.now
    )
    if row.answered is not None:
        added = [one for one in new if one not in kept]
        answer = _answered(draft.state, read_answered(row.answered), added)
        gone_on = replace(
            gone_on, answered=answer.text, topology=_promised(row, answer)
        )
    draft.put(t.BOOKINGS, gone_on)
    return True


def _amounts(rows: Rows) -> dict[tuple[int, int], int]:
    return {(one.resource_provider_id, one.resource_class_id): one.used for one in rows}


def _kept(state: State, old: Rows, new: Rows) -> list[AllocationRow] | None:
    """Those of ``new`` that the instance had before it was claimed, as the marks of
    ``old`` tell; None: they do not tell."""
    table, place = state.providers, {}
    by_tree: dict[tuple[int, int], set[bool]] = {}
    for one in old:
        is_kept = one.updated_at is not None
        place[one.resource_provider_id, one.resource_class_id] = is_kept
        root = int(table.root[table.row_by_id[one.resource_provider_id]])
        by_tree.setdefault((root, one.resource_class_id), set()).add(is_kept)
    found = []
    for one in new:
        at = one.resource_provider_id, one.resource_class_id
        root = int(table.root[table.row_by_id[one.resource_provider_id]])
        marks = {place[at]} if at in place else by_tree.get((root, at[1]))
        if marks is None or len(marks) > 1:
            return None
        if marks == {True}:
            found.append(one)
    return found


def _promised(row: BookingRow, answer: Answered) -> str | None:
    """The text of what is promised: of devices, by those that provide them now."""
    if row.topology is None:
        return None
    pending = from_text(row.topology)
    providers = {
        suffix: answer.mappings.get(suffix, uuids)
        for suffix, uuids in pending.providers.items()
    }
    return to_text(replace(pending, providers=providers))


def _answered(state: State, known: Answered, added: Rows) -> Answered:
    """What the claim answers, with what it has now."""
    amounts = _named(state, added)
    if known.allocations.keys() == amounts.keys():
        return known
    left = {
        suffix: tuple(one for one in uuids if one in amounts)
        for suffix, uuids in known.mappings.items()
    }
    mapped = {one for uuids in left.values() for one in uuids}
    new = tuple(one for one in amounts if one not in mapped)
    for suffix, uuids in known.mappings.items():
        if left[suffix] != uuids:
            left[suffix] += new
            break
    return replace(known, allocations=amounts, mappings=left)


def _named(state: State, rows: Rows) -> Amounts:
    found: Amounts = {}
    for one in rows:
        provider = state.providers.get(one.resource_provider_id)
        assert provider is not None, "it has allocations"
        name = state.classes.at(state.classes.index_by_id[one.resource_class_id]).name
        found.setdefault(provider.uuid, {})[name] = one.used
    return found
