"""What a caller may ask: the verdicts of ``access.fields``, on one body.

Nova judges users' requests before they reach its scheduler; here they arrive without
Nova. With a forced host in it a count of free places tells how full that host is, and
with another project's group a refusal tells where that has its instances.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from gantt.api.access import fields
from gantt.api.access.fields import Given, given
from gantt.api.access.peers import CALLER
from gantt.api.call import Call
from gantt.api.native.claims import bound_to
from gantt.errors import Forbidden
from gantt.model.names import canonical
from gantt.model.spec import RequestSpec
from gantt.placement.ownership import check_named

_PERMISSIONS = (fields.CHOOSE, fields.ANY, fields.WHOLE)
_PROJECT = frozenset({"project_id"})


def permitted(call: Call, spec: RequestSpec, *bodies: Struct) -> RequestSpec:
    """``spec`` as the caller may ask it, for its own project if it is bound to that;
    ``bodies``: what came with it. Raises Forbidden, which names the field."""
    if call.caller is CALLER:
        return spec  # an operator listed where it comes from
    found = [one for body in (spec, *bodies) for one in given(body)]
    _check_permissions(call, found)
    own = bound_to(call)
    if own is None:
        return spec
    _check_own(call, own, found)
    return replace(
        spec,
        project_id=own,
        unset=spec.unset - _PROJECT,
        nulls=spec.nulls - _PROJECT,
    )


def _check_permissions(call: Call, found: Iterable[Given]) -> None:
    needed = sorted(
        (one for one in found if one.verdict in _PERMISSIONS),
        key=lambda one: one.verdict,
    )
    for permission, those in groupby(needed, lambda one: one.verdict):
        if call.door.policy.allows(permission, call.caller, {}):
            names = ", ".join(one.path for one in those)
            what = "names hosts" if permission == fields.CHOOSE else "has fields"
            raise Forbidden(
                f"The request {what} ({names}), but the caller lacks permission "
                f"{permission}. Leave them out."
            )


def _check_own(call: Call, own: str, found: Iterable[Given]) -> None:
    """For a caller that is bound to the project ``own``."""
    named: dict[str, list[str]] = {
        fields.OWN_PLACED: [],
        fields.OWN_INSTANCES: [],
        fields.OWN_GROUP: [],
    }
    for one in found:
        value = one.value
        values = [value] if isinstance(value, str) else value
        if one.verdict == fields.OWN_PROJECT and value != own:
            raise _is_for("project", one, own)
        if one.verdict == fields.OWN_USER and value != call.caller.user_id:
            raise _is_for("user", one, call.caller.user_id)
        if one.verdict in named:
            named[one.verdict] += map(canonical, values)
    if any(named.values()):
        placed, near, groups = named.values()
        call.gantt.read(check_named, placed, near, groups, own)


def _is_for(what: str, one: Given, own: str | None) -> Forbidden:
    return Forbidden(
        f"The request is for {what} {one.value} ({one.path}), but the caller lacks "
        f"permission {fields.ANY} and is {what} {own}. Omit {one.path}, or "
        f"authenticate with {what} {one.value}."
    )
