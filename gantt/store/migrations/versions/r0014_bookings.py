"""Bookings in place of claims: what has a name is one as long as that lives.

What claims and hosts' instances remembered of names is taken out of their texts.
Processes of the release before would not find the table: so a new log begins in format
3, whereupon they stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID, uuid5

import sqlalchemy as sa
from alembic import op
from msgspec import json

from gantt.store import head
from gantt.store.columns import Json, exact, required, row_id, texts, unique, uuid
from gantt.store.migrations.steps import create_index, create_table

revision = "0014_bookings"
down_revision = "0013_facts"

FORMAT = 3
_OLD, _NEW = "gantt_claims", "gantt_bookings"
_KEPT: Final = (
    "created_at updated_at id claim instance_uuid host_id vcpus memory_mb disk_mb "
    "group_uuid leased_until consumer_generation remote topology counted_at answered"
).split()
_NAMES: Final = ("item", "name", "project", "plan", "digest")
_CLAIMS = sa.table(_OLD, *map(sa.column, _KEPT))
_BOOKINGS = sa.table(_NEW, *map(sa.column, (*_KEPT, "role", *_NAMES)))
_INSTANCES = sa.table(
    "gantt_instances", *map(sa.column, ("id", "uuid", "host", "facts", "created_at"))
)
_HOSTS = sa.table("gantt_hosts", *map(sa.column, ("id", "host", "node")))
_PLANS: Final = UUID("b0c3f1f6-3d53-4f0b-9d6b-4a3f5d5a7c02")
_HEAD = sa.table("gantt_head", sa.column("format"))
_LOG = sa.table("gantt_log", sa.column("revision"))


def upgrade() -> None:
    create_table(
        _NEW,
        *row_id(),
        *_claim(),
        *texts("item"),
        *required(exact(8), "role"),
        *texts("name", "project", "plan"),
        *required(exact(64), "digest"),
        sa.Column("starts_at", sa.BigInteger),
        sa.Column("ends_at", sa.BigInteger),
        sa.Column("released", Json),
        sa.Column("labels", Json),
        unique(_NEW, "instance_uuid", "item", "role"),
    )
    create_index(f"{_NEW}_claim_idx", _NEW, ["claim"])
    connection = op.get_bind()
    was = head.lock(connection)
    if sa.inspect(connection).has_table(_OLD):
        connection.execute(sa.delete(_BOOKINGS))  # of an attempt that broke off
        _move(connection)
    if was == FORMAT - 1:
        _raise_format(connection)
    if sa.inspect(connection).has_table(_OLD):
        op.drop_table(_OLD)


def _claim() -> tuple[sa.Column[Any], ...]:
    """The columns that claims had already."""
    return (
        *required(exact(64), "claim"),
        uuid("instance_uuid"),
        *required(sa.Integer, "host_id", "vcpus"),
        *required(sa.BigInteger, "memory_mb", "disk_mb"),
        uuid("group_uuid", nullable=True),
        sa.Column("leased_until", sa.BigInteger),
        sa.Column("consumer_generation", sa.Integer),
        sa.Column("remote", Json),
        sa.Column("topology", Json),
        sa.Column("counted_at", sa.BigInteger),
        sa.Column("answered", Json),
    )


def _move(connection: sa.Connection) -> None:
    """Bookings keep the ids that they had as claims."""
    role = sa.case((_CLAIMS.c.topology.like('%"held_by":"%'), "source"), else_="target")
    nothing: list[Any] = [sa.literal_column("''")] * len(_NAMES)
    claims = sa.select(*_CLAIMS.c, role, *nothing)
    connection.execute(sa.insert(_BOOKINGS).from_select(_BOOKINGS.c.keys(), claims))
    b = _BOOKINGS.c
    plans: dict[tuple[str, str], dict[str, Any]] = {}
    for values in (*_of_claims(connection), *_of_instances(connection)):
        place = values["project"], values["plan"]
        known = plans.setdefault(place, {**values, "placements": []})
        known["placements"].append(values.pop("placement"))
        key = values.pop("id", None)
        if key is None:
            _insert(connection, **values)
        else:
            connection.execute(sa.update(_BOOKINGS).where(b.id == key).values(values))
    for (project, plan), known in plans.items():
        if plan:
            _remember(connection, project, plan, known)


def _of_claims(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """What claims of things by name are to say: those in column, and the placement."""
    c, h = _BOOKINGS.c, _HOSTS.c
    named = (
        sa.select(*(c[one] for one in _KEPT), h.host, h.node)
        .select_from(_BOOKINGS.outerjoin(_HOSTS, c.host_id == h.id))
        .where(c.role == "target", c.answered.like('%"booked":{%'))
        .order_by(c.id)
    )
    for one in connection.execute(named).all():
        answered = json.decode(one.answered)
        said = _called(answered["booked"])
        at = one.host or "", one.node or ""
        yield {
            **said,
            "id": one.id,
            "answered": None,
            "leased_until": one.leased_until,
            "created_at": one.created_at,
            "placement": _placement(
                said, one.instance_uuid, *at, answered["allocations"]
            ),
        }


def _of_instances(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """What things by name are to say whose claims have ended, as hosts name them."""
    i, h = _INSTANCES.c, _HOSTS.c
    named = sa.select(i.id, i.uuid, i.facts, i.host, i.created_at).where(
        i.facts.like('%"_booked":{%')
    )
    for one in connection.execute(named.order_by(i.id)).all():
        facts = json.decode(one.facts)
        said = _called(facts.pop("_booked"))
        text = json.encode(facts, order="sorted").decode()
        changed = sa.update(_INSTANCES).where(i.id == one.id).values(facts=text)
        connection.execute(changed)
        has_claim = sa.select(_BOOKINGS.c.id).where(
            _BOOKINGS.c.instance_uuid == one.uuid, _BOOKINGS.c.name != ""
        )
        if connection.execute(has_claim).first() is None:
            nodes = sa.select(h.node).where(h.host == one.host)
            found = [row.node for row in connection.execute(nodes)]
            node = found[0] if len(found) == 1 else ""
            yield {
                **said,
                "instance_uuid": one.uuid,
                "created_at": one.created_at,
                "placement": _placement(said, one.uuid, one.host, node, {}),
            }


def _called(booked: dict[str, str]) -> dict[str, str]:
    return {name: booked.get(name, "") for name in _NAMES}


def _placement(
    said: dict[str, str], uuid: str, host: str, node: str, allocations: Any
) -> dict[str, Any]:
    names = {"name": said["name"], "host": host, "node": node, "item": said["item"]}
    return {**names, "uuid": uuid, "allocations": allocations}


def _remember(
    connection: sa.Connection, project: str, plan: str, known: dict[str, Any]
) -> None:
    """The plan itself, with the answer to an equal demand."""
    uuid = str(uuid5(uuid5(_PLANS, project), plan))
    answer = {
        "placements": known["placements"],
        "plan": plan,
        "claim": uuid,
        "leased_until": known.get("leased_until"),
    }
    _insert(
        connection,
        instance_uuid=uuid,
        role="plan",
        answered=json.encode(answer).decode(),
        created_at=known["created_at"],
        **_called({"project": project, "plan": plan, "digest": known["digest"]}),
    )


def _insert(connection: sa.Connection, **values: Any) -> None:
    """A booking of no claim."""
    last = connection.execute(sa.select(sa.func.max(_BOOKINGS.c.id))).scalar()
    none = dict.fromkeys(("host_id", "vcpus", "memory_mb", "disk_mb"), 0)
    row = {"id": (last or 0) + 1, "claim": "", "role": "target", **none, **values}
    connection.execute(sa.insert(_BOOKINGS).values(row))


def _raise_format(connection: sa.Connection) -> None:
    """Where nothing was ever written there is no process to stop."""
    if connection.execute(sa.select(_LOG.c.revision).limit(1)).first() is None:
        connection.execute(sa.update(_HEAD).values(format=FORMAT))
    else:
        head.begin_history(connection, head.UPGRADE, becomes=FORMAT)


def downgrade() -> None:
    """Claims as they were; what is called how is forgotten."""
    create_table(
        _OLD,
        *row_id(),
        *_claim(),
        unique(_OLD, "instance_uuid"),
    )
    create_index(f"{_OLD}_claim_idx", _OLD, ["claim"])
    of_claims = sa.select(*(_BOOKINGS.c[one] for one in _KEPT))
    of_claims = of_claims.where(_BOOKINGS.c.claim != "")
    op.get_bind().execute(sa.insert(_CLAIMS).from_select(list(_KEPT), of_claims))
    op.drop_table(_NEW)
