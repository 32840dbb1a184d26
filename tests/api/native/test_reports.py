"""Reports of agents over HTTP, and what they cost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec import to_builtins

from gantt import errors
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.hosts import HostStats
from gantt.placement.rules import own_host
from gantt.scheduler.options import SchedulerOptions
from gantt.store import schema
from tests.api.native.fleet import client_of
from tests.api.wsgi_client import WsgiClient
from tests.reported import report_of

PATH = "/gantt/reports"
UUID = "11111111-1111-4111-8111-111111111111"
FIELDS = {"vcpus": 8, "memory_mb": 1024, "local_gb": 10, "free_ram_mb": 512}


def body(sequence: int = 1, host: str = "h", **more: Any) -> dict[str, Any]:
    return {
        "host": host,
        "node": host,
        "incarnation": "a",
        "sequence": sequence,
        "taken_at": int(time.time() * 1_000_000),
        **more,
    }


def full(sequence: int = 1, host: str = "h", **fields: Any) -> dict[str, Any]:
    return body(sequence, host, full=True, fields={**FIELDS, **fields})


def send(client: WsgiClient, *reports: Any) -> list[dict[str, Any]]:
    answer = client("POST", PATH, body={"reports": list(reports)})
    assert answer.status == 200, answer.detail
    outcomes: list[dict[str, Any]] = answer.json["outcomes"]
    return outcomes


def outcomes(client: WsgiClient, *reports: Any) -> list[str]:
    return [one["outcome"] for one in send(client, *reports)]


def test_reports_of_many_hosts_and_in_sequence(client: WsgiClient) -> None:
    said = [full(), full(host="g"), body(2, fields={"running_vms": 3}), body(2)]
    assert outcomes(client, *said) == ["applied"] * 3 + ["unchanged"]
    stats = client("GET", "/gantt/hosts/h/h").json["stats"]
    assert (stats["vcpus"], stats["running_vms"]) == (8, 3)
    assert outcomes(client, *said[:3]) == ["duplicate"] * 3


def test_a_full_report_is_asked_for(client: WsgiClient) -> None:
    (found,) = send(client, body(7, fields={"running_vms": 3}))
    assert (found["outcome"], found["wants_full"]) == ("refused", True)
    assert found["code"] == "unknown_incarnation"
    send(client, full())
    (found,) = send(client, body(3, fields={"running_vms": 3}))
    assert (found["code"], found["wants_full"]) == ("report_gap", True)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (full(vcpus=-1), "fields.vcpus"),
        (full(vcpus="many"), "fields.vcpus"),
        (full(colour="red"), "colour"),
        (full(free_ram_mb=2000), "fields.free_ram_mb"),
        (full(pci_stats=[{"count": -1}]), "pci_stats"),
        ({**full(), "sequence": 0}, "sequence"),
        ({**full(), "taken_at": "now"}, "taken_at"),
        ({**full(), "taken_at": 1}, "taken_at"),
        ({**full(), "taken_at": 2**52}, "taken_at"),
        ({**full(), "host": ""}, "host"),
        ({**full(), "needs": "n" * 65}, "needs"),
        ({"host": "h"}, "node"),
        ({**full(), "color": "red"}, "color"),
        (full(cpu_info={"model": "m" * 300_000}), "max_report_bytes"),
        (7, "int"),
    ],
)
def test_a_bad_report_is_refused_by_itself(
    client: WsgiClient, bad: Any, named: str
) -> None:
    first, found, last = send(client, full(host="f"), bad, full(host="g"))
    assert first["outcome"] == last["outcome"] == "applied"
    assert (found["outcome"], found["wants_full"]) == ("refused", False)
    assert named in found["message"]
    assert client("GET", "/gantt/hosts/h/h").status == 404


def test_the_body_itself_must_be_a_list(client: WsgiClient) -> None:
    assert client("POST", PATH, body={"reports": 7}).status == 400
    assert client("POST", PATH, body=[]).status == 400


def test_too_many_reports_are_refused_at_once() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(max_statement=2))
    with open_gantt("memory://", options=options) as books:
        client = client_of(books)
        assert outcomes(client, full(), body(1)) == ["applied", "unchanged"]
        answer = client("POST", PATH, body={"reports": [full()] * 3})
        assert (answer.status, "max_statement" in answer.detail) == (400, True)


def test_what_became_of_reports_is_counted(client: WsgiClient, books: Gantt) -> None:
    send(client, full(), full(), body(1), body(5, fields={"running_vms": 1}), 7)
    counts = books.counts()
    found = {
        name: counts[f"reports_{name}"]
        for name in ("applied", "duplicate", "unchanged", "refused", "full_wanted")
    }
    assert found == {
        "applied": 1,
        "duplicate": 1,
        "unchanged": 1,
        "refused": 2,
        "full_wanted": 1,
    }


def test_reports_without_news_do_not_reach_the_committer(books: Gantt) -> None:
    client = client_of(books)
    hosts = [f"h{number}" for number in range(50)]
    send(client, *(full(host=host) for host in hosts))
    before = books.counts()["commands"]
    revision = books.revision
    assert set(outcomes(client, *(body(host=host) for host in hosts))) == {"unchanged"}
    assert set(outcomes(client, *(full(host=host) for host in hosts))) == {"duplicate"}
    assert (books.counts()["commands"], books.revision) == (before, revision)


def test_the_place_in_the_sequence_survives_a_restart(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/books.db"
    said = report_of("h", 4, HostStats(vcpus=8, memory_mb=1024))
    schema.sync(url)
    with open_gantt(url) as books:
        assert books.report_hosts([said])[0].outcome == "applied"
    with open_gantt(url) as books:
        assert books.report_hosts([said])[0].outcome == "duplicate"
        document = to_builtins(said) | {"sequence": 6, "full": False}
        (gap,) = send(client_of(books), document)
        assert gap["code"] == errors.ReportGap.code
        document |= {"sequence": 5, "fields": {"running_vms": 1}}
        assert outcomes(client_of(books), document) == ["applied"]


def test_needs_are_published_and_reports_follow_them() -> None:
    with open_gantt("memory://") as books:
        client = client_of(books)
        found = client("GET", "/gantt/needs").json
        assert "vcpus" in found["columns"] and found["everything"] is False
        assert found["readers"]["IoOpsWeigher"] == ["stats.io_workload"]
        first = {**full(), "needs": found["digest"]}
        assert send(client, first)[0]["needs"] == found["digest"]
        books.decide_by(SchedulerOptions(enabled_filters=("MetricsFilter",)))
        digest = client("GET", "/gantt/needs").json["digest"]
        assert digest != found["digest"]
        (old,) = send(client, {**body(1), "needs": found["digest"]})
        assert (old["code"], old["needs"]) == (errors.NeedsChanged.code, digest)
        assert outcomes(client, {**full(2), "needs": digest}) == ["applied"]
        assert outcomes(client, {**body(2), "needs": digest}) == ["unchanged"]


def test_a_token_of_one_host_reports_no_other(client: WsgiClient, books: Gantt) -> None:
    headers = {"x-auth-token": "h", "x-roles": "host"}
    said = {"reports": [full(), full(host="g"), body(1), 7]}
    answer = client("POST", PATH, body=said, headers=headers)
    assert answer.status == 200
    own, other, again, _ = answer.json["outcomes"]
    assert (own["outcome"], again["outcome"]) == ("applied", "unchanged")
    assert (other["code"], other["host"]) == (errors.Forbidden.code, "g")
    assert "host is 'g'" in other["message"]
    assert client("GET", "/gantt/hosts/g/g").status == 404
    assert books.counts()["reports_refused"] == 2
    assert client("GET", "/gantt/needs", headers=headers).status == 200
    assert client("GET", "/gantt/hosts", headers=headers).status == 403


OWN = {"x-auth-token": "h", "x-roles": "host"}


def refusal_of_own(client: WsgiClient, report: dict[str, Any]) -> str:
    """The message where the token of the host "h" is refused, "" where it is not."""
    answer = client("POST", PATH, body={"reports": [report]}, headers=OWN)
    (found,) = answer.json["outcomes"]
    assert found["code"] in ("", errors.Forbidden.code)
    return str(found["message"])


@pytest.mark.parametrize("writes_books", [True, False])
def test_a_token_of_one_host_takes_no_provider_of_another(writes_books: bool) -> None:
    options = SchedulerOptions(reports_write_books=writes_books)
    with open_gantt("memory://") as books:
        books.decide_by(options)
        client = client_of(books)
        send(client, full(host="g", uuid=UUID))
        assert "fields.uuid" in refusal_of_own(client, full(uuid=UUID))
        assert refusal_of_own(client, full()) == ""
        assert "fields.uuid" in refusal_of_own(client, body(2, fields={"uuid": UUID}))
        assert "node is 'g'" in refusal_of_own(client, {**full(), "node": "g"})
        assert client("GET", "/gantt/hosts/g/g").json["provider_uuid"] == UUID
        # Nor does any other token: that is adoption, which an operator asks for.
        assert outcomes(client, full(2, uuid=UUID)) == ["refused"]
        assert client("GET", "/gantt/hosts/g/g").json["provider_uuid"] == UUID


def test_a_token_of_one_host_takes_no_provider_without_a_host(
    client: WsgiClient, books: Gantt
) -> None:
    spare = books.create_provider("spare").uuid
    own = books.create_provider("h").uuid
    assert "fields.uuid" in refusal_of_own(client, full(uuid=spare))
    assert "node is 'spare'" in refusal_of_own(client, {**full(), "node": "spare"})
    assert refusal_of_own(client, full()) == "", "the provider has the host's name"
    assert client("GET", "/gantt/hosts/h/h").json["provider_uuid"] == own
    assert refusal_of_own(client, full(2, uuid=own)) == ""


def test_a_token_of_one_host_moves_no_provider_between_its_nodes() -> None:
    with open_gantt("memory://") as books:
        books.decide_by(SchedulerOptions(reports_write_books=False))
        client = client_of(books)
        assert refusal_of_own(client, full(uuid=UUID)) == ""
        said = {"reports": [{**full(uuid=UUID), "node": "h-2"}]}
        (found,) = client("POST", PATH, body=said, headers=OWN).json["outcomes"]
        assert found["code"] == errors.Conflict.code
        assert client("GET", "/gantt/hosts/h/h").json["provider_uuid"] == UUID


def test_a_token_of_one_host_reports_so_many_nodes(
    client: WsgiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_host, "MAX_NODES", 2)
    for node in ("h", "h-2"):
        assert refusal_of_own(client, {**full(), "node": node}) == ""
    message = refusal_of_own(client, {**full(), "node": "h-3"})
    assert "has 2 nodes, and 2 is the limit" in message
    assert refusal_of_own(client, {**full(2), "node": "h-2"}) == "", "it is known"
    assert outcomes(client, {**full(), "node": "h-3"}) == ["applied"]
