"""The RPC methods, called by Nova's own client over the wire format of RabbitMQ."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast
from uuid import NAMESPACE_OID, uuid5

import oslo_messaging as messaging
import pytest
from nova import exception, objects
from nova.objects import base
from nova.scheduler.rpcapi import SchedulerAPI

import gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import StoreFailed
from gantt.model.forms.document import VERSIONS
from gantt.model.scheduling import SchedulerProtocol, Selections
from gantt.model.spec import ScheduleRequest
from gantt.openstack.rpc import newer_fields
from gantt.openstack.rpc.faults import NOT_ENOUGH
from gantt.openstack.rpc.rpc_server import RpcServer
from gantt.scheduler.options import SchedulerOptions
from tests.openstack import fleet
from tests.openstack.conductor import (
    CONF,
    MEMORY,
    conductor,
    context,
    instances,
    options,
    ping,
    raw,
    spec,
)
from tests.openstack.marks import WARNED_BY_NOVA
from tests.waiting import until

pytestmark = WARNED_BY_NOVA


class Rig:
    """A scheduler on the bus, for books that are new for each test.

    Attributes that are not its own are those of the books.
    """

    keeps_names = True

    def __init__(self) -> None:
        self.gantt = Gantt.__new__(Gantt)
        self.reread: list[str] = []
        self.noted: list[str | None] = []
        self.server = RpcServer(
            cast(SchedulerProtocol, self), options(MEMORY), "one", self
        )
        self._before: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gantt, name)

    def begin(self, books: Gantt) -> None:
        self.gantt, self.reread, self.noted = books, [], []
        self._before = self.server.methods.counts()

    def note_update(self, *, host: str | None = None) -> None:
        self.noted.append(host)

    def reread_instances(self, host: str) -> None:
        self.reread.append(host)

    def counted(self, name: str) -> float:
        """How often in this test."""
        return self.server.methods.counts().get(name, 0) - self._before.get(name, 0)


@pytest.fixture(scope="module")
def served() -> Iterator[Rig]:
    rig = Rig()
    rig.server.start()
    yield rig
    rig.server.drain()


@pytest.fixture
def rig(served: Rig) -> Iterator[Rig]:
    # As `gantt scheduler` has it: Nova's API has judged names.
    chosen = EngineOptions(scheduler=SchedulerOptions(names_are_checked=True))
    books = gantt.connect("memory://", options=chosen)
    assert isinstance(books, Gantt)
    with books:
        served.begin(books)
        yield served


@contextmanager
def nova(version: str | None = None) -> Iterator[SchedulerAPI]:
    with conductor(MEMORY, version) as api:
        yield api


def test_selections_are_objects_that_a_conductor_can_read(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", "b", "c")
    wanted = instances(2)
    with nova() as api:
        found = api.select_destinations(context(), spec(), wanted, True, True)
    assert [len(each) for each in found] == [2, 2]
    for uuid, (chosen, alternate) in zip(wanted, found, strict=True):
        assert isinstance(chosen, objects.Selection)
        assert chosen.service_host == chosen.nodename
        assert chosen.compute_node_uuid == fleet.uuid_of(chosen.nodename)
        assert chosen.cell_uuid == fleet.CELL
        assert chosen.availability_zone == "nova"
        assert chosen.allocation_request_version == "1.36"
        assert chosen.limits.to_dict() == {}
        assert chosen.limits.numa_topology is None and chosen.limits.vcpu is None
        asked = json.loads(chosen.allocation_request)
        assert asked["mappings"] == {"": [chosen.compute_node_uuid]}
        view = rig.gantt.get_allocations(uuid)
        assert view is not None
        assert list(asked["allocations"]) == [chosen.compute_node_uuid]
        assert alternate.service_host not in {each[0].service_host for each in found}


def test_a_claim_needs_no_confirmation(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    (uuid,) = instances()
    with nova() as api:
        api.select_destinations(context("req-1"), spec(), [uuid], True)
    (record,) = rig.gantt.decisions(request_id="req-1")
    assert record.instance_uuids == (uuid,) and record.project_id == "project"
    rig.gantt.expire_claims()
    assert rig.gantt.get_allocations(uuid) is not None


def test_a_call_that_is_repeated_books_once(rig: Rig) -> None:
    """Conductors call again where no answer came in time."""
    fleet.add_hosts(rig.gantt, "a", "b", "c")
    wanted, asked = instances(2), spec()
    with nova() as api:
        first, again = (
            api.select_destinations(context(), asked, wanted, True, True)
            for _ in range(2)
        )
    for one, other in zip(first, again, strict=True):
        assert one[0].service_host == other[0].service_host
        assert one[0].allocation_request == other[0].allocation_request
    for uuid in wanted:
        view = rig.gantt.get_allocations(uuid)
        assert view is not None and len(view.allocations) == 1


def test_another_call_replaces_what_no_host_names(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", "b")
    (uuid,) = instances()
    with nova() as api:
        api.select_destinations(context(), spec(), [uuid], True)
        api.select_destinations(context(), spec(flavor={"vcpus": 2}), [uuid], True)
    view = rig.gantt.get_allocations(uuid)
    assert view is not None
    (share,) = view.allocations.values()
    assert share.resources["VCPU"] == 2


def test_an_evacuation_keeps_what_it_leaves_and_is_repeated(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", "b", "c")
    (uuid,) = instances()
    with nova() as api:
        ((chosen,),) = api.select_destinations(context(), spec(), [uuid], True)
        away = spec(ignore_hosts=[chosen.service_host])
        places = {
            api.select_destinations(context(), away, [uuid], True)[0][0].service_host
            for _ in range(2)
        }
    view = rig.gantt.get_allocations(uuid)
    assert view is not None and len(view.allocations) == 2
    assert len(places) == 1 and chosen.service_host not in places


def test_without_objects_the_answer_is_a_dict_for_each_instance(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    with nova("4.4") as api:
        found = api.select_destinations(context(), spec(), instances(2))
    assert found == [{"host": "a", "nodename": "a", "limits": {}}] * 2


@pytest.mark.parametrize("version", ["4.3", "4.0"])
def test_old_callers_name_no_instances_and_claim_themselves(
    rig: Rig, version: str
) -> None:
    fleet.add_hosts(rig.gantt, "a")
    asked = spec(num_instances=2, ignore_hosts=["b"], scheduler_hints={"k": ["v"]})
    with nova(version) as api:
        found = api.select_destinations(context(), asked, instances(2))
    assert [one["host"] for one in found] == ["a", "a"]
    assert set(rig.gantt.get_usages(fleet.uuid_of("a")).usages.values()) == {0}


def test_a_rebuild_is_checked_and_claims_nothing(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", "b")
    asked = spec(
        force_hosts=["b"],
        force_nodes=["b"],
        scheduler_hints={"_nova_check_type": ["rebuild"]},
    )
    with nova() as api:
        ((chosen,),) = api.select_destinations(context(), asked, instances(), True)
    assert (chosen.service_host, chosen.allocation_request) == ("b", "null")


@pytest.mark.parametrize("operation", ["migrate", "resize"])
def test_a_move_stays_in_its_cell_unless_it_may_leave(rig: Rig, operation: str) -> None:
    far = str(uuid5(NAMESPACE_OID, "cell2"))
    fleet.add_hosts(rig.gantt, "near1", "near2")
    fleet.add_hosts(rig.gantt, "far1", "far2", cell=far)
    cell = objects.CellMapping(uuid=fleet.CELL, name="cell1")

    def hosts(*, may_leave: bool, ignored: list[str]) -> list[str]:
        asked = spec(
            requested_destination=objects.Destination(
                cell=cell, allow_cross_cell_move=may_leave
            ),
            ignore_hosts=ignored,
            scheduler_hints={"_nova_check_type": [operation]},
        )
        (found,) = api.select_destinations(context(), asked, instances(), True, True)
        assert len({one.cell_uuid for one in found}) == 1  # alternates are in it too
        return sorted(one.service_host for one in found)

    with nova() as api:
        assert hosts(may_leave=False, ignored=[]) == ["near1", "near2"]
        assert hosts(may_leave=False, ignored=["near1"]) == ["near2"]
        with pytest.raises(exception.NoValidHost):
            hosts(may_leave=False, ignored=["near1", "near2"])
        # Allowed to leave, it still prefers its own cell.
        assert hosts(may_leave=True, ignored=["near1"]) == ["near2"]
        assert hosts(may_leave=True, ignored=["near1", "near2"]) == ["far1", "far2"]


# -- refusals ------------------------------------------------------------------------


def test_no_candidates_give_no_reason(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    with nova() as api, pytest.raises(exception.NoValidHost) as caught:
        api.select_destinations(
            context(), spec(flavor={"vcpus": 99}), instances(), True
        )
    assert caught.value.kwargs == {"reason": "", "code": 500}
    assert caught.value.format_message() == "No valid host was found. "


def test_hosts_that_filters_remove_give_the_reason_that_nova_gives(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", "b")
    with nova() as api, pytest.raises(exception.NoValidHost) as caught:
        api.select_destinations(
            context("req-7"), spec(ignore_hosts=["a", "b"]), instances(), True
        )
    assert caught.value.kwargs == {"reason": NOT_ENOUGH, "code": 500}
    (record,) = rig.gantt.decisions(request_id="req-7")
    assert record.why is not None  # has what the fault must not say
    assert "ignore" not in str(caught.value)


def test_too_few_hosts_for_all_instances_leave_nothing_claimed(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", vcpus=2)
    wanted = instances(3)
    with nova() as api, pytest.raises(exception.NoValidHost):
        api.select_destinations(context(), spec(), wanted, True)
    assert all(rig.gantt.get_allocations(uuid) is None for uuid in wanted)


def test_advice_for_operators_is_not_in_the_fault(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    wanted = instances(5000)
    with nova() as api, pytest.raises(exception.NoValidHost) as caught:
        api.select_destinations(context(), spec(), wanted, True)
    assert "max_instances" not in str(caught.value)
    assert caught.value.kwargs["reason"] == ""


def test_a_host_in_no_cell_is_refused_and_its_claim_released(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a", cell=None)
    (uuid,) = instances()
    with nova() as api, pytest.raises(exception.NoValidHost):
        api.select_destinations(context(), spec(), [uuid], True)
    assert rig.gantt.get_allocations(uuid) is None


def test_a_database_that_is_away_is_told_as_such(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreFailed("cannot reach db.example as gantt:secret")

    monkeypatch.setattr(rig.gantt, "schedule", fail)
    with nova() as api, pytest.raises(exception.ServiceUnavailable) as caught:
        api.select_destinations(context(), spec(), instances(), True)
    assert "secret" not in str(caught.value)


def test_a_bug_is_told_without_its_traceback(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(rig.gantt, "schedule", fail)
    with nova() as api, pytest.raises(exception.NovaException) as caught:
        api.select_destinations(context("req-9"), spec(), instances(), True)
    assert "req-9" in str(caught.value) and "secret" not in str(caught.value)


# -- long calls -----------------------------------------------------------------------


def test_a_long_call_sends_signs_of_life(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them the caller gives up after rpc_response_timeout."""
    fleet.add_hosts(rig.gantt, "a")
    schedule = rig.gantt.schedule

    def slow(request: ScheduleRequest) -> Selections:
        time.sleep(3.2)
        return schedule(request)

    monkeypatch.setattr(rig.gantt, "schedule", slow)
    with nova() as api:
        CONF.set_override("rpc_response_timeout", 2)
        try:
            ((chosen,),) = api.select_destinations(context(), spec(), instances(), True)
        finally:
            CONF.clear_override("rpc_response_timeout")
    assert chosen.service_host == "a"


# -- payloads that cannot be read ----------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"spec_obj": None}, "request_spec"),
        ({"spec_obj": ["list"]}, "request_spec"),
        ({"instance_uuids": "one"}, "instance_uuids"),
        ({"instance_uuids": []}, "instance_uuids"),
        ({"instance_uuids": [7]}, "instance_uuids.0"),
        ({"spec_obj.flavor": None}, "request_spec.flavor"),
        ({"spec_obj.ignore_hosts": 3}, "request_spec.ignore_hosts"),
        ({"spec_obj.version": "2.0"}, "2.0"),
    ],
)
def test_the_caller_hears_which_field_cannot_be_read(
    rig: Rig, change: dict[str, Any], named: str
) -> None:
    arguments = {**_arguments(), **change}
    for name in [name for name in arguments if "." in name]:
        field, value = name.partition(".")[2], arguments.pop(name)
        if field == "version":
            arguments["spec_obj"]["nova_object.version"] = value
        else:
            arguments["spec_obj"]["nova_object.data"][field] = value
    with nova(), pytest.raises(exception.Invalid) as caught:
        raw("select_destinations", **arguments)
    assert named in caught.value.format_message()
    assert rig.counted("rpc_unreadable") == 1


@pytest.mark.parametrize("request_id", [7, "x" * 256, "\ud800"])
def test_a_context_that_cannot_be_read_is_named(
    rig: Rig, request_id: object, caplog: pytest.LogCaptureFixture
) -> None:
    with nova(), pytest.raises(exception.Invalid, match="context.request_id"):
        raw("select_destinations", of={"request_id": request_id}, **_arguments())
    assert rig.counted("rpc_unreadable") == 1
    assert " -: cannot be read: context.request_id" in caplog.text


def test_the_longest_request_id_is_kept(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    with nova():
        raw("select_destinations", of={"request_id": "x" * 255}, **_arguments())
    assert len(rig.gantt.decisions(request_id="x" * 255)) == 1


def test_a_newer_request_is_accepted_and_its_new_fields_counted(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    arguments = _arguments()
    primitive = arguments["spec_obj"]
    primitive["nova_object.version"] = "1.99"
    primitive["nova_object.data"] |= {"mood": "blue", "colour": None}
    with nova():
        ((chosen,),) = raw("select_destinations", **arguments)
    assert chosen["nova_object.data"]["service_host"] == "a"
    assert rig.counted("rpc_unknown_fields") == 2


@pytest.mark.parametrize("version", ["1.15", "1.99"])
def test_new_fields_of_objects_within_a_request_are_counted(
    rig: Rig, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.add_hosts(rig.gantt, "a")
    arguments = _arguments()
    asked = arguments["spec_obj"]
    asked["nova_object.version"] = version
    data = asked["nova_object.data"]
    _renew(data["flavor"], "1.9", mood="blue", swap=0)
    _renew(data["image"]["nova_object.data"]["properties"], "1.99", hw_new="x")
    levels = objects.RequestLevelParams(root_required={"COMPUTE_NODE"})
    data["request_level_params"] = levels.obj_to_primitive()
    networks = objects.NetworkRequestList(objects=[objects.NetworkRequest()])
    data["requested_networks"] = networks.obj_to_primitive()
    (network,) = data["requested_networks"]["nova_object.data"]["objects"]
    _renew(network, "1.4", segment_id=None)
    _renew(data["limits"], "1.9", not_read=1)
    rig.server.methods._counts.clear()
    with nova(), suppress(exception.NoValidHost):
        raw("select_destinations", **arguments)
    assert rig.server.methods.counts()["rpc_unknown_fields"] == 3
    assert (
        "Flavor.mood, ImageMetaProps.hw_new, NetworkRequest.segment_id" in caplog.text
    )


@pytest.mark.parametrize("kind", sorted(newer_fields.KNOWN))
def test_known_fields_are_those_of_novas_objects(kind: str) -> None:
    (nova_kind, *_) = base.NovaObjectRegistry.obj_classes()[kind]
    assert VERSIONS[kind] == nova_kind.VERSION
    assert newer_fields.KNOWN[kind] == nova_kind.fields.keys()


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {"instance_type": {}},
        {"nova_object.data": {"flavor": [[{"nova_object.data": 1}], 7]}},
        {"nova_object.name": [], "nova_object.data": {}},
        {"nova_object.name": "Flavor", "nova_object.data": {"a": 1}},
        {
            "nova_object.name": "Flavor",
            "nova_object.version": "2.0",
            "nova_object.data": {"colour": 1},
        },
    ],
)
def test_forms_that_are_not_newer_objects_have_no_newer_fields(odd: Any) -> None:
    assert list(newer_fields.newer_fields(odd)) == []


def _renew(primitive: dict[str, Any], version: str, **fields: Any) -> None:
    """As of a release to come."""
    primitive["nova_object.version"] = version
    primitive["nova_object.data"] |= fields


class Stock:
    """A method and a version as a nova-scheduler has them, and nothing behind it."""

    target = messaging.Target(version="4.5")

    def select_destinations(self, context: Any, spec_obj: Any = None) -> None:
        """It is only there to be missed."""


@pytest.fixture(scope="module")
def stock(served: Rig) -> Iterator[str]:
    """The topic of a server that is the library's own."""
    transport = served.server._transport
    target = messaging.Target(exchange="nova", topic="stock", server="one")
    server = messaging.get_rpc_server(transport, target, [Stock()])
    server.start()
    yield "stock"
    server.stop()
    server.wait()


@pytest.mark.parametrize(
    ("method", "version", "arguments", "kind"),
    [
        ("select_destinations", "5.0", {}, "UnsupportedVersion"),
        ("select_destinations", "4.6", {}, "UnsupportedVersion"),
        ("select_destinations", "4.5", {"surprise": 1}, "TypeError"),
        ("no_such_method", "4.5", {}, "NoSuchMethod"),
        ("_select", "4.5", {}, "NoSuchMethod"),
    ],
)
@pytest.mark.parametrize("trusts_library", [False, True])
def test_what_is_not_of_the_interface_is_refused_as_by_the_library(
    rig: Rig,
    stock: str,
    method: str,
    version: str,
    arguments: dict[str, Any],
    kind: str,
    trusts_library: bool,
) -> None:
    """Nova's callers do not trust the library's module: they make a RemoteError."""
    trusted = ["oslo_messaging.rpc.dispatcher"] if trusts_library else []
    heard = []
    for topic in ("scheduler", stock):
        with (
            conductor(MEMORY, trusts=trusted),
            pytest.raises((Exception,)) as caught,
        ):
            raw(method, version, topic=topic, **arguments)
        text = (
            str(caught.value).partition("\n")[0].replace("Stock.", "SchedulerMethods.")
        )
        heard.append((type(caught.value).__name__, text))
    assert heard[0] == heard[1]
    made, text = heard[0]
    if kind == "TypeError":
        assert made == kind
    elif trusts_library:
        assert made == f"{kind}_Remote"
    else:
        assert made == "RemoteError"
        assert f"Remote error: {kind}" in text


def _arguments() -> dict[str, Any]:
    return {
        "spec_obj": spec().obj_to_primitive(),
        "instance_uuids": instances(),
        "return_objects": True,
        "return_alternates": True,
    }


# -- casts ---------------------------------------------------------------------------


def test_aggregates_are_replaced_and_deleted(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    zone = objects.Aggregate(
        id=3,
        uuid=fleet.uuid_of("zone"),
        name="zone",
        hosts=["a"],
        metadata={"availability_zone": "west"},
    )
    with nova() as api:
        api.update_aggregates(context(), objects.AggregateList(objects=[zone]))
        until(rig.gantt.list_host_aggregates)
        ((chosen,),) = api.select_destinations(context(), spec(), instances(), True)
        assert chosen.availability_zone == "west"
        zone.hosts = []
        api.update_aggregates(context(), [zone])
        until(lambda: not rig.gantt.list_host_aggregates()[0].hosts)
        api.delete_aggregate(context(), zone)
        until(lambda: not rig.gantt.list_host_aggregates())
    assert rig.noted == [None] * 3


def test_instances_are_told_of_and_forgotten(rig: Rig) -> None:
    fleet.add_hosts(rig.gantt, "a")
    uuid, other = instances(2)
    told = objects.InstanceList(objects=[objects.Instance(uuid=uuid)])

    def known() -> tuple[str, ...]:
        (host,) = rig.gantt.list_hosts()
        return host.instances

    with nova() as api:
        for _ in range(2):  # a duplicate changes nothing
            api.update_instance_info(context(), "a", told)
        until(lambda: known() == (uuid,))
        api.sync_instance_info(context(), "a", [uuid])
        until(lambda: rig.counted("rpc_casts") == 3)
        assert rig.reread == []
        api.sync_instance_info(context(), "a", [uuid, other])
        until(lambda: rig.reread == ["a"])
        assert rig.counted("rpc_syncs_corrected") == 1
        for _ in range(2):
            api.delete_instance_info(context(), "a", uuid)
        until(lambda: known() == (other,))
    assert set(rig.noted) == {"a"}


@pytest.mark.parametrize("host", ["", {"a": 1}, "x" * 70_000])
def test_a_cast_that_cannot_be_read_is_counted(rig: Rig, host: Any) -> None:
    with nova() as api:
        api.update_instance_info(context(), host, objects.InstanceList(objects=[]))
        until(lambda: rig.counted("rpc_casts_refused") == 1)
    assert rig.noted == []


def test_all_services_answer_a_ping(rig: Rig) -> None:
    with nova():
        assert ping("hello") == {"service": "scheduler", "arg": "hello"}
