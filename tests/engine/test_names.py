"""Names from outside at their limits, on every database: kept exactly, or refused with
the field named before any of them is asked."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Invalid
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service

STATS = HostStats(running_vms=0)
UUID = str(uuid4())
LONG = "h" * 255
ODD = "\N{GRINNING FACE}\u202e<b>\N{ZERO WIDTH JOINER}'\"\\%"

Door = Callable[[Gantt, str], object]

DOORS: dict[str, Door] = {
    "host": lambda books, name: books.update_host(name, name[:9], STATS),
    "node": lambda books, name: books.update_host("host", name, STATS),
    "service": lambda books, name: books.update_service(Service(name)),
    "binary": lambda books, name: books.update_service(Service("h", binary=name)),
    "zone": lambda books, name: books.update_service(
        Service("h", availability_zone=name)
    ),
    "aggregate": lambda books, name: books.set_host_aggregates(
        (HostAggregate(UUID, name),)
    ),
    "aggregate's host": lambda books, name: books.set_host_aggregates(
        (HostAggregate(UUID, "a", hosts=frozenset({name})),)
    ),
    "metadata": lambda books, name: books.set_host_aggregates(
        (HostAggregate(UUID, "a", metadata={"key": name}),)
    ),
    "instance's host": lambda books, name: books.update_instances(
        name, (Instance(UUID),)
    ),
    "group": lambda books, name: books.set_server_group(ServerGroup(UUID, name)),
    "adopted": lambda books, name: books.adopt_host("host", name, dry_run=True),
}
"""What takes a name that it keeps."""


def check(books: Gantt) -> None:
    """The columns are what a database has."""
    if books.url != "memory://":
        assert books.verify().problems == ()


@pytest.mark.parametrize("door", DOORS)
def test_a_nul_is_refused_by_its_field(books: Gantt, door: str) -> None:
    with pytest.raises(Invalid, match="contains a NUL at 1; leave it out"):
        DOORS[door](books, "a\0b")


@pytest.mark.parametrize(
    "door", [door for door in DOORS if door not in ("node", "adopted")]
)
def test_names_of_255_letters_are_kept(books: Gantt, door: str) -> None:
    DOORS[door](books, LONG)
    DOORS[door](books, ODD)
    check(books)


def test_what_runs_is_named_as_its_column_holds(books: Gantt) -> None:
    uuid = "00000001-aaaa-4000-8000-000000000000"
    assert books.sync_instances("host", [uuid, f"{{{uuid}}}"]) is False
    assert [one.uuid for one in books.list_instances()] == [uuid]
    check(books)


def test_a_node_is_as_short_as_the_name_of_a_provider(books: Gantt) -> None:
    books.update_host("host", "n" * 200, STATS)
    books.update_host("host", ODD, STATS)
    with pytest.raises(Invalid, match="node has 201 characters; the limit is 200"):
        books.update_host("host", "n" * 201, STATS)
    assert {one.node for one in books.list_hosts()} == {"n" * 200, ODD}
    check(books)


def test_a_host_is_not_adopted_under_a_name_too_long_for_its_provider(
    books: Gantt,
) -> None:
    books.update_host("host", "host", STATS)
    with pytest.raises(Invalid, match="node has 201 characters"):
        books.adopt_host("host", "n" * 201)
    assert [one.node for one in books.list_hosts()] == ["host"]
