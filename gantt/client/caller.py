"""The caller: the ``context`` of a call, in the forms that callers use.

Separate from the client because every method takes it and only its values matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gantt.model.forms import scalars


class Caller(Struct, frozen=True):
    """``request_id`` "": the caller has none."""

    user_id: str | None = None
    project_id: str | None = None
    roles: tuple[str, ...] = ()
    request_id: str = ""


ADMIN = Caller(roles=("admin",))


def read_context(context: Any) -> Caller:
    """None (the administrator), a mapping, or an object with ``user_id``,
    ``project_id``, ``roles`` and ``request_id``. Raises Invalid, naming the field."""
    if context is None:
        return ADMIN
    if isinstance(context, Caller):
        return context
    roles = _of(context, "roles")
    return Caller(
        user_id=_text(context, "user_id"),
        project_id=_text(context, "project_id"),
        roles=()
        if roles is None
        else tuple(
            scalars.text("context.roles", role)
            for role in scalars.items("context.roles", roles)
        ),
        request_id=_text(context, "request_id") or "",
    )


def _of(context: Any, name: str) -> Any:
    if isinstance(context, Mapping):
        return context.get(name)
    return getattr(context, name, None)


def _text(context: Any, name: str) -> str | None:
    value = _of(context, name)
    return None if value is None else scalars.text(f"context.{name}", value)
