"""``gantt host disable`` and ``enable``, and the lists of a fleet beside its hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.client.remote import RemoteGantt
from gantt.model.hosts import HostAggregate, ServerGroup, Service
from tests import inprocess
from tests.cli.conftest import Program

GROUP = "22222222-2222-4222-8222-222222222222"
MEMBER = "33333333-3333-4333-8333-333333333333"
AGGREGATES = tuple(f"4444444{n}-4444-4444-8444-444444444444" for n in range(3))
SMALL = "vcpus=1,memory_mb=64,disk_gb=1"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Hosts h1 and h2, each with a nova-compute."""
    with inprocess.service(tmp_path) as url:
        found = Program(gantt, url)
        for host in ("h1", "h2"):
            report = ("vcpus=4", "memory_mb=1024", "local_gb=9", "free_ram_mb=1024")
            found.do("host", "update", host, *report, "free_disk_gb=9")
            books(found).update_service(Service(host))
        yield found


def books(program: Program) -> RemoteGantt:
    """The library on the same service."""
    return RemoteGantt(program.url, token="admin")


def chosen(program: Program) -> set[str]:
    """The hosts that pass for a small instance."""
    return set(program.ask("capacity", SMALL)[0]["hosts"])


def state(program: Program) -> tuple[str, str | None]:
    """Of h1, and why."""
    shown = program.ask("host", "show", "h1", "-c", "state", "-c", "reason")
    return shown["state"], shown["reason"]


def test_a_disabled_host_is_chosen_no_more_until_it_is_enabled(
    program: Program,
) -> None:
    assert chosen(program) == {"h1", "h2"}
    (row,) = program.ask("host", "disable", "h1", "--reason", "memory is replaced")
    assert row == {"host": "h1", "state": "disabled", "reason": "memory is replaced"}
    assert chosen(program) == {"h2"}
    assert "disabled" in program.do("host", "list")
    assert state(program) == ("disabled", "memory is replaced")
    # Neither its report nor its service ends it.
    program.do("host", "update", "h1", "vcpus=5")
    books(program).update_service(Service("h1", disabled=False))
    assert chosen(program) == {"h2"}
    (row,) = program.ask("host", "enable", "h1")
    assert row == {"host": "h1", "state": "enabled", "reason": None}
    assert chosen(program) == {"h1", "h2"}
    program.do("host", "enable", "h1")


def test_all_hosts_are_known_before_the_first_is_disabled(program: Program) -> None:
    said = program.fail("host", "disable", "h1", "gone", "--reason", "x")
    assert "There is no host gone" in said
    assert chosen(program) == {"h1", "h2"}


def test_a_host_of_nova_that_is_disabled_tells_novas_reason(program: Program) -> None:
    said = Service("h1", disabled=True, disabled_reason="rack 4 is moved")
    books(program).update_service(said)
    assert state(program) == ("disabled", "rack 4 is moved")
    (row,) = program.ask("host", "enable", "h1")
    assert row["state"] == "disabled", "that is Nova's to end"


def test_a_deleted_host_comes_back_enabled(program: Program) -> None:
    program.do("host", "disable", "h1", "--reason", "x")
    program.do("host", "delete", "h1")
    program.do("host", "update", "h1", "vcpus=4")
    assert state(program)[0] == "enabled"


def test_a_deleted_host_comes_back_with_the_size_that_it_has_then(
    program: Program,
) -> None:
    program.do("host", "update", "h1", "vcpus=16", "memory_mb=32768")
    program.do("host", "delete", "h1")
    program.do("host", "update", "h1", "vcpus=4", "memory_mb=8192", "free_disk_gb=9")
    large, fits = "memory_mb=16384", "memory_mb=8192"
    assert program.ask("capacity", large)[0]["total"] == 0
    assert program.ask("capacity", fits)[0]["total"] == 1


def test_services_are_listed_by_page(program: Program) -> None:
    program.do("host", "disable", "h2", "--reason", "x")
    every = program.ask("service", "list")
    assert [(one["host"], one["binary"], one["reason"]) for one in every] == [
        ("h1", "nova-compute", None),
        ("h2", "gantt-operator", "x"),
        ("h2", "nova-compute", None),
    ]
    first = program.do("service", "list", "--limit", "1", "-o", "value", "-c", "host")
    assert first.split("\n")[0] == "h1"
    rest = program.ask("service", "list", "--marker", "nova-compute@h1")
    assert rest == every[1:]
    assert program.ask("service", "list", "--binary", "gantt-operator") == every[1:2]
    assert program.ask("service", "list", "--host", "h1") == every[:1]
    assert "must be BINARY@HOST" in program.fail("service", "list", "--marker", "h1")


def test_server_groups_are_listed(program: Program) -> None:
    group = ServerGroup(GROUP, "g", "anti-affinity", members=frozenset({MEMBER}))
    books(program).set_server_group(group)
    (row,) = program.ask("server-group", "list")
    assert row == {
        "uuid": GROUP,
        "name": "g",
        "policy": "anti-affinity",
        "max_server_per_host": 1,
        "members": [MEMBER],
    }
    assert program.ask("server-group", "list", "--member", MEMBER) == [row]
    assert program.ask("server-group", "list", "--member", GROUP) == []
    assert program.ask("server-group", "list", "--marker", GROUP) == []


def test_aggregates_of_hosts_are_listed_by_page(program: Program) -> None:
    books(program).set_host_aggregates(
        HostAggregate(
            uuid,
            f"a{number}",
            hosts=frozenset({"h1"} if number else ()),
            metadata={"availability_zone": f"z{number % 2}"},
        )
        for number, uuid in enumerate(AGGREGATES)
    )
    every = program.ask("host-aggregate", "list")
    assert [(one["name"], one["zone"], one["hosts"]) for one in every] == [
        ("a0", "z0", []),
        ("a1", "z1", ["h1"]),
        ("a2", "z0", ["h1"]),
    ]
    assert program.ask("host-aggregate", "list", "--marker", AGGREGATES[0]) == every[1:]
    assert program.ask("host-aggregate", "list", "--limit", "2") == every[:2]
    assert program.ask("host-aggregate", "list", "--zone", "z1") == every[1:2]
    assert program.ask("host-aggregate", "list", "--host", "h1") == every[1:]
    gone = program.fail("host-aggregate", "list", "--marker", GROUP)
    assert "begin without a marker" in gone
