"""One suite for every Gantt that schedules: in this process, and over HTTP."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from gantt import errors
from gantt.client import SchedulerClient
from gantt.model.fleet import (
    Cell,
    FleetNames,
    FleetStatement,
    HostReport,
)
from gantt.model.forms.selection import selection_primitive
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.spec import Destination, Flavor, RequestSpec, ScheduleRequest
from tests import inprocess
from tests.api.native import fleet
from tests.model.forms import objects

STATS = {
    **fleet.STATS,
    "memory_mb": 8192,
    "free_ram_mb": 8192,
    "supported_instances": '[["x86_64", "kvm", "hvm"]]',
}
SPEC = RequestSpec(
    flavor=Flavor(vcpus=2, memory_mb=2048, root_gb=10), project_id="p", user_id="u"
)


@pytest.fixture(params=inprocess.DOORS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SchedulerClient]:
    """A client of each kind, of a Gantt with three hosts."""
    with inprocess.opened(request.param, tmp_path) as books:
        found = SchedulerClient(books)
        for host in ("h1", "h2", "h3"):
            found.update_service(None, {"host": host})
            found.update_resource_stats(None, (host, host), STATS)
        yield found


def some(count: int) -> list[str]:
    return [str(uuid4()) for _ in range(count)]


def used(client: SchedulerClient, host: str) -> int:
    """What claims take of the memory of ``host``."""
    (view,) = client.gantt.list_hosts(host=host)
    return view.claimed["memory_mb"]


# -- asking -----------------------------------------------------------------------


def test_every_instance_gets_a_host_and_alternates(client: SchedulerClient) -> None:
    instances = some(2)
    found = client.select_destinations(None, SPEC, instance_uuids=instances)
    assert len(found) == 2
    for hosts in found:
        chosen, *alternates = hosts
        assert chosen.claim
        assert all(each.claim is None for each in alternates)
        assert chosen.service_host not in {each.service_host for each in alternates}
        assert selection_primitive(chosen)["nova_object.name"] == "Selection"
    total = sum(used(client, host) for host in ("h1", "h2", "h3"))
    assert total == 2 * 2048


def test_claims_are_in_the_books(client: SchedulerClient) -> None:
    (instance,) = some(1)
    ((chosen,),) = client.select_destinations(
        None, SPEC, instance_uuids=[instance], return_alternates=False
    )
    books: Any = client.gantt
    found = books.get_allocations(instance)
    asked = json.loads(chosen.allocation_request or "null")["allocations"]
    assert {uuid: share.resources for uuid, share in found.allocations.items()} == {
        uuid: share["resources"] for uuid, share in asked.items()
    }


def test_request_without_instances_claims_nothing(client: SchedulerClient) -> None:
    ((chosen, *_),) = client.select_destinations(None, SPEC)
    assert chosen.claim is None
    assert used(client, chosen.service_host) == 0


@pytest.mark.parametrize(
    ("form", "properties"),
    [
        (objects.small(ignore_hosts=["h1", "h2"]), None),
        ({"instance_type": objects.FLAVOR_FIELDS}, {"ignore_hosts": ["h1", "h2"]}),
        ({"flavor": {"vcpus": 1}, "ignore_hosts": ["h1", "h2"]}, None),
    ],
)
def test_every_request_form_is_read(
    client: SchedulerClient, form: Any, properties: Any
) -> None:
    found = client.select_destinations(None, form, properties)
    assert [[each.service_host for each in hosts] for hosts in found] == [["h3"]]


def test_selection_is_atomic(client: SchedulerClient) -> None:
    # Four to a host: the thirteenth has no place.
    with pytest.raises(errors.NoValidHost) as caught:
        client.select_destinations(None, SPEC, instance_uuids=some(13))
    assert caught.value.why is not None
    assert [used(client, host) for host in ("h1", "h2", "h3")] == [0, 0, 0]
    found = client.select_destinations(None, SPEC, instance_uuids=some(12))
    assert len(found) == 12


def test_dry_run_claims_nothing(client: SchedulerClient) -> None:
    decision = client.select_destinations(
        None, SPEC, instance_uuids=some(1), dry_run=True
    )
    assert {score.host for score in decision.scores} == {"h1", "h2", "h3"}
    assert decision.is_dry_run
    assert decision.failure is None
    assert [used(client, host) for host in ("h1", "h2", "h3")] == [0, 0, 0]


def test_dry_run_without_hosts_returns_a_decision(client: SchedulerClient) -> None:
    large = {"flavor": {"vcpus": 9}}
    decision = client.select_destinations(None, large, dry_run=True)
    assert decision.failure
    assert decision.why is not None


def test_lease_is_confirmed_or_released(client: SchedulerClient) -> None:
    ((kept, *_),) = client.select_destinations(
        None, SPEC, instance_uuids=some(1), lease=600
    )
    client.confirm(kept)
    ((dropped, *_),) = client.select_destinations(
        None, SPEC, instance_uuids=some(1), lease=600
    )
    client.release(dropped)
    assert sum(used(client, host) for host in ("h1", "h2", "h3")) == 2048
    with pytest.raises(errors.NotFound):
        client.release(dropped)
    with pytest.raises(errors.ClaimExpired):
        client.confirm(dropped)


def test_decisions_are_explained(client: SchedulerClient) -> None:
    context = {"user_id": "u", "project_id": "p", "request_id": f"req-{uuid4()}"}
    (instance,) = some(1)
    ((chosen, *_),) = client.select_destinations(
        context, SPEC, instance_uuids=[instance]
    )
    decision = client.explain(context["request_id"])
    assert decision.chosen[0][0].service_host == chosen.service_host
    assert client.explain(instance_uuid=instance).request_id == decision.request_id
    with pytest.raises(errors.NotFound):
        client.explain("req-unheard-of")


def test_capacity_counts_what_fits(client: SchedulerClient) -> None:
    found = client.capacity(SPEC)
    assert found.total == 12
    assert found.hosts == {"h1": 4, "h2": 4, "h3": 4}
    assert found.limits == {"MEMORY_MB": 3, "VCPU": 3}
    client.select_destinations(None, SPEC, instance_uuids=some(5))
    assert client.capacity(SPEC.flavor).total == 7
    assert client.capacity(Flavor(vcpus=9)).total == 0


# -- telling ----------------------------------------------------------------------


def test_partial_report_keeps_other_fields(client: SchedulerClient) -> None:
    view = client.update_resource_stats(None, "h1", {"free_ram_mb": 1000})
    assert (view.host, view.node) == ("h1", "h1")
    assert view.stats["free_ram_mb"] == 1000
    assert view.stats["vcpus"] == 8


def test_refusals_name_the_field(client: SchedulerClient) -> None:
    with pytest.raises(errors.Invalid, match="vcpu"):
        client.update_resource_stats(None, "h1", {"vcpu": 1})
    with pytest.raises(errors.Invalid, match="flavor"):
        client.select_destinations(None, {"flavour": {}})


def test_request_id_is_as_long_as_tables_hold(client: SchedulerClient) -> None:
    longest = {"user_id": "u", "project_id": "p", "request_id": "x" * 255}
    client.select_destinations(longest, SPEC, instance_uuids=[str(uuid4())])
    assert client.explain("x" * 255).request_id == "x" * 255
    with pytest.raises(errors.Invalid, match=r"request_id has 256 .* limit is 255"):
        client.select_destinations({**longest, "request_id": "x" * 256}, SPEC)


def test_disabled_service_is_not_selected(client: SchedulerClient) -> None:
    client.update_service(None, {"host": "h1", "disabled": True})
    client.update_service(None, {"host": "h2", "forced_down": True})
    ((chosen, *alternates),) = client.select_destinations(None, SPEC)
    assert (chosen.service_host, alternates) == ("h3", [])


def test_aggregates_of_hosts_are_in_the_books(client: SchedulerClient) -> None:
    aggregate = {"id": 1, "uuid": str(uuid4()), "name": "a", "hosts": ["h2"]}
    client.update_aggregates(None, [aggregate])
    (view,) = client.gantt.list_hosts(host="h2")
    books: Any = client.gantt
    found = books.get_aggregates(view.provider_uuid)
    assert found.aggregates == (aggregate["uuid"],)
    place = Destination(aggregates=(frozenset({str(aggregate["uuid"])}),))
    asked = RequestSpec(flavor=SPEC.flavor, requested_destination=place)
    ((chosen, *_),) = client.select_destinations(None, asked)
    assert chosen.service_host == "h2"
    client.delete_aggregate(None, aggregate)
    assert client.gantt.list_host_aggregates() == ()
    with pytest.raises(errors.NoValidHost):
        client.select_destinations(None, asked)


def test_reported_instance_ends_its_pending_claim(client: SchedulerClient) -> None:
    (instance,) = some(1)
    ((chosen, *_),) = client.select_destinations(None, SPEC, instance_uuids=[instance])
    host = chosen.service_host
    client.update_instance_info(None, host, {"uuid": instance})
    assert used(client, host) == 0
    assert client.sync_instance_info(None, host, [instance])
    assert not client.sync_instance_info(None, host, some(1))
    client.delete_instance_info(None, host, instance)


def test_server_group_policy_is_enforced(client: SchedulerClient) -> None:
    group = {"uuid": str(uuid4()), "policy": "anti-affinity"}
    client.update_server_group(None, group)
    asked = {"flavor": {"vcpus": 1}, "instance_group": group}
    found = client.select_destinations(None, asked, instance_uuids=some(3))
    assert {hosts[0].service_host for hosts in found} == {"h1", "h2", "h3"}
    with pytest.raises(errors.NoValidHost):
        client.select_destinations(None, asked, instance_uuids=some(1))
    client.delete_server_group(None, group)


# -- values that are none ---------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda c: c.update_service(None, Service("h1", disabled=cast(Any, "x"))),
            "service.disabled must be true or false, not 'x'.",
        ),
        (
            lambda c: c.gantt.update_host("h1", "h1", HostStats(uuid=cast(Any, 5))),
            "stats.uuid must be text, not 5.",
        ),
        (
            lambda c: c.gantt.update_host(
                "h1", "h1", HostStats(cpu_allocation_ratio=math.nan)
            ),
            "stats.cpu_allocation_ratio must be a number that is not negative and not "
            "too large, not nan.",
        ),
        (
            lambda c: c.select_destinations(
                None, RequestSpec(Flavor(vcpus=cast(Any, "x")))
            ),
            "request_spec.flavor.vcpus must be an integer, not 'x'.",
        ),
        (
            lambda c: c.gantt.schedule(
                ScheduleRequest(SPEC, (str(uuid4()),), lease_s=math.nan)
            ),
            "lease must be a number of seconds above 0 and at most 86400, not nan.",
        ),
        (
            lambda c: c.select_destinations(
                None, SPEC, instance_uuids=some(1), lease=-1
            ),
            "lease must be a number of seconds above 0 and at most 86400, not -1.",
        ),
        (
            lambda c: c.gantt.capacity(RequestSpec(num_instances=0)),
            "request_spec.num_instances must be an integer from 1 to 2147483647, not "
            "0.",
        ),
        (
            lambda c: c.gantt.set_server_group(
                ServerGroup(str(UUID(int=1)), name=5)  # type: ignore[arg-type]
            ),
            "group.name must be text, not 5.",
        ),
        (
            lambda c: c.gantt.sync_instances("h1", [""]),
            "instance_uuids.0 is empty; it must be a name.",
        ),
    ],
)
def test_invalid_values_are_refused_alike(
    client: SchedulerClient, ask: Any, words: str
) -> None:
    with pytest.raises(errors.Invalid) as caught:
        ask(client)
    assert caught.value.message == words


# -- a whole fleet ----------------------------------------------------------------


def test_a_fleet_in_one_statement(client: SchedulerClient) -> None:
    (first, *_), group = some(3), ServerGroup(some(1)[0], policy="affinity")
    stats = HostStats(vcpus=4, memory_mb=4096, free_disk_gb=10)
    aggregate = HostAggregate(some(1)[0], "a", 7, frozenset({"h4"}), {"k": "v"})
    hosts = tuple(HostReport(f"n{number}", "n", stats) for number in range(120))
    statement = FleetStatement(
        cells=(Cell(first, disabled=True),),
        services=(Service("h4", disabled=True, last_seen_up=None),),
        hosts=(*hosts, HostReport("h4", "h4", stats)),
        aggregates=(aggregate,),
        groups=(group,),
        instances={"h4": (Instance(first, {"flavorid": "m1"}),)},
    )
    assert client.gantt.set_fleet(statement) == ()
    (host,) = client.gantt.list_hosts(host="h4")
    assert (host.stats["vcpus"], host.instances) == (4, (first,))
    assert (host.aggregates, host.service["disabled"]) == ((aggregate.uuid,), True)
    assert client.gantt.list_host_aggregates() == (aggregate,)
    bad = FleetStatement(hosts=(HostReport("h5", "h5", HostStats(uuid="x")),))
    (refused,) = client.gantt.set_fleet(bad)
    assert (refused.what, "uuid" in refused.why) == ("host h5, node h5", True)
    names = FleetNames(
        hosts=frozenset({("h4", "h4")}), services=frozenset({("h4", "nova-compute")})
    )
    assert client.gantt.set_fleet(FleetStatement(names=names)) == ()
    assert [one.host for one in client.gantt.list_hosts()] == ["h4"]
    assert client.gantt.list_host_aggregates() == ()
    client.gantt.delete_service("h4")
    (host,) = client.gantt.list_hosts()
    assert host.service == {}
