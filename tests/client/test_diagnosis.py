"""A diagnosis is the same in process and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from gantt import errors
from gantt.client.remote import RemoteGantt
from gantt.client.transport import Reply
from gantt.connection import connect
from gantt.model.commands import Inventory
from gantt.model.diagnosis import Count
from gantt.model.protocol import GanttProtocol
from gantt.model.requests import CandidateRequest, Labels, RequestGroup


@pytest.fixture(params=["memory", "http"])
def books(request: pytest.FixtureRequest) -> Iterator[GanttProtocol]:
    """Only Gantts: other Placements do not explain candidates."""
    if request.param == "memory":
        found: GanttProtocol = connect("memory://")
    else:
        found = RemoteGantt(request.getfixturevalue("service"))
    yield found
    found.close()


def test_diagnosis_is_equal_in_process_and_over_http(books: GanttProtocol) -> None:
    mark = uuid4().hex[:12]
    rc, trait = f"CUSTOM_{mark.upper()}", f"CUSTOM_T_{mark.upper()}"
    books.create_resource_class(rc)
    books.create_trait(trait)
    uuids = [books.create_provider(f"{mark}-{n}").uuid for n in range(2)]
    for uuid, total in zip(uuids, (8, 3), strict=True):
        books.set_inventories(uuid, {rc: Inventory(total, max_unit=total)})
    books.set_traits(uuids[1], [trait])
    borne = Labels(required=(frozenset({trait}),))
    near = CandidateRequest((RequestGroup("", {rc: 4}, borne),))
    assert books.find_candidates(near).candidates == ()
    found = books.explain_candidates(near)
    assert found.has_candidates is False
    amount, required = found.groups[0].constraints
    assert (amount.amount, amount.passed) == (4, Count(1, 1))
    assert (required.names, required.removed_alone) == ((trait,), Count(1, 1))
    (lack,) = found.misses[0].lacks
    assert (lack.provider_uuid, lack.missing) == (uuids[1], 1)
    assert found.relaxation is not None
    assert found.relaxation.text == f"ask for 3 instead of 4 {rc}"
    apart = CandidateRequest(
        (RequestGroup("_A", {rc: 4}), RequestGroup("_B", {rc: 4})), isolate=True
    )
    found = books.explain_candidates(apart)
    assert [one.kind for one in found.whole] == ["together", "isolate"]
    assert found.relaxation is not None
    assert found.relaxation.text == "ask with group_policy none"
    with pytest.raises(errors.UnknownName, match="CUSTOM_NOBODY"):
        books.explain_candidates(
            CandidateRequest((RequestGroup("", {"CUSTOM_NOBODY": 1}),))
        )


def test_diagnosis_requires_a_gantt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenStack Placement's answer to an unknown path."""
    detail = "The resource could not be found.\n\n   "
    body = json.dumps({"errors": [{"status": 404, "detail": detail}]}).encode()
    remote = RemoteGantt("http://127.0.0.1:9")
    transport = remote._wire._transport
    monkeypatch.setattr(transport, "send", lambda *_, **__: Reply(404, {}, body))
    with pytest.raises(errors.Invalid, match="Gantt's own"):
        remote.explain_candidates(CandidateRequest((RequestGroup("", {"VCPU": 1}),)))
    monkeypatch.setattr(transport, "send", lambda *_, **__: Reply(200, {}, b"{}"))
    with pytest.raises(errors.Unavailable, match="expected"):
        remote.explain_candidates(CandidateRequest((RequestGroup("", {"VCPU": 1}),)))
