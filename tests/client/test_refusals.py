"""Errors on the wire become the errors that a caller in process would see."""

from __future__ import annotations

import json
from functools import partial

import pytest

from gantt import errors
from gantt.api.wire.problem import translate
from gantt.client import decode
from gantt.client.exchange import refusal
from gantt.client.transport import Reply
from gantt.model.answers import ProviderUsages
from gantt.model.diagnosis import Diagnosis
from gantt.model.hosts import HostPage

STOCK = "There was a conflict when trying to complete your request."


def reply(status: int, detail: str = "", code: str = "", **extra: str) -> Reply:
    problem = {"status": status, "title": "T", "detail": f"{STOCK}\n\n {detail}  "}
    found = {
        "errors": [{**problem, "code": code or "placement.undefined_code"} | extra]
    }
    return Reply(status, {}, json.dumps(found).encode())


@pytest.mark.parametrize(
    ("status", "detail", "code", "kind"),
    [
        (400, "JSON does not validate: x", "", errors.Invalid),
        (400, "No such resource class X.", "", errors.UnknownResourceClass),
        (400, "No such trait(s): X.", "", errors.UnknownName),
        (400, "Allocation for resource provider 'U' that does not exist.", "",
         errors.UnknownProvider),
        (400, "U not found", "resource_provider.not_found", errors.UnknownProvider),
        (403, "Policy does not allow x.", "", errors.Forbidden),
        (404, "No resource provider with uuid U found", "", errors.NotFound),
        (409, "generation conflict", "concurrent_update", errors.ConcurrentUpdate),
        (409, "update conflict", "inventory.inuse", errors.InventoryInUse),
        (409, "Unable to delete inventory of class X: in use.", "concurrent_update",
         errors.InventoryInUse),
        (409, "consumer generation conflict - expected 1", "concurrent_update",
         errors.ConsumerMoved),
        (409, "Conflicting name", "duplicate_name", errors.DuplicateName),
        (409, "has allocations", "resource_provider.inuse", errors.ProviderInUse),
        (409, "has children", "resource_provider.cannot_delete_parent",
         errors.ProviderHasChildren),
        (409, "Unable to allocate inventory: too much", "", errors.DoesNotFit),
        (409, "The trait X is in use", "", errors.Conflict),
        (413, "too large", "", errors.Invalid),
        (500, "boom", "", errors.StoreFailed),
        (503, "busy", "", errors.Unavailable),
        (504, "", "", errors.Unavailable),
        (507, "", "", errors.Unavailable),
    ],
)  # fmt: skip
def test_class_of_a_refusal(
    status: int, detail: str, code: str, kind: type[errors.GanttError]
) -> None:
    found = refusal(
        reply(status, detail, f"placement.{code}" if code else ""), request="GET /x"
    )
    assert type(found) is kind
    assert str(found) == (detail or "T")


@pytest.mark.parametrize("kind", errors.every_kind(), ids=lambda kind: kind.__name__)
def test_class_header_takes_precedence_over_the_text(
    kind: type[errors.GanttError],
) -> None:
    """Each class survives translation by the API and back."""
    problem = translate(kind("No such trait: Unable to allocate inventory"))
    body = reply(problem.status, "other words", problem.code).body
    found = refusal(Reply(problem.status, dict(problem.headers), body), request="x")
    assert type(found) is kind
    assert found.message == "other words"


def test_refusal_lists_the_uuids_in_its_text() -> None:
    uuid = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
    found = refusal(reply(409, f"Unable to allocate on {uuid}."), request="x")
    assert found.named == {uuid}


def test_unsupported_microversion() -> None:
    found = refusal(reply(406, "Unacceptable", max_version="1.17"), request="GET /x")
    assert type(found) is errors.Invalid
    assert "1.17" in str(found)
    assert "upgrade" in str(found)


def test_missing_authentication() -> None:
    body = json.dumps({"message": "Who are you?<br /><br />\n\n\n", "code": "401"})
    found = refusal(Reply(401, {}, body.encode()), request="GET /x")
    assert type(found) is errors.Forbidden
    assert "--token" in str(found)


@pytest.mark.parametrize("body", [b"", b"<html>proxy</html>", b"[1]", b'{"errors": 1}'])
def test_error_from_a_proxy(body: bytes) -> None:
    found = refusal(Reply(502, {}, body), request="GET /x")
    assert type(found) is errors.Unavailable
    assert "502" in str(found)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b"null", b"7"])
def test_unexpected_answers_are_unavailable(body: bytes) -> None:
    for read in (
        decode.provider,
        decode.providers,
        decode.inventories,
        decode.generation,
        partial(decode.view, kind=ProviderUsages),
        decode.provider_traits,
        decode.traits,
        decode.resource_classes,
        decode.consumer,
        decode.provider_allocations,
        decode.usages,
        decode.candidates,
        partial(decode.native, kind=Diagnosis),
        partial(decode.native, kind=HostPage),
    ):
        with pytest.raises(errors.Unavailable, match="Placement service"):
            read(Reply(200, {}, body))
