"""Candidates are encoded as by a plain encoder, and fragments only once."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gantt
from gantt.api.app import build_app
from gantt.api.wire.candidate_answer import Encoder
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.model.answers import Candidates
from gantt.model.changes import Cursor
from gantt.model.commands import SetTraits
from gantt.model.requests import CandidateRequest, RequestGroup
from gantt.placement.candidates import search_answer
from gantt.placement.rules import plan
from tests.api.wsgi_client import WsgiClient

HOST, CHILD, OTHER = (f"0000000{n}-0000-4000-8000-000000000000" for n in (1, 2, 3))
CONSUMER = "00000001-aaaa-4000-8000-00000000000c"
REQUEST = CandidateRequest(
    (
        RequestGroup("", {"VCPU": 1, "MEMORY_MB": 64}),
        RequestGroup("_net", {"VGPU": 1}),
    )
)


@pytest.fixture
def books() -> Gantt:
    books = open_gantt("memory://")
    for uuid, parent in ((HOST, None), (CHILD, HOST), (OTHER, None)):
        books.create_provider(f'host "{uuid}"', uuid=uuid, parent_uuid=parent)
    for uuid in (HOST, OTHER):
        books.set_inventories(
            uuid, {"VCPU": gantt.Inventory(8), "MEMORY_MB": gantt.Inventory(512)}
        )
    books.set_inventories(CHILD, {"VGPU": gantt.Inventory(4)})
    books.set_inventory(OTHER, "VGPU", gantt.Inventory(4))
    return books


def expected(found: Candidates, request: CandidateRequest, version: int) -> Any:
    """The body as the wire contract has it, written the slow way."""
    asked = {name for group in request.groups for name in group.resources}
    requests: list[dict[str, Any]] = []
    for one in found.candidates:
        body: dict[str, Any]
        if version < 12:
            body = {
                "allocations": [
                    {"resource_provider": {"uuid": uuid}, "resources": resources}
                    for uuid, resources in one.allocations.items()
                ]
            }
        else:
            body = {
                "allocations": {
                    uuid: {"resources": r} for uuid, r in one.allocations.items()
                }
            }
        if version >= 34:
            body["mappings"] = {s: list(u) for s, u in one.mappings.items()}
        requests.append(body)
    summaries = {}
    for uuid, one_summary in found.summaries.items():
        body = {
            "resources": {
                name: {"capacity": r.capacity, "used": r.used}
                for name, r in one_summary.resources.items()
                if version >= 27 or name in asked
            }
        }
        if version >= 17:
            body["traits"] = list(one_summary.traits)
        if version >= 29:
            body["parent_provider_uuid"] = one_summary.parent_uuid
            body["root_provider_uuid"] = one_summary.root_uuid
        summaries[uuid] = body
    return {"allocation_requests": requests, "provider_summaries": summaries}


@pytest.mark.parametrize("version", [10, 12, 17, 27, 29, 34, 39])
def test_candidates_equal_those_of_a_plain_encoder(books: Gantt, version: int) -> None:
    encoder = Encoder()
    for _ in range(2):
        answer = books.search(encoder, REQUEST, version)
        found = books.find_candidates(REQUEST)
        assert len(found.candidates) == 2
        assert answer.body.decode() == json.dumps(expected(found, REQUEST, version))
        books.set_traits(CHILD, ["HW_CPU_X86_AVX2"])


def test_only_changed_summaries_are_encoded_again(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    real = search_answer.summaries_of

    def counting(state: Any, rows: list[int]) -> Any:
        made.append(len(rows))
        return real(state, rows)

    monkeypatch.setattr(search_answer, "summaries_of", counting)
    encoder = Encoder()
    for _ in range(2):
        books.search(encoder, REQUEST, 39)
        assert made == [3]
    books.set_allocations(
        [gantt.ConsumerAllocations(CONSUMER, {CHILD: {"VGPU": 1}}, "p", "u")]
    )
    books.search(encoder, REQUEST, 39)
    assert made == [3, 1]


def test_summaries_of_aborted_revisions_are_dropped(books: Gantt) -> None:
    """The number of a revision that was taken back is given again."""
    encoder = Encoder()

    def ask(state: Any) -> str:
        assert encoder(state, REQUEST, 39).body == fresh(state)
        return encoder(state, REQUEST, 39).body.decode()

    def fresh(state: Any) -> bytes:
        return Encoder()(state, REQUEST, 39).body

    def act(state: Any) -> None:
        before = state.cursor
        for trait in ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"):
            planned = plan(state, SetTraits(CHILD, (trait,)), 1)
            state.apply(planned.changes, Cursor(before.revision + 1, trait))
            assert trait in ask(state)
            undo = [change.inverse() for change in reversed(planned.changes)]
            state.apply(undo, before)
            assert trait not in ask(state)

    books.read(act)


def test_truncated_search_is_marked_or_refused() -> None:
    settings = load(environ={}, default_auth="noauth2")
    path = (
        "/allocation_candidates?group_policy=isolate"
        "&resources_a=VGPU:1&resources_b=VGPU:1"
    )
    headers = {"openstack-api-version": "placement 1.39"}
    statuses = set()
    for budget in range(1, 200, 3):
        options = gantt.EngineOptions(search_budget=budget)
        with open_gantt("memory://", options) as books:
            root = books.create_provider("root").uuid
            for number in range(4):
                child = books.create_provider(f"c{number}", parent_uuid=root).uuid
                books.set_inventories(child, {"VGPU": gantt.Inventory(1)})
            answer = WsgiClient(build_app(books, settings))(
                "GET", path, headers=headers
            )
            cut = answer.headers.get("gantt-truncated")
            if answer.status == 400:
                assert "steps without a result" in answer.detail
                statuses.add("refused")
            else:
                found = answer.json["allocation_requests"]
                full = len(found) == 12
                assert found
                assert (cut is None) == full
                statuses.add("cut" if cut else "whole")
            assert books.counts()["searches_cut"] == (
                answer.status == 400 or cut == "budget"
            )
    assert statuses == {"refused", "cut", "whole"}
