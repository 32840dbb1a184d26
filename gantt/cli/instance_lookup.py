"""The instance that an argument means, by uuid, by name or by a part of either."""

from __future__ import annotations

from typing import Final

from gantt.errors import Invalid, NotFound
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.model.names import canonical_uuid
from gantt.model.protocol import GanttProtocol

_MOST: Final = 200
_SHOWN: Final = 5


def known_instance(books: GanttProtocol, uuid: str) -> InstanceView:
    """Raises NotFound."""
    found = books.list_instances(InstanceQuery(uuid=uuid))
    if not found:
        raise NotFound(
            f"Instance {uuid} has no claim and no allocations, and no host names it: "
            "'gantt instance list' shows those that are known."
        )
    return found[0]


def find_instance(books: GanttProtocol, name: str) -> InstanceView:
    """The one with this uuid, else the only one that is called so, else the only one
    with it as a part of its name or uuid, or of this project. Raises NotFound,
    Invalid."""
    if canonical_uuid(name) is not None:
        return known_instance(books, name)
    found = books.list_instances(InstanceQuery(search=name, limit=_MOST))
    called = [one for one in found if one.name == name]
    is_cut = len(found) == _MOST  # others may be called so, too
    if len(called or found) == 1 and not is_cut:
        return (called or found)[0]
    if not found:
        raise NotFound(
            f"No instance has {name!r} in its name or uuid, nor is that a project with "
            "instances: 'gantt instance list' shows those that are known."
        )
    count = f"{_MOST} or more" if is_cut else str(len(found))
    first = (called + [one for one in found if one.name != name])[:_SHOWN]
    some = ", ".join(f"{one.uuid} ({one.name or '-'})" for one in first)
    raise Invalid(
        f"{count} instances have {name!r}: {some}{', …' * (len(found) > _SHOWN)}. Give "
        "the uuid of one; 'gantt instance list --search' shows all."
    )
