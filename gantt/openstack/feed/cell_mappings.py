"""Cells and where their databases are, from the cell mappings of the API database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import exc, make_url

from gantt.conf.feed_settings import FeedOptions
from gantt.errors import Refused
from gantt.model.addresses import without_secrets
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.nova_tables import CELL_MAPPINGS
from gantt.openstack.feed.unreadable_rows import Bad, named
from gantt.store.database.url import connectable

CELL0: Final = "00000000-0000-0000-0000-000000000000"
"""Where Nova keeps instances that no host took: it has no hosts."""


class CellMapping(Struct, frozen=True):
    """``number``: its id in the API database; ``url``: of its database; ``fault``: why
    that cannot be used, "" if it can."""

    number: int
    uuid: str
    name: str
    url: str
    disabled: bool
    fault: str = ""


def read_mappings(
    database: NovaDatabase, options: FeedOptions
) -> tuple[tuple[CellMapping, ...], Bad]:
    """All cells but cell0, by number, and what cannot be read; a URL that cannot be
    used is the fault of its own cell alone. Raises Refused, StoreFailed."""
    t = CELL_MAPPINGS.c
    rows = database.rows(
        sa.select(t.id, t.uuid, t.name, t.database_connection, t.disabled).order_by(
            t.id
        )
    )
    found = []
    bad: Bad = {}
    for number, said, name, template, disabled in rows:
        what = f"row {number} of cell_mappings"
        uuid = named(what, said, bad)
        if not uuid:
            bad.setdefault(what, "it has no uuid")
        elif uuid != CELL0:
            url, fault = _usable(template or "", options)
            cell = CellMapping(number, uuid, name or uuid, url, bool(disabled), fault)
            found.append(cell)
    return tuple(found), bad


def open_cell(
    cell: CellMapping, options: FeedOptions, *, writes: bool = False
) -> NovaDatabase:
    """The database of a cell; nothing is connected yet. Raises Refused."""
    name = f"the database of cell {cell.name}"
    if cell.fault:
        raise Refused(f"{name}: {cell.fault}")
    return NovaDatabase(name, cell.url, options.feed_timeout, writes=writes)


def _usable(template: str, options: FeedOptions) -> tuple[str, str]:
    """The URL, and why it cannot be used: one of them is empty."""
    try:
        return with_user(filled(template, options.database_url), options), ""
    except Refused as error:
        return "", error.message


def filled(template: str, url: str) -> str:
    """``template`` with the parts of ``url`` in place of ``{username}`` and the like,
    as Nova fills them. Raises Refused."""
    if "{" not in template:
        return template
    if not url:
        raise Refused(
            "A cell mapping's database_connection is a template, and there is no "
            "connection in [database] to fill it from."
        )
    try:
        return template.format(**dict(_parts(url)))
    except (LookupError, AttributeError, TypeError, ValueError) as error:
        # A ValueError quotes what it took for a port: it may be part of a password.
        why = repr(error) if isinstance(error, LookupError) else "it cannot be read"
        raise Refused(
            "A cell mapping's database_connection is a template that cannot be filled "
            f"from the connection of [database]: {why}."
        ) from None


def with_user(url: str, options: FeedOptions) -> str:
    """``url`` with the user of the feed, if there is one. Raises Refused."""
    if not options.feed_user:
        return url
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError) as error:
        # SQLAlchemy quotes what it took for a port: it may be part of a password.
        shown = without_secrets(url)
        raise Refused(f"A database URL of Nova, {shown!r}, cannot be read.") from error
    if parsed.get_backend_name() == "sqlite":
        return url
    password = options.feed_password or None
    return connectable(parsed.set(username=options.feed_user, password=password))


def _parts(url: str) -> Iterable[tuple[str, object]]:
    """What Nova puts into a template; parts of each server where there are several,
    numbered from 1."""
    parsed = urlsplit(url)
    first = urlsplit(f"//{parsed.netloc.split(',')[0]}")
    yield from (
        ("scheme", parsed.scheme),
        ("path", parsed.path.lstrip("/")),
        ("query", parsed.query),
        ("fragment", parsed.fragment),
        ("username", first.username),
        ("password", first.password),
        ("hostname", first.hostname),
        ("port", first.port),
    )
    if "," in parsed.netloc:
        for number, each in enumerate(parsed.netloc.split(","), 1):
            one = urlsplit(f"//{each}")
            yield f"username{number}", one.username
            yield f"password{number}", one.password
            yield f"hostname{number}", one.hostname
            yield f"port{number}", one.port
