"""Every invariant of check_fleet.py can fail: each is broken on purpose once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.state import check
from gantt.state.fleet_columns import Fleet
from tests.state.books import filled, service

Break = Callable[[Fleet], object]


def column(name: str, value: Any, row: int = 0) -> Break:
    return lambda fleet: getattr(fleet.hosts, name).__setitem__(row, value)


def code(row: int, value: int) -> Break:
    """Another code in the one factor that is kept."""

    def breaking(fleet: Fleet) -> None:
        (factor,) = fleet.hosts.factors()
        factor.reserve(row + 1)
        factor.codes[row] = value

    return breaking


def leave_behind(what: Break) -> Break:
    """Host 2 goes, and its row afterwards bears something again."""

    def breaking(fleet: Fleet) -> None:
        fleet.hosts.remove(2)
        what(fleet)

    return breaking


def lose_host(fleet: Fleet) -> None:
    fleet.hosts.remove(1)


BREAKS: dict[str, tuple[Break, str]] = {
    "id of a host": (
        lambda f: f.hosts.row_by_id.update({1: 1}),
        "host h1/n1: its id leads to another row",
    ),
    "names of a host": (
        lambda f: f.hosts.by_place.pop(("h1", "n1")),
        "host h1/n1: its names lead to another row",
    ),
    "nodes of a host": (
        lambda f: f.hosts._by_host.pop("h1"),
        "host h1/n1: not among the nodes of its host",
    ),
    "uuid of a host": (
        lambda f: f.hosts._by_uuid.clear(),
        "host h1/n1: provider uuid root leads nowhere",
    ),
    "provider of a host": (
        column("provider", 3),
        "host h1/n1: its provider is row 3, uuid root is row 0",
    ),
    "hosts of a provider": (
        lambda f: f.hosts.rows_by_provider.clear(),
        "host h1/n1: not among the hosts of its provider",
    ),
    "what was read": (
        lambda f: f.hosts.stats.__setitem__(0, {}),
        "host h1/n1: what it reports was read as something else",
    ),
    "an amount": (
        column("total_ram_mb", 7),
        "host h1/n1: total_ram_mb is 7, not 2048",
    ),
    "claimed vcpus": (
        column("claimed_vcpus", 3),
        "host h1/n1: claimed_vcpus is 3, not 2",
    ),
    "claimed memory": (
        column("claimed_memory_mb", 0),
        "host h1/n1: claimed_memory_mb is 0, not 256",
    ),
    "claimed disk": (
        column("claimed_disk_mb", 9, 1),
        "host h2/n2: claimed_disk_mb is 9, not 0",
    ),
    "claimed instances": (
        column("claimed_instances", 2),
        "host h1/n1: claimed_instances is 2, not 1",
    ),
    "used vcpus": (column("vcpus_used", 4), "host h1/n1: vcpus_used is 4, not 6"),
    "free memory": (
        column("free_ram_mb", 1536),
        "host h1/n1: free_ram_mb is 1536, not 1280",
    ),
    "free disk": (
        column("free_disk_mb", 1),
        "host h1/n1: free_disk_mb is 1, not 61440",
    ),
    "instances": (
        column("num_instances", 3),
        "host h1/n1: num_instances is 3, not 4",
    ),
    "builds": (column("num_io_ops", 1), "host h1/n1: num_io_ops is 1, not 2"),
    "service of a host": (
        column("is_disabled", True),
        "host h1/n1: bears (True, True, False, 5, 'cell') of its service",
    ),
    "service of none": (
        column("has_service", True, 1),
        "of its service None",
    ),
    "cell": (
        lambda f: f.hosts.cells.__setitem__(0, "else"),
        "host h1/n1: bears (True, False, False, 5, 'else') of its service",
    ),
    "aggregates of a host": (
        lambda f: f.hosts.aggregates.set(0, 0, False),
        "host h1/n1: bears the aggregates set(), not {0}",
    ),
    "a factor": (
        code(0, 0),
        "host h1/n1: cpu_info.arch is taken for None",
    ),
    "a factor of nothing": (
        code(1, 1),
        "host h2/n2: cpu_info.arch is taken for 'x86_64'",
    ),
    "a factor of no host": (
        leave_behind(code(1, 1)),
        "factor cpu_info.arch: has a value where there is no host",
    ),
    "an aggregate that is gone": (
        leave_behind(lambda f: f.hosts.aggregates.set(1, 0, True)),
        "row 1: no host, yet it is in an aggregate",
    ),
    "place of a service": (
        lambda f: f.services.by_place.update(
            {("h1", "nova-compute"): service(9, "h1")}
        ),
        "service 1: its host and binary lead elsewhere",
    ),
    "places of services": (
        lambda f: f.services.by_place.update({("h3", "x"): service(9, "h3")}),
        "services: 3 places of 2 rows",
    ),
    "oldest service": (
        lambda f: f.services._compute_versions.update({-1: 1}),
        "services: the oldest is said to be -1",
    ),
    "uuid of an aggregate": (
        lambda f: f.aggregates.by_uuid.update({"aggregate-1": None}),  # type: ignore[dict-item]
        "host aggregate aggregate-1: its uuid leads elsewhere",
    ),
    "number of an aggregate": (
        lambda f: f.aggregates.by_number.clear(),
        "host aggregate aggregate-1: number 1 leads nowhere",
    ),
    "number of another": (
        lambda f: f.aggregates.by_number.update({5: f.aggregates.by_id[1]}),
        "host aggregates: number 5 leads to aggregate-1",
    ),
    "hosts of an aggregate": (
        lambda f: f.aggregates.hosts.update({"aggregate-1": frozenset()}),
        'host aggregate aggregate-1: its hosts are not ["h1", "h9"]',
    ),
    "metadata": (
        lambda f: f.aggregates.metadata.update({"aggregate-1": {"a": "b"}}),
        "host aggregate aggregate-1: its metadata are not {}",
    ),
    "aggregates by host": (
        lambda f: f.aggregates._of_host.pop("h9"),
        "host aggregate aggregate-1: not among the aggregates of h9",
    ),
    "columns of aggregates": (
        lambda f: f.aggregates.index.update({"ghost": 0}),
        "host aggregates: the columns are {'aggregate-1': 0, 'ghost': 0}",
    ),
    "uuid of an instance": (
        lambda f: f.instances.by_uuid.clear(),
        "instance alice: its uuid leads elsewhere",
    ),
    "instances of a host": (
        lambda f: f.instances._on.clear(),
        "instance alice: not among those on h1",
    ),
    "instances of another": (
        lambda f: f.instances._on.update({"h2": {"x": f.instances.by_id[1]}}),
        "instances: 2 on hosts, 1 in all",
    ),
    "group of an instance": (
        lambda f: f.instances._group_of.update({"alice": "group-1"}),
        "instance alice: not the member of group None that it is",
    ),
    "uuid of a group": (
        lambda f: f.groups.by_uuid.clear(),
        "server group group-1: its uuid leads elsewhere",
    ),
    "members": (
        lambda f: f.groups.members.clear(),
        'server group group-1: its members are not ["alice"]',
    ),
    "claim of an instance": (
        lambda f: f.claims.by_instance.update(
            bob=replace(f.claims.by_id[1], claim="another")
        ),
        "claim claim of bob: its instance leads to another",
    ),
    "a name of nothing": (
        lambda f: f.claims.booked.update(eve=f.claims.by_id[1]),
        "bookings: a name or a plan leads to another",
    ),
    "an instance without a claim": (
        lambda f: f.claims.by_instance.update(eve=f.claims.by_id[1]),
        "claims: an instance without a claim is said to have one",
    ),
    "rows of a claim": (
        lambda f: f.claims._of.clear(),
        "claim claim of bob: not among the rows of its claim",
    ),
    "claims on a host": (
        lambda f: f.claims._on.clear(),
        "claim claim of bob: not among the claims on host 1",
    ),
    "claims of a group": (
        lambda f: f.claims._in_group.clear(),
        "claim claim of bob: not among the claims of group group-1",
    ),
    "a lease": (
        lambda f: f.claims.leased.clear(),
        "claim claim of bob: leased until None, not 99",
    ),
    "a lease of nothing": (
        lambda f: f.claims.leased.update({9: 5}),
        "claims: a lease of no claim",
    ),
    "a claim on nothing": (lose_host, "claim claim of bob: host 1 is gone"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_invariant_is_found(name: str) -> None:
    breaking, message = BREAKS[name]
    state = filled()
    state.fleet.hosts.factor("cpu_info", "arch")
    assert check.problems(state) == []
    breaking(state.fleet)
    found = check.problems(state)
    assert any(message in problem for problem in found), found


def test_a_claim_ends_before_its_host() -> None:
    state = filled()
    old = state.get(t.HOSTS, 1)
    state.apply([Change(t.HOSTS, 1, old, None)], Cursor(2))
    assert check.problems(state) == ["claim claim of bob: host 1 is gone"]
