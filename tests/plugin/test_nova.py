"""The plug-in in Nova's own handlers of filters and weighers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gantt_nova_plugin import nova as plugin
from gantt_nova_plugin.advisor import Advisor
from nova.conf import CONF
from nova.scheduler import filters, weights
from nova.scheduler import utils as nova_utils

from tests.plugin.clouds import FILTER, filtered, hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt, refusing
from tests.plugin.test_failures import end

Configure = Callable[..., Advisor]
RAM = "nova.scheduler.weights.ram.RAMWeigher"
FAILURES = "nova.scheduler.weights.compute.BuildFailureWeigher"


def test_observe_sends_both_stages_and_changes_nothing(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="observe")
    gantt.behave = refusing("a", "b", "c")
    request = spec()
    assert filtered(request, hosts()) == ["a", "b", "c"]
    assert weighed(request, hosts()) == ["a", "b", "c"]
    assert [asked.body["stage"] for asked in gantt.asked] == ["filter", "weigh"]
    assert {asked.body["mode"] for asked in gantt.asked} == {"observe"}


def test_advise_orders_and_removes_nothing(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    request = spec()
    assert filtered(request, hosts()) == ["a", "b", "c"]
    assert gantt.asked == []
    assert weighed(request, hosts()) == ["c", "b", "a"]


def test_decide_removes_what_is_refused(configure: Configure, gantt: FakeGantt) -> None:
    advisor = configure(mode="decide")
    gantt.behave = refusing("b")
    request = spec()
    assert filtered(request, hosts()) == ["a", "c"]
    assert advisor.journal.counters()["hosts_removed"] == 1


def test_request_has_the_native_form(configure: Configure, gantt: FakeGantt) -> None:
    configure(mode="advise", token="secret")
    request = spec()
    weighed(request, hosts())
    (asked,) = gantt.asked
    assert asked.path == "/gantt/advise"
    assert asked.headers["x-auth-token"] == "secret"
    assert asked.body == {
        "spec": request.obj_to_primitive(),
        "hosts": [{"host": name, "node": f"{name}.node"} for name in "abc"],
        "weights": {"a": 0.0, "b": 0.0, "c": 0.0},
        "stage": "weigh",
        "mode": "advise",
        "instance_uuid": request.instance_uuid,
    }


def test_candidates_and_weights_are_as_nova_has_them(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="observe")
    states = hosts()
    for free_ram_mb, state in zip((100, 400, 200), states, strict=True):
        state.free_ram_mb = free_ram_mb
    assert weighed(spec(), states, RAM) == ["b", "c", "a"]
    (asked,) = gantt.asked
    assert [host["host"] for host in asked.body["hosts"]] == ["b", "c", "a"]
    assert asked.body["weights"] == {"a": 0.25, "b": 1.0, "c": 0.5}


def test_host_with_several_nodes_is_told_apart(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    states = hosts("aab")
    for number, state in enumerate(states):
        state.nodename = f"n{number}"
    weighed(spec(), states)
    (asked,) = gantt.asked
    assert asked.body["hosts"][:2] == [
        {"host": "a", "node": "n0"},
        {"host": "a", "node": "n1"},
    ]
    assert "weights" not in asked.body, "they are by host"


@pytest.mark.parametrize("count", [2, 2_000])
def test_advice_outweighs_all_other_weighers(
    count: int, configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise", timeout=1.0)
    names = [f"h{number:05}" for number in range(count)]
    states = hosts(names)
    for number, state in enumerate(states):
        state.free_ram_mb = (number * 7919) % count
        state.failed_builds = (number * 104_729) % 11
    own = weighed(spec(), states, RAM, FAILURES)
    (asked,) = gantt.asked
    assert own == [host["host"] for host in asked.body["hosts"]][::-1]


def test_order_stands_while_another_request_gets_no_advice(
    configure: Configure, gantt: FakeGantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nova's threads share a weigher, and it multiplies ranks host by host."""
    configure(mode="advise")
    weigher = plugin.GanttWeigher()
    own = weigher.weight_multiplier

    def multiplier(host: Any) -> float:
        factor = own(host)
        if host.host == "b":
            gantt.behave = end
            other = [weights.WeighedHost(one, 0.0) for one in hosts()]
            assert weigher.weigh_objects(other, spec()) == [0.0] * 3
        return factor

    monkeypatch.setattr(weigher, "weight_multiplier", multiplier)
    handler = weights.HostWeightHandler()
    found = handler.get_weighed_objects([weigher], hosts(), spec())
    assert [one.obj.host for one in found] == ["c", "b", "a"]


def test_small_multiplier_makes_advice_one_voice_of_several(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise", weight_multiplier=0.5)
    states = hosts("ab")
    states[0].free_ram_mb = 1000
    assert weighed(spec(), states, RAM) == ["a", "b"]
    assert len(gantt.asked) == 1


def test_weighers_are_not_asked_about_a_single_host(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    assert weighed(spec(), hosts("a")) == ["a"]
    assert filtered(spec(), []) == []
    assert gantt.asked == []


def test_each_instance_of_a_request_is_asked_about(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="decide")
    request = spec(num_instances=3)
    uuids = [f"00000000-0000-0000-0000-{number:012}" for number in range(3)]
    for index, uuid in enumerate(uuids):
        request.instance_uuid = uuid
        filtered(request, hosts(), index)
    assert [asked.body["instance_uuid"] for asked in gantt.asked] == uuids


def test_rebuild_is_decided_too(configure: Configure, gantt: FakeGantt) -> None:
    """Nova's other filters that look at images run then as well."""
    configure(mode="decide")
    gantt.behave = refusing("a")
    request = spec(scheduler_hints={"_nova_check_type": ["rebuild"]})
    assert nova_utils.request_is_rebuild(request)
    assert filtered(request, hosts("a")) == []
    data = gantt.asked[0].body["spec"]["nova_object.data"]
    assert data["scheduler_hints"] == {"_nova_check_type": ["rebuild"]}


def test_names_in_nova_conf_are_found(configure: Configure, gantt: FakeGantt) -> None:
    configure(mode="decide")
    found = filters.HostFilterHandler().get_matching_classes(
        [*CONF.filter_scheduler.available_filters, FILTER]
    )
    assert "GanttFilter" in {one.__name__ for one in found}
