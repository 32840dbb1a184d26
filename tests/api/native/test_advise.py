"""POST /gantt/advise and POST /scheduler/*/external."""

from __future__ import annotations

from typing import Any

from gantt.engine.gantt import Gantt
from tests.api.native.fleet import SPEC, TOO_MUCH, A
from tests.api.wsgi_client import Answer, WsgiClient

ADVISE = "/gantt/advise"
NOVA = "/scheduler/nova/external"
LOOPBACK: dict[str, Any] = {"REMOTE_ADDR": "127.0.0.1"}
NO_TOKEN: dict[str, str | None] = {"x-auth-token": None}


def hosts(*names: str) -> list[dict[str, Any]]:
    return [{"host": name, "node": name} for name in names]


def external(client: WsgiClient, *names: str, spec: Any = SPEC, **more: Any) -> Answer:
    body = {
        "spec": spec,
        "context": {"user_id": "ann", "is_admin": True},
        "hosts": [{"host": name, "hypervisor_hostname": name} for name in names],
        "weights": {name: float(at) for at, name in enumerate(reversed(names))},
        "vmware": False,
        **more,
    }
    return client("POST", NOVA, body=body, headers=NO_TOKEN, environ=LOOPBACK)


def test_hosts_come_back_the_best_first(client: WsgiClient, books: Gantt) -> None:
    client("POST", "/gantt/select", body={"request_spec": SPEC, "instance_uuids": [A]})
    (taken,) = (host.host for host in books.list_hosts() if host.claimed["instances"])
    free = "two" if taken == "one" else "one"
    body = {"spec": SPEC, "hosts": hosts(taken, "elsewhere", free)}
    answer = client("POST", ADVISE, body=body)
    assert answer.status == 200, answer.text
    found = answer.json
    assert [one["host"] for one in found["hosts"]] == [free, taken, "elsewhere"]
    assert [one["refused_by"] for one in found["hosts"]] == [None] * 3
    assert found["hosts"][0]["weight"] > found["hosts"][1]["weight"]
    assert found["hosts"][2]["weight"] is None
    assert found["decided"] is True
    assert found["decision"].startswith("req-")


def test_refused_hosts_come_last_with_what_refuses_them(client: WsgiClient) -> None:
    body = {"spec": TOO_MUCH, "hosts": hosts("two", "elsewhere", "one")}
    found = client("POST", ADVISE, body=body).json
    assert [(one["host"], one["refused_by"]) for one in found["hosts"]] == [
        ("two", "allocation candidates"),
        ("elsewhere", None),
        ("one", "allocation candidates"),
    ]


def test_external_answer_has_only_the_names_that_were_sent(client: WsgiClient) -> None:
    answer = external(client, "two", "elsewhere", "one")
    assert answer.status == 200, answer.text
    assert answer.json == {"hosts": ["two", "one", "elsewhere"]}
