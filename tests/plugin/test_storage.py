"""Cinder's and Manila's requests, as `storage` reads them; `make wheel` runs the
plug-in in their own schedulers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gantt_nova_plugin import storage
from gantt_nova_plugin.advisor import Advisor

from tests.plugin.fake_gantt import Asked, FakeGantt, saying

Configure = Callable[..., Advisor]
NAMES = ("h@lvm#one", "h@lvm#two", "h@ceph#three")


class Context:
    """Of a request; its token must stay where it is."""

    auth_token = "secret"


def properties(context: object, **spec: object) -> dict[str, Any]:
    return {"context": context, "request_spec": spec, "size": 1}


def states() -> list[Any]:
    return [SimpleNamespace(host=name) for name in NAMES]


def reverse(asked: Asked) -> object:
    return {"hosts": [host["host"] for host in asked.body["hosts"]][::-1]}


def test_only_named_parts_of_a_spec_are_sent(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise")
    gantt.behave = saying(reverse)
    stages = storage.stages("cinder", ("volume_id", "volume_properties"))
    request = properties(
        Context(), volume_id="v", volume={"provider_auth": "CHAP secret"}
    )
    ranks = stages.weigh(states(), [2.0, 1.0, 3.0], request).ranks
    assert ranks == [0.5, 1.0, 0.0]
    (asked,) = gantt.asked
    assert asked.path == "/scheduler/cinder/external"
    assert asked.body["spec"] == {"volume_id": "v"}
    assert asked.body["weights"] == dict(zip(NAMES, [2.0, 1.0, 3.0], strict=True))
    assert "secret" not in str(asked)


def test_decide_removes_what_is_left_out_but_not_all(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="decide")
    stages = storage.stages("manila", ())
    hosts = states()
    gantt.behave = saying(lambda asked: {"hosts": [NAMES[2], NAMES[0]]})
    assert stages.keep(hosts, properties(Context())) == [hosts[0], hosts[2]]
    gantt.behave = saying(lambda asked: {"hosts": []})
    assert stages.keep(hosts, properties(Context())) == hosts


def test_all_volumes_of_a_group_share_a_second(
    configure: Configure, gantt: FakeGantt
) -> None:
    configure(mode="advise", timeout=0.1, request_delay_limit=0.1)
    gantt.behave = lambda sock, asked: sock.recv(1)
    stages = storage.stages("cinder", ())
    context = Context()
    for _ in range(5):
        assert stages.weigh(states(), [0.0] * 3, properties(context)).ranks == [0.0] * 3
    assert len(gantt.asked) == 1
