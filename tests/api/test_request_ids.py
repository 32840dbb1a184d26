"""A request id appears in the access log, the change log, events and decisions."""

from __future__ import annotations

import pytest

from gantt.engine.gantt import Gantt
from tests.api.native.fleet import SPEC, A, client_of, report
from tests.api.wsgi_client import WsgiClient

SENT = "req-12345678-1234-4234-8234-123456789abc"


@pytest.fixture
def client(books: Gantt) -> WsgiClient:
    client = client_of(books)
    report(client, "one")
    return client


@pytest.mark.parametrize(
    "header", ["x-openstack-request-id", "x-openstack-global-request-id"]
)
def test_sent_request_id_is_used_everywhere(
    client: WsgiClient, books: Gantt, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    since = books.revision
    sent = {header: SENT}
    made = client("POST", "/resource_providers", body={"name": "n"}, headers=sent)
    assert made.headers["x-openstack-request-id"] != SENT
    group = {"uuid": "11111111-2222-4333-8444-555555555555", "name": "g", "members": []}
    told = client(
        "PUT", f"/gantt/server_groups/{group['uuid']}", body=group, headers=sent
    )
    assert told.status == 204, told.text
    events = books.events(since).events
    assert [one.request_id for one in events] == [SENT, SENT]
    assert f"[{SENT} {made.headers['x-openstack-request-id']} " in caplog.text


def test_without_sent_id_the_id_of_the_answer_is_used(
    client: WsgiClient, books: Gantt
) -> None:
    since = books.revision
    for sent in ({}, {"x-openstack-request-id": "<script>"}):
        made = client(
            "POST", "/resource_providers", body={"name": repr(sent)}, headers=sent
        )
        (event,) = books.events(since).events
        assert event.request_id == made.headers["x-openstack-request-id"]
        since = books.revision


def test_refusal_has_the_id_of_its_answer(client: WsgiClient) -> None:
    found = client("GET", "/nowhere", headers={"x-openstack-request-id": SENT})
    request_id = found.json["errors"][0]["request_id"]
    assert request_id == found.headers["x-openstack-request-id"] != SENT


def test_decision_is_found_by_sent_request_id(client: WsgiClient, books: Gantt) -> None:
    body = {"request_spec": SPEC, "instance_uuids": [A]}
    headers = {"x-openstack-request-id": SENT}
    answer = client("POST", "/gantt/select", body=body, headers=headers)
    assert answer.status == 200, answer.text
    assert [one.request_id for one in books.decisions(request_id=SENT)] == [SENT]


def test_work_without_request_has_no_id(books: Gantt) -> None:
    with books.bearing(SENT):
        books.create_provider("a")
    books.create_provider("b")
    assert [e.request_id for e in books.events().events] == []
    assert [e.request_id for e in books.events(0).events[-2:]] == [SENT, ""]
