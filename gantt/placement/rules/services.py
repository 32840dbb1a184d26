"""Services and facts as they are told: rules write each into the table that has it."""

from __future__ import annotations

from gantt.model import rows as t
from gantt.model.facts import as_fact
from gantt.model.rows import ServiceRow
from gantt.placement.rules.draft import Draft


def new_id(draft: Draft) -> int:
    """An id that neither a service nor a fact had before: both are told as services."""
    return max(draft.new_id(t.SERVICES), draft.new_id(t.FACTS))


def put(draft: Draft, row: ServiceRow) -> None:
    fact = as_fact(row)
    if fact is None:
        draft.put(t.SERVICES, row)
    else:
        draft.put(t.FACTS, fact)


def delete(draft: Draft, row: ServiceRow) -> None:
    fact = as_fact(row)
    if fact is None:
        draft.delete(t.SERVICES, row)
    else:
        draft.delete(t.FACTS, fact)
