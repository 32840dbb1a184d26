"""The plug-in in Nova's own handlers of filters and weighers."""

from __future__ import annotations

from collections.abc import Callable

from gantt_nova_plugin.advisor import Advisor

from tests.plugin.clouds import filtered, hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt, refusing

Configure = Callable[..., Advisor]


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
