"""Shadow records over HTTP: the raw API, the library, and the command line."""

from __future__ import annotations

import csv
import io
import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gantt.cli.main import gantt
from gantt.client.remote import RemoteGantt
from gantt.engine.gantt import Gantt
from gantt.engine.shadow import settler
from gantt.errors import Invalid
from gantt.model.commands import ConsumerAllocations
from gantt.model.forms.values import spec as checked
from gantt.model.hosts import HostStats
from gantt.model.shadow import ShadowEvent
from gantt.model.spec import Flavor, RequestSpec
from tests import inprocess
from tests.api.native.fleet import SPEC, STATS
from tests.api.wsgi_client import WsgiClient
from tests.cli.conftest import Program
from tests.waiting import until

MEMBER = {"x-auth-token": "bob:blue", "x-roles": "member"}
AMOUNTS = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settler, "PERIOD_S", 0.01)


def claim(books: Gantt | RemoteGantt, uuid: str, host: str) -> None:
    (provider,) = (one.uuid for one in books.list_providers() if one.name == host)
    found = {provider: AMOUNTS}
    books.set_allocations([ConsumerAllocations(uuid, found, "p", "u", None)])


def observe(client: WsgiClient, uuid: str, **more: Any) -> Any:
    body = {"request_spec": {**SPEC, "instance_uuid": uuid}, **more}
    return client("POST", "/gantt/shadow/events", body=body)


def test_request_id_has_a_limit(client: WsgiClient, books: Gantt) -> None:
    uuid = str(uuids.uuid4())
    assert observe(client, uuid, request_id="r" * 256).status == 400
    assert observe(client, uuid, request_id="r" * 255).status == 204
    event = ShadowEvent(RequestSpec(instance_uuid=uuid), request_id="r" * 256)
    with pytest.raises(Invalid, match="request_id"):
        books.shadow_event(event)


def test_event_is_observed_and_reported(client: WsgiClient, books: Gantt) -> None:
    uuid = str(uuids.uuid4())
    assert observe(client, uuid, request_id="req-1").status == 204
    claim(books, uuid, "two")
    assert observe(client, uuid, phase="end", request_id="req-1").status == 204
    until(lambda: len(books.shadow_records()) == 1)
    answer = client("GET", f"/gantt/shadow/records?instance_uuid={uuid}")
    (found,) = answer.json["shadow_records"]
    assert (found["host"], found["request_id"]) == ("two", "req-1")
    assert found["nova_s"] is not None
    report = client("GET", "/gantt/shadow/report").json
    assert (report["records"], report["agreement"]["compared"]) == (1, 1)
    later = client("GET", f"/gantt/shadow/report?since={found['asked_at'] + 1}").json
    assert later["records"] == 0


def test_request_id_is_by_default_that_of_the_call(
    client: WsgiClient, books: Gantt
) -> None:
    uuid = str(uuids.uuid4())
    answer = observe(client, uuid)
    claim(books, uuid, "one")
    observe(client, uuid, phase="end")
    until(lambda: len(books.shadow_records()) == 1)
    name = answer.headers["x-openstack-request-id"]
    assert len(books.shadow_records(request_id=name)) == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "request_spec"),
        ({"request_spec": {}}, "flavor is missing"),
        ({"request_spec": SPEC, "phase": "middle"}, "phase"),
        ({"request_spec": SPEC, "at": -1}, "at"),
        ({"request_spec": SPEC, "at": 2**80}, "at"),
        ({"request_spec": SPEC, "odd": 1}, "odd"),
        ({"request_spec": SPEC, "instance_uuids": [""]}, "instance_uuids"),
        ({"request_spec": {"nova_object.name": "RequestSpecPayload"}}, "version"),
    ],
)
def test_bad_event_is_refused_by_its_field(
    client: WsgiClient, body: dict[str, Any], named: str
) -> None:
    answer = client("POST", "/gantt/shadow/events", body=body)
    assert (answer.status, named in answer.text) == (400, True), answer.text


@pytest.mark.parametrize(
    "asked", ["limit=0", "limit=9999999", "verdict=odd", "since=x", "odd=1"]
)
def test_bad_query_is_refused(client: WsgiClient, asked: str) -> None:
    name = asked.partition("=")[0]
    answer = client("GET", f"/gantt/shadow/records?{asked}")
    assert (answer.status, name in answer.text) == (400, True), answer.text


@pytest.fixture
def far(tmp_path: Path) -> Iterator[RemoteGantt]:
    """The library over HTTP, on a service with two hosts."""
    with inprocess.service(tmp_path) as url:
        found = RemoteGantt(url)
        for host, memory_mb in (("one", 16_384), ("two", 65_536)):
            stats = {**STATS, "memory_mb": memory_mb, "free_ram_mb": memory_mb}
            stats["supported_instances"] = '[["x86_64", "kvm", "hvm"]]'
            found.update_host(host, host, HostStats(**stats))
        yield found
        found.close()


def boot(far: RemoteGantt, host: str, request: str) -> str:
    uuid = str(uuids.uuid4())
    size = Flavor(vcpus=2, memory_mb=4096, root_gb=20)
    event = ShadowEvent(RequestSpec(size, instance_uuid=uuid), request_id=request)
    far.shadow_event(event)
    claim(far, uuid, host)
    far.shadow_event(ShadowEvent(checked(event.spec), "end", request))
    until(lambda: len(far.shadow_records(instance_uuid=uuid)) == 1)
    return uuid


def test_library_over_http_is_the_same(far: RemoteGantt) -> None:
    uuid = boot(far, "one", "req-far")
    (found,) = far.shadow_records(request_id="req-far", verdict="ranked")
    assert (found.instance_uuid, found.gantt_host) == (uuid, "two")
    assert far.shadow_records(until=found.asked_at) == ()
    report = far.shadow_report(since=found.asked_at)
    assert report.disagreements[0].example == found
    with pytest.raises(Invalid, match="phase"):
        far.shadow_event(ShadowEvent(RequestSpec(), "odd"))  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="limit"):
        far.shadow_records(limit=0)
    with pytest.raises(Invalid, match="until"):
        far.shadow_records(until=2**63)


def test_commands_show_report_list_and_records(far: RemoteGantt) -> None:
    program = Program(gantt, far.url)
    assert "no shadow records" in program.do("shadow", "report")
    same, other = boot(far, "two", "req-same"), boot(far, "one", "req-other")
    listed = program.ask("shadow", "list")
    assert [one["instance_uuid"] for one in listed] == [other, same]
    assert len(program.ask("shadow", "list", "--verdict", "same")) == 1
    assert len(program.ask("shadow", "list", "--limit", "1")) == 1
    assert program.ask("shadow", "list", "--until", "2000-01-01") == []
    rows = list(csv.DictReader(io.StringIO(program.do("shadow", "list", "-o", "csv"))))
    assert [one["host"] for one in rows] == ["one", "two"]
    report = program.do("shadow", "report")
    for part in (
        "agreement.same",
        "0.5",
        "RAMWeigher",
        other,
        "Note: Few records (2)",
    ):
        assert part in report
    assert program.ask("shadow", "report")["records"] == 2
    figures = dict(csv.reader(io.StringIO(program.do("shadow", "report", "-o", "csv"))))
    assert (figures["records"], figures["agreement.top_3"]) == ("2", "1.0")
    whole = program.ask("shadow", "report")
    for name, figure in figures.items():
        at = whole
        for part in name.split("."):
            at = at if part == "figure" else at[part]
        assert name == "figure" or figure == ("" if at is None else str(round(at, 4)))
    assert set(rows[0]) <= set(listed[0]), "columns have the names of the document"
    for name in (other, "req-other"):
        shown = program.do("shadow", "show", name)
        assert "differences" in shown
        assert "RAMWeigher=" in shown
    assert program.ask("shadow", "show", same)[0]["verdict"] == "same"
    assert "no shadow record of 'gone'" in program.fail("shadow", "show", "gone")


def test_listener_needs_a_configuration(far: RemoteGantt) -> None:
    assert "--config-file" in Program(gantt, far.url).fail("shadow", "listen")
