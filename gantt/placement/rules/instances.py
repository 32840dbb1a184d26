"""The rule for an instance that its host names, in whichever statement it does.

Apart because reports name instances and so do statements about nothing else. The server
group of an instance, and the artifacts that it needs, are known from its claim alone,
which ends as soon as the host names it: they then go on among the facts, under keys
that no host can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model import rows as t
from gantt.model.hosts import WHOSE
from gantt.model.rows import InstanceRow
from gantt.placement.rules import cell_lists
from gantt.placement.rules.draft import Draft

_OURS: Final = frozenset({t.GROUP, t.ARTIFACTS})


def put(draft: Draft, host: str, uuid: str, facts: Mapping[str, Any] | None) -> None:
    """``host`` has the instance; ``facts`` None: what is known of it stays. What it was
    promised is the caller's to end. Raises Invalid (no JSON)."""
    old = draft.state.fleet.instances.by_uuid.get(uuid)
    text = _text(draft, uuid, facts, old)
    if old is None:
        key = draft.new_id(t.INSTANCES)
        draft.change(
            t.INSTANCES, None, InstanceRow(key, uuid, host, text, draft.now, None)
        )
    elif old.host != host or old.facts != text:
        moved = replace(old, host=host, facts=text, updated_at=draft.now)
        draft.change(t.INSTANCES, old, moved)
        if old.host != host:
            cell_lists.missed(draft, old.host, (uuid,))


def told(old: InstanceRow | None, said: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an instance of which a statement about a fleet says this: all that
    are known, or, where it tells no more than whose it is, the others as well."""
    known = {} if old is None or old.facts == "{}" else msgspec.json.decode(old.facts)
    for key in _OURS:
        known.pop(key, None)
    if said.keys() <= WHOSE:
        said = {**known, **said}
    return {
        key: value
        for key, value in said.items()
        if value is not None or key not in WHOSE
    }


def _text(
    draft: Draft, uuid: str, facts: Mapping[str, Any] | None, old: InstanceRow | None
) -> str:
    fleet = draft.state.fleet
    claim = fleet.claims.by_instance.get(uuid)
    known = fleet.instances.group_of(uuid)
    group = known if claim is None else claim.group_uuid or known
    used, brought = fleet.instances.artifacts, fleet.claims.artifacts
    near = used.get(uuid, ()) if used else ()  # mostly there are none
    needed = brought.get(uuid, near) if brought else near
    if facts is None:
        if old is not None and (group, needed) == (known, near):
            return old.facts
        facts = {} if old is None else msgspec.json.decode(old.facts)
    kept = {key: facts[key] for key in facts if key not in _OURS}
    if group is not None:
        kept[t.GROUP] = group
    if needed:
        kept[t.ARTIFACTS] = needed
    try:
        return msgspec.json.encode(kept, order="sorted").decode()
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(f"This is not JSON and cannot be stored: {error}.") from error
