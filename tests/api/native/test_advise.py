"""POST /gantt/advise and POST /scheduler/*/external."""

from __future__ import annotations

import logging
from configparser import ConfigParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gantt.api.app import build_app
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Refused
from gantt.scheduler.options import SchedulerOptions
from tests.api.native.fleet import SPEC, STATS, TOO_MUCH, A, client_of, report
from tests.api.wsgi_client import Answer, WsgiClient
from tests.guides.guide import shown

ADVISE = "/gantt/advise"
NOVA = "/scheduler/nova/external"
CINDER = "/scheduler/cinder/external"
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


def test_what_the_guide_sets_in_a_fork_leads_here(client: WsgiClient) -> None:
    (block,) = (one for one in shown("advise-nova") if "fork" in one.name)
    conf = ConfigParser()
    conf.read_string(block.text)
    ((section, name, url),) = (
        (section, *item) for section in conf.sections() for item in conf.items(section)
    )
    assert (section, name) == ("filter_scheduler", "external_scheduler_api_url")
    assert urlsplit(url).path == NOVA
    assert external(client, "one").json == {"hosts": ["one"]}


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
        ("two", "free resources"),
        ("elsewhere", None),
        ("one", "free resources"),
    ]


def test_external_answer_has_only_the_names_that_were_sent(client: WsgiClient) -> None:
    answer = external(client, "two", "elsewhere", "one")
    assert answer.status == 200, answer.text
    assert answer.json == {"hosts": ["two", "one", "elsewhere"]}


def test_request_id_of_any_length_is_not_kept(client: WsgiClient, books: Gantt) -> None:
    longest = "r" * 255
    assert external(client, "one", context={"request_id": longest}).status == 200
    assert external(client, "one", context={"request_id": longest + "r"}).status == 200
    body = {"spec": SPEC, "hosts": hosts("one")}
    assert client("POST", ADVISE, body={**body, "request_id": longest}).status == 200
    answer = client("POST", ADVISE, body={**body, "request_id": longest + "r"})
    assert answer.status == 400
    assert "request_id" in answer.text
    kept = [len(record.request_id) for record in books.decisions()]
    assert sorted(kept) == [40, 255, 255]


# -- from where ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [NOVA, ADVISE, f"/placement{NOVA}"])
@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("127.0.0.1", 200),
        ("127.1.2.3", 200),
        ("::1", 200),
        ("[::1]", 200),
        ("::ffff:127.0.0.1", 200),
        ("192.0.2.1", 401),
        ("::ffff:192.0.2.1", 401),
        ("127.0.0.1, 192.0.2.1", 401),
        ("", 401),
    ],
)
def test_only_loopback_needs_no_token(
    client: WsgiClient, path: str, address: str, status: int
) -> None:
    body = {"spec": SPEC, "hosts": [{"host": "one"}]}
    if path != ADVISE:
        body["weights"] = {"one": 1.0}
    environ = {"REMOTE_ADDR": address}
    answer = client("POST", path, body=body, headers=NO_TOKEN, environ=environ)
    assert answer.status == status


@pytest.mark.parametrize("header", ["forwarded", "x-forwarded-for", "x-real-ip"])
def test_request_through_a_proxy_needs_a_token(client: WsgiClient, header: str) -> None:
    body = {"spec": SPEC, "hosts": [{"host": "one"}], "weights": {"one": 1.0}}
    headers = {**NO_TOKEN, header: "127.0.0.1"}
    answer = client("POST", NOVA, body=body, headers=headers, environ=LOOPBACK)
    assert answer.status == 401


def test_loopback_needs_a_token_for_all_else(client: WsgiClient) -> None:
    for method, path in (("GET", "/gantt/hosts"), ("POST", "/gantt/select")):
        answer = client(method, path, headers=NO_TOKEN, environ=LOOPBACK)
        assert answer.status == 401


def test_token_that_is_sent_is_checked(client: WsgiClient) -> None:
    body = {"spec": SPEC, "hosts": [{"host": "one"}], "weights": {"one": 1.0}}
    headers = {"x-auth-token": "bob:blue", "x-roles": "reader"}
    answer = client("POST", NOVA, body=body, headers=headers, environ=LOOPBACK)
    assert answer.status == 403
    assert "gantt:advise" in answer.detail


def test_option_names_other_networks(books: Gantt) -> None:
    def statuses(*networks: str) -> list[int]:
        given = {("gantt", "advice_from"): list(networks)}
        settings = load(environ={}, default_auth="noauth2", overrides=given)
        client = WsgiClient(build_app(books, settings))
        body = {"hosts": [{"host": "x@y#z"}], "weights": {"x@y#z": 1.0}}
        return [
            client(
                "POST",
                CINDER,
                body=body,
                headers=NO_TOKEN,
                environ={"REMOTE_ADDR": address},
            ).status
            for address in ("127.0.0.1", "10.1.0.7", "10.2.0.7")
        ]

    assert statuses() == [401, 401, 401]
    assert statuses("10.1.0.0/16", "10.2.0.7") == [401, 200, 200]
    with pytest.raises(Refused, match="advice_from"):
        statuses("10.1.0.7/16")


@pytest.mark.parametrize("trusted", ["", "[gantt]\nadvice_from = 127.0.0.0/8\n"])
def test_keystone_stands_before_loopback_unless_it_is_trusted(
    books: Gantt, tmp_path: Path, trusted: str
) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(
        "[keystone_authtoken]\nwww_authenticate_uri = https://k.example:5000\n"
        + trusted
    )
    client = WsgiClient(build_app(books, load([str(file)])))
    body = {"hosts": [{"host": "x"}], "weights": {"x": 1.0}}
    sent: dict[str, Any] = {"body": body, "headers": NO_TOKEN}
    wanted = 200 if trusted else 401
    assert client("POST", CINDER, **sent, environ=LOOPBACK).status == wanted
    assert client("POST", CINDER, **sent).status == 401


def test_advice_evicts_no_record_of_a_decision() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(records=10))
    with open_gantt("memory://", options) as books:
        client = client_of(books)
        report(client, "one")
        body = {"request_spec": SPEC, "dry_run": True}
        client("POST", "/gantt/select", body=body)
        (decided,) = books.decisions()
        advise = {"spec": SPEC, "hosts": [{"host": "one"}]}
        for _ in range(30):
            assert client("POST", ADVISE, body=advise).status == 200
        found = [one.request_id for one in books.decisions(limit=100)]
        assert decided.request_id in found
        assert len(found) == 11


# -- bad input ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"weights": {"one": 1.0}}, "no weight for 1 host (two)"),
        ({"weights": {"one": 1, "two": 2, "x": 3}}, "no host for 1 weight (x)"),
        ({"weights": {}}, "no weight for 2 hosts (one, two)"),
        ({"weights": {"one": "much", "two": 1}}, "$.weights[...]"),
        ({"weights": None}, "$.weights"),
        ({"hosts": "one"}, "$.hosts"),
        ({"hosts": [{"hypervisor_hostname": "one"}]}, "host"),
        ({"hosts": [{"host": ""}]}, "$.hosts[0].host"),
        ({"hosts": [{"host": None}]}, "$.hosts[0].host"),
        ({"spec": {}}, "flavor"),
        ({"spec": {"flavor": {"vcpus": "many"}}}, "request_spec.flavor.vcpus"),
        (
            {
                "spec": {
                    "nova_object.name": "RequestSpec",
                    "nova_object.version": "2.0",
                    "nova_object.data": {},
                }
            },
            "2.0",
        ),
        ({"spec": []}, "$.spec"),
    ],
)
def test_unreadable_body_is_400_and_names_the_field(
    client: WsgiClient, changes: dict[str, Any], text: str
) -> None:
    answer = external(client, "one", "two", **changes)
    assert answer.status == 400, answer.text
    assert text in answer.detail


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"hosts":NaN}'])
@pytest.mark.parametrize("path", [NOVA, "/scheduler/manila/external", ADVISE])
def test_no_json_is_400(client: WsgiClient, path: str, body: bytes) -> None:
    assert client("POST", path, body=body).status == 400


def test_unknown_fields_and_flags_are_ignored(client: WsgiClient) -> None:
    answer = external(client, "one", baremetal=True, reservation={"id": 1}, live=False)
    assert answer.json == {"hosts": ["one"]}


def test_newer_request_spec_is_read(client: WsgiClient) -> None:
    flavor = {
        "nova_object.name": "Flavor",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.9",
        "nova_object.data": {**SPEC["flavor"], "colour": "red"},
    }
    spec = {
        "nova_object.name": "RequestSpec",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.99",
        "nova_object.data": {"flavor": flavor, "mood": "good"},
    }
    assert external(client, "two", "one", spec=spec).json["hosts"] == ["two", "one"]


@pytest.mark.parametrize(
    "changes",
    [
        {"stage": "sort"},
        {"mode": "obey"},
        {"operation": "boot"},
        {"hosts": [{"host": "one", "hypervisor_hostname": "one"}], "nodes": []},
    ],
)
def test_native_body_knows_its_words(
    client: WsgiClient, changes: dict[str, Any]
) -> None:
    body = {"spec": SPEC, "hosts": hosts("one"), **changes}
    assert client("POST", ADVISE, body=body).status == 400


def test_no_hosts_are_no_error(client: WsgiClient) -> None:
    assert external(client).json == {"hosts": []}
    found = client("POST", ADVISE, body={"spec": SPEC, "hosts": []}).json
    assert (found["hosts"], found["decided"]) == ([], True)


# -- what is answered ---------------------------------------------------------------


def test_refused_hosts_are_only_left_out_by_option(books: Gantt) -> None:
    given = {("gantt", "advice_shortens"): True}
    settings = load(environ={}, default_auth="noauth2", overrides=given)
    client = WsgiClient(build_app(books, settings))
    report(client, "one", "two")
    sent: tuple[str, ...] = ("one", "elsewhere", "two")
    assert external(client, *sent, spec=TOO_MUCH).json == {"hosts": ["elsewhere"]}
    assert external(client, "two", spec=TOO_MUCH).json == {"hosts": []}
    assert len(external(client, *sent).json["hosts"]) == 3


def test_without_that_option_no_host_is_left_out(client: WsgiClient) -> None:
    answer = external(client, "two", "one", spec=TOO_MUCH)
    assert answer.json == {"hosts": ["two", "one"]}


def test_host_with_several_nodes_is_named_once(client: WsgiClient) -> None:
    answer = external(client, "two", "one", "two", "elsewhere", "one")
    assert answer.json == {"hosts": ["two", "one", "elsewhere"]}


def test_node_tells_hosts_of_one_name_apart(client: WsgiClient) -> None:
    for node in ("node-1", "node-2"):
        assert client("PUT", f"/gantt/hosts/three/{node}", body=STATS).status == 200
    sent = [
        {"host": "elsewhere", "hypervisor_hostname": "elsewhere"},
        {"host": "three", "hypervisor_hostname": "node-2"},
    ]
    answer = external(client, "elsewhere", "three", hosts=sent)
    assert answer.json == {"hosts": ["three", "elsewhere"]}
    sent[1]["hypervisor_hostname"] = "node-3"
    answer = external(client, "elsewhere", "three", hosts=sent)
    assert answer.json == {"hosts": ["elsewhere", "three"]}


def test_operation_is_told_by_hint_flag_or_field(client: WsgiClient) -> None:
    """A rebuild needs no further amounts of its host."""
    hint = {"scheduler_hints": {"_nova_check_type": ["rebuild"]}}
    body = {"spec": TOO_MUCH, "hosts": hosts("one")}
    for changes, refusal in (
        ({}, "free resources"),
        ({"spec": {**TOO_MUCH, **hint}}, None),
        ({"operation": "rebuild"}, None),
    ):
        found = client("POST", ADVISE, body={**body, **changes}).json
        assert found["hosts"][0]["refused_by"] == refusal
    sent = ("elsewhere", "two")
    told = external(client, *sent, spec=TOO_MUCH, rebuild=True).json["hosts"]
    assert told == ["two", "elsewhere"]
    assert external(client, *sent, spec=TOO_MUCH).json["hosts"] == list(sent)


@pytest.mark.parametrize("what", ["cinder", "manila"])
def test_storage_keeps_the_order_of_its_weights(client: WsgiClient, what: str) -> None:
    body = {
        "spec": {"volume_id": "v", "size": 3},
        "context": {},
        "hosts": [{"host": "a@lvm#p"}, {"host": "b@lvm#p"}, {"host": "c@lvm#p"}],
        "weights": {"a@lvm#p": 1.0, "b@lvm#p": 2.0, "c@lvm#p": 2},
    }
    answer = client("POST", f"/scheduler/{what}/external", body=body)
    assert answer.json == {"hosts": ["b@lvm#p", "c@lvm#p", "a@lvm#p"]}
    body["weights"] = {"a@lvm#p": 1.0}
    answer = client("POST", f"/scheduler/{what}/external", body=body)
    assert answer.status == 400
    assert "b@lvm#p" in answer.detail


def test_bodies_are_not_logged(
    client: WsgiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spec = {**SPEC, "scheduler_hints": {"note": ["a-secret"]}}
    context = {"request_id": "req-7", "auth_token": "a-secret"}
    assert external(client, "one", spec=spec, context=context).status == 200
    assert external(client, "one", spec={"flavor": "a-secret"}).status == 400
    assert "req-7" in caplog.text
    assert "a-secret" not in caplog.text
