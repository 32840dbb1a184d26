"""Requests to a remote Placement, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import json

from gantt import errors
from gantt.client import encode
from gantt.client.placement_books import PlacementBooks, wire_question
from gantt.model.commands import ConsumerAllocations
from gantt.model.requests import CandidateRequest, Labels, RequestGroup

FAST = Labels((frozenset({"CUSTOM_FAST"}),))
BARE = RequestGroup("", {}, FAST, in_tree="11111111-1111-4111-8111-111111111111")
DISK = RequestGroup("_D", {"DISK_GB": 1})


class Response:
    """An answer of a session."""

    headers: Mapping[str, str] = {}

    def __init__(self, status: int, body: Any) -> None:
        self.status_code = status
        self.content = json.encode(body)


class Session:
    """Gives the same answer to every request, and records requests."""

    def __init__(self, status: int = 200, body: Any = None) -> None:
        self._response = Response(status, body)
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def request(self, path: str, method: str, **more: Any) -> Response:
        self.asked.append((method, path, more))
        return self._response


def problem(detail: str, code: str = "placement.undefined_code") -> Any:
    return {"errors": [{"detail": detail, "code": code}]}


def test_group_without_resources_gets_a_suffix() -> None:
    found = wire_question(CandidateRequest((BARE, DISK)))
    pairs = encode.candidate_pairs(found)
    assert ("same_subtree", "_host") in pairs
    assert ("required_host", "CUSTOM_FAST") in pairs
    assert ("group_policy", "none") in pairs
    assert all(value for key, value in pairs if key.startswith("resources"))
    assert not [key for key, _ in pairs if key in ("required", "in_tree_host")]


def test_group_with_resources_is_unchanged() -> None:
    question = CandidateRequest((RequestGroup("", {"VCPU": 1}), DISK))
    assert wire_question(question) is question


def test_isolated_group_without_resources_is_refused() -> None:
    with pytest.raises(errors.Invalid, match="group_policy=isolate"):
        wire_question(CandidateRequest((BARE, DISK), isolate=True))


def test_mappings_use_the_original_suffix() -> None:
    uuid = "11111111-1111-4111-8111-111111111111"
    body = {
        "allocation_requests": [
            {
                "allocations": {uuid: {"resources": {"DISK_GB": 1}}},
                "mappings": {"_host": [uuid], "_D": [uuid]},
            }
        ],
        "provider_summaries": {},
    }
    session = Session(200, body)
    books = PlacementBooks("keystone", session=session)
    (found,) = books.candidates(CandidateRequest((BARE, DISK))).candidates
    assert found.mappings == {"": (uuid,), "_D": (uuid,)}
    ((method, path, more),) = session.asked
    assert (method, path.partition("?")[0]) == ("GET", "/allocation_candidates")
    assert more["headers"]["openstack-api-version"] == "placement 1.36"
    assert more["endpoint_filter"] == {"service_type": "placement"}


def test_missing_owner_becomes_the_null_uuid() -> None:
    session = Session(204)
    books = PlacementBooks("http://there", session=session)
    wish = ConsumerAllocations("c", {"p": {"VCPU": 1}}, "", "", None)
    books.write([wish], request_id="req-7")
    ((_, path, more),) = session.asked
    assert path == "/allocations"
    assert more["headers"]["x-openstack-request-id"] == "req-7"
    null_uuid = "00000000-0000-0000-0000-000000000000"
    assert json.decode(more["data"])["c"] == {
        "allocations": {"p": {"resources": {"VCPU": 1}}},
        "project_id": null_uuid,
        "user_id": null_uuid,
        "consumer_generation": None,
    }


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            409,
            problem(
                "consumer generation conflict - expected 1 but got None",
                "placement.concurrent_update",
            ),
            errors.ConsumerMoved,
        ),
        (
            409,
            problem("Inventory changed", "placement.concurrent_update"),
            errors.ConcurrentUpdate,
        ),
        (
            409,
            problem("Unable to allocate inventory: it would exceed the capacity"),
            errors.DoesNotFit,
        ),
        (503, problem("come back later"), errors.Unavailable),
    ],
)
def test_refusals_of_a_write(status: int, body: Any, kind: type[Exception]) -> None:
    books = PlacementBooks("http://there", session=Session(status, body))
    with pytest.raises(kind) as refused:
        books.write([ConsumerAllocations("c", {"p": {"VCPU": 1}}, "p", "u", None)])
    assert type(refused.value) is kind


def test_consumer_without_a_type_is_read() -> None:
    share = {"resources": {"VCPU": 1}, "generation": 7}
    body = {
        "allocations": {"p": share},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 4,
    }
    found = PlacementBooks("http://there", session=Session(200, body)).consumer("c")
    assert found is not None
    assert (found.generation, found.consumer_type) == (4, None)
