"""Claims, aggregates, instances, services and server groups over HTTP."""

from __future__ import annotations

import gzip
import json
from typing import Any
from urllib.parse import quote

from gantt.engine.gantt import Gantt
from gantt.model.hosts import HostStats
from tests.api.native.fleet import SPEC, TOO_MUCH, A, B, report
from tests.api.wsgi_client import WsgiClient

UUID = "0000000a-aaaa-4000-8000-000000000000"
AGGREGATES = "/gantt/aggregates"
ZONE = {
    "uuid": UUID,
    "name": "zone",
    "id": 7,
    "hosts": ["two"],
    "metadata": {"availability_zone": "z2"},
}


def nova(name: str, version: str, data: Any) -> Any:
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": data,
    }


def claim_of(client: WsgiClient, **more: Any) -> str:
    body = {"request_spec": SPEC, "instance_uuids": [A], **more}
    ((mine, *_),) = client("POST", "/gantt/select", body=body).json["selections"]
    return str(mine["claim"])


def test_claims_are_confirmed_and_released(client: WsgiClient, books: Gantt) -> None:
    claim = claim_of(client, lease=60)
    assert client("POST", f"/gantt/claims/{claim}/confirm").status == 204
    assert client("DELETE", f"/gantt/claims/{claim}").status == 204
    assert books.get_allocations(A) is None
    assert client("DELETE", f"/gantt/claims/{claim}").status == 404
    answer = client("POST", f"/gantt/claims/{claim}/confirm")
    assert answer.status == 409
    assert answer.json["errors"][0]["code"] == "gantt.claim_expired"
    assert client("GET", f"/gantt/claims/{claim}").headers["allow"] == "DELETE"


def test_capacity(client: WsgiClient) -> None:
    answer = client("POST", "/gantt/capacity", body={"request_spec": SPEC})
    assert answer.json["hosts"] == {"one": 4, "two": 4}
    assert set(answer.json["limits"].values()) == {2}
    none = client("POST", "/gantt/capacity", body={"request_spec": TOO_MUCH}).json
    assert none["total"] == 0
    assert none["nearest"]
    bad = client("POST", "/gantt/capacity", body={"request_spec": {}})
    assert (bad.status, "request_spec.flavor" in bad.detail) == (400, True)


def test_aggregates(client: WsgiClient) -> None:
    def known() -> list[Any]:
        found: list[Any] = client("GET", AGGREGATES).json["aggregates"]
        return found

    assert client("PUT", AGGREGATES, body={"aggregates": [ZONE]}).status == 204
    assert known() == [ZONE]
    assert client("GET", f"{AGGREGATES}/{UUID}").json == ZONE
    path = f"{AGGREGATES}/{UUID}"
    assert client("PUT", path, body={"name": "other"}).status == 204
    assert client("GET", path).json["name"] == "other"
    primitive = nova("Aggregate", "1.3", {**ZONE, "hosts": []})
    assert client("PUT", path, body=primitive).status == 204
    assert client("GET", path).json["hosts"] == []
    assert client("DELETE", f"{AGGREGATES}?id=7").status == 204
    assert known() == []
    assert client("GET", path).status == 404
    assert client("DELETE", path).status == 204


def test_path_and_body_must_agree(client: WsgiClient) -> None:
    for path in ("aggregates", "server_groups"):
        answer = client("PUT", f"/gantt/{path}/{A}", body={"uuid": B})
        assert answer.status == 400
        assert A in answer.detail
        assert B in answer.detail


def test_instances(client: WsgiClient, books: Gantt) -> None:
    def known() -> tuple[str, ...]:
        (view,) = books.list_hosts(host="one")
        return view.instances

    path = "/gantt/instances/one"
    body = {
        "instances": [{"uuid": A, "facts": {}}, nova("Instance", "2.8", {"uuid": B})]
    }
    assert client("POST", path, body=body).status == 204
    assert known() == (A, B)
    assert client("DELETE", f"{path}/{B}").status == 204
    assert client("PUT", path, body={"instance_uuids": [A]}).json == {"known": True}
    assert client("PUT", path, body={"instance_uuids": [B]}).json == {"known": False}


def test_services(client: WsgiClient, books: Gantt) -> None:
    body = {"host": "one", "disabled": True}
    assert client("PUT", "/gantt/services", body=body).status == 204
    (view,) = books.list_hosts(host="one")
    assert view.service["disabled"] is True
    bad = client("PUT", "/gantt/services", body={**body, "colour": "red"})
    assert (bad.status, "colour" in bad.detail) == (400, True)
    assert client("PUT", "/gantt/services", body={}).status == 400


def test_a_service_is_told_before_its_host(client: WsgiClient, books: Gantt) -> None:
    body = {"host": "later", "binary": "gantt-operator", "disabled": True}
    assert client("PUT", "/gantt/services", body=body).status == 204
    (told,) = client("GET", "/gantt/services?host=later").json["services"]
    assert (told["host"], told["disabled"]) == ("later", True)
    assert books.list_hosts(host="later") == ()
    report(client, "later")
    (view,) = books.list_hosts(host="later")
    assert view.service["operator"]["disabled"] is True


def test_the_fleet_as_columns(client: WsgiClient, books: Gantt) -> None:
    first = client("GET", "/gantt/fleet").json
    assert (sorted(first["hosts"]), first["is_whole"]) == (["one", "two"], True)
    assert first["classes"]["VCPU"] == {"capacity": [8, 8], "used": [0, 0]}
    claim_of(client)
    after = f"/gantt/fleet?after={first['place']}"
    found = client("GET", after).json
    assert (found["is_whole"], found["classes"]["VCPU"]["used"]) == (False, [2])
    host = found["hosts"][0]
    whole = client("GET", f"/gantt/host?host={host}").json
    assert [one["instance_uuid"] for one in whole["claims"]] == [A]
    assert (whole["view"]["host"], whole["topology"]["node"]) == (host, host)
    assert client("GET", "/gantt/fleet?after=1").status == 400
    assert client("GET", "/gantt/host?host=no").status == 404
    assert client("GET", "/gantt/host").status == 400
    strange = "a/<b>?%2F&c"
    books.update_host(strange, strange, HostStats())
    found = client("GET", f"/gantt/host?host={quote(strange, safe='')}").json
    assert found["view"]["host"] == strange


def test_long_answers_are_compressed_for_those_who_read_that(
    client: WsgiClient,
) -> None:
    report(client, *(f"host{number}" for number in range(150)))
    plain = client("GET", "/gantt/fleet")
    accepts = {"accept-encoding": "br, gzip;q=0.8"}
    short = client("GET", "/gantt/fleet", headers=accepts)
    assert short.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in short.headers["vary"]
    assert len(short.body) < len(plain.body) / 4
    assert json.loads(gzip.decompress(short.body))["hosts"] == plain.json["hosts"]
    for header in ("identity", "gzip;q=0", "x-gzip"):
        same = client("GET", "/gantt/fleet", headers={"accept-encoding": header})
        assert "content-encoding" not in same.headers
        assert same.json["hosts"] == plain.json["hosts"]


def test_server_groups(client: WsgiClient) -> None:
    path = f"/gantt/server_groups/{UUID}"
    body = {"policy": "anti-affinity", "members": [A, B]}
    assert client("PUT", path, body=body).status == 204
    primitive = nova("InstanceGroup", "1.11", {"uuid": UUID, **body})
    assert client("PUT", path, body=primitive).status == 204
    bad = client("PUT", path, body={"policy": "nearby"})
    assert (bad.status, "policy" in bad.detail) == (400, True)
    assert client("DELETE", path).status == 204
    assert client("DELETE", path).status == 204
