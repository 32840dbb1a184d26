"""Requests for NUMA cells and devices over HTTP: places, refusals, and what never
fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.api.native.fleet import STATS, A, client_of
from tests.api.wsgi_client import WsgiClient
from tests.topology import synthetic

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
NIC = {"vendor_id": "8086", "product_id": "154c", "physical_network": "physnet1"}
PINNED = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "2MB"}
Json = dict[str, Any]


@pytest.fixture
def books() -> Iterator[Gantt]:
    scheduler = SchedulerOptions(enabled_filters=FILTERS)
    with open_gantt("memory://", EngineOptions(scheduler=scheduler)) as found:
        yield found


@pytest.fixture
def client(books: Gantt) -> WsgiClient:
    found = client_of(books)
    report(found)
    return found


def report(client: WsgiClient, **changed: Any) -> Json:
    host = synthetic.plain_form(synthetic.network_cards())
    body = {**STATS, "vcpus": 16, "memory_mb": 32_768, **host, **changed}
    answer = client("PUT", "/gantt/hosts/one/one", body=body)
    assert answer.status == 200, answer.text
    found: Json = answer.json
    return found


def body_of(
    extra_specs: Json,
    properties: Json | None = None,
    memory_mb: int = 1024,
    **more: Any,
) -> Json:
    flavor = {"vcpus": 2, "memory_mb": memory_mb, "extra_specs": extra_specs}
    spec = {"flavor": flavor, "project_id": "blue", "user_id": "ann", **more}
    spec["image"] = {"properties": properties or {}}
    return {"request_spec": spec, "instance_uuids": [A]}


def fits(client: WsgiClient, path: str, method: str, answer: Json) -> None:
    """``answer`` is as the OpenAPI document says."""
    document = client("GET", "/gantt/openapi.json").json
    said = document["paths"][path][method]["responses"]["200"]["content"]
    schema = {
        **said["application/json"]["schema"],
        "components": document["components"],
    }
    Draft202012Validator(schema).validate(answer)


def test_a_selection_names_cells_cpus_pages_and_devices(client: WsgiClient) -> None:
    request = {"request_id": "nic", "count": 1, "spec": [NIC]}
    body = body_of(PINNED, pci_requests=[request])
    answer = client("POST", "/gantt/select", body=body)
    assert answer.status == 200, answer.text
    found = answer.json
    ((chosen,),) = found["selections"]
    assert chosen["place"]["cells"] == [
        {
            "cell": 0,
            "host_cell": 1,
            "memory_mb": 1024,
            "page_kib": 2048,
            "pinning": [[0, 8], [1, 9]],
            "floating": [],
            "emulator": [],
        }
    ]
    (devices,) = chosen["place"]["devices"]
    assert devices["addresses"] == ["0000:19:00.1"]
    assert (devices["request_id"], devices["count"]) == ("nic", 1)
    assert (devices["numa_node"], devices["tags"]["dev_type"]) == (1, "type-VF")
    fits(client, "/gantt/select", "post", found)
    chosen["place"]["cells"][0]["pinning"] = "0 on 8"
    with pytest.raises(ValidationError):
        fits(client, "/gantt/select", "post", found)


def test_the_picture_of_a_host_is_documented(client: WsgiClient) -> None:
    client("POST", "/gantt/select", body=body_of(PINNED))
    answer = client("GET", "/gantt/hosts/one/one/topology")
    assert len(answer.json["pending"]) == 1
    assert answer.json["obeys_claims"] is True
    fits(client, "/gantt/hosts/{host}/{node}/topology", "get", answer.json)


def test_hosts_say_whether_they_obey_claims(client: WsgiClient) -> None:
    found = report(client)
    assert found["stats"]["obeys_claims"] is True
    fits(client, "/gantt/hosts/{host}/{node}", "put", found)
    document = client("GET", "/gantt/openapi.json").json
    put = document["paths"]["/gantt/hosts/{host}/{node}"]["put"]["requestBody"]
    schema = {
        **put["content"]["application/json"]["schema"],
        "components": document["components"],
    }
    Draft202012Validator(schema).validate({"obeys_claims": True})
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate({"obeys_claims": "yes"})


def test_a_host_that_does_not_obey_gets_no_place(client: WsgiClient) -> None:
    report(client, obeys_claims=False)
    answer = client("POST", "/gantt/select", body=body_of(PINNED))
    ((chosen,),) = answer.json["selections"]
    assert chosen["claim"] is not None
    assert chosen["place"] is None


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        (PINNED, None, "hw:mem_page_size is 2048 KiB, and NUMA node 0 has 513 MB"),
        ({"hw:numa_nodes": "2"}, None, "hw:numa_nodes=2: 2 vCPUs and 513 MB"),
        ({"hw:numa_nodes": "two"}, None, "hw:numa_nodes='two'"),
        (
            {"hw:cpu_policy": "shared"},
            {"hw_cpu_policy": "dedicated"},
            "the flavor says hw:cpu_policy=shared, the image hw_cpu_policy=dedicated",
        ),
        (
            {"hw:numa_nodes": "1"},
            {"hw_numa_nodes": 1},
            "the flavor says hw:numa_nodes='1', the image hw_numa_nodes=1",
        ),
        ({}, {"hw_mem_page_size": "large"}, "hw_mem_page_size='large'"),
        ({"hw:locked_memory": "true"}, None, "hw:locked_memory"),
        ({"pci_passthrough:alias": "gpu:1"}, None, "pci_passthrough:alias='gpu:1'"),
    ],
)
def test_what_never_fits_is_a_400_with_key_and_value(
    client: WsgiClient, extra_specs: Json, properties: Json | None, words: str
) -> None:
    body = body_of(extra_specs, properties, memory_mb=513)
    for path in ("/gantt/select", "/gantt/capacity"):
        if path == "/gantt/capacity":
            body = {"request_spec": body["request_spec"]}
        answer = client("POST", path, body=body)
        assert answer.status == 400, answer.text
        (error,) = answer.json["errors"]
        assert words in error["detail"]


def test_a_refusal_says_what_hosts_lack(client: WsgiClient) -> None:
    answer = client("POST", "/gantt/select", body=body_of(PINNED, memory_mb=4096))
    assert answer.status == 409, answer.text
    (error,) = answer.json["errors"]
    (near,) = error["why"]["nearest"]
    assert near["lacks"] == "cell 0 has 2 MB pages: 1,024 of 2,048"
