"""Error bodies, to the byte, in their three forms."""

from __future__ import annotations

import re

import pytest

from gantt import errors
from gantt.api.call import Call
from gantt.api.wire.problem import (
    LONGEST,
    LONGEST_HEADER,
    TRANSLATIONS,
    Problem,
    translate,
)
from tests.api.door import client_for
from tests.api.wsgi_client import Answer


def refused(problem: Exception, accept: str | None = None, version: int = 0) -> Answer:
    def refuse(call: Call) -> None:
        raise problem

    headers = {"accept": accept}
    return client_for(refuse)("GET", "/thing", headers=headers, version=version)


def test_json_error_has_keys_in_contract_order() -> None:
    answer = refused(Problem(404, "No such thing."), version=22)
    [error] = answer.json["errors"]
    assert list(error) == ["status", "title", "detail", "request_id"]
    assert error["status"] == 404
    assert error["title"] == "Not Found"
    assert error["request_id"] == answer.headers["x-openstack-request-id"]
    assert re.fullmatch(r"req-[a-f0-9-]{36}", error["request_id"])
    assert answer.headers["content-type"] == "application/json"


def test_code_is_present_since_1_23() -> None:
    problem = Problem(409, "x", "placement.concurrent_update")
    assert "code" not in refused(problem, version=22).json["errors"][0]
    [error] = refused(problem, version=23).json["errors"]
    assert error["code"] == "placement.concurrent_update"
    assert list(error) == ["status", "title", "detail", "code", "request_id"]


@pytest.mark.parametrize(
    ("status", "detail"),
    [
        (
            400,
            "The server could not comply with the request since it is either "
            "malformed or otherwise incorrect.\n\n MSG  ",
        ),
        (403, "Access was denied to this resource.\n\n MSG  "),
        (404, "The resource could not be found.\n\n MSG  "),
        (405, "The method GET is not allowed for this resource. \n\n MSG"),
        (
            406,
            "The resource could not be generated that was acceptable to your "
            "browser (content of type application/json. \n\n MSG",
        ),
        (409, "There was a conflict when trying to complete your request.\n\n MSG  "),
        (413, "The body of your request was too large for this server.\n\n MSG  "),
        (414, "The request URI was too long for this server.\n\n MSG  "),
        (
            415,
            "The request media type None is not supported by this server. \n\n MSG",
        ),
        (
            500,
            "The server has either erred or is incapable of performing the "
            "requested operation.\n\n MSG  ",
        ),
        (
            503,
            "The server is currently unavailable. Please try again at a later "
            "time.\n\n MSG  ",
        ),
    ],
)
def test_text_around_the_message(status: int, detail: str) -> None:
    answer = refused(Problem(status, "MSG"))
    assert answer.status == status
    assert answer.detail == detail


def test_tags_are_removed_and_newlines_become_spaces() -> None:
    assert refused(Problem(400, "a<b>c\nd")).detail.endswith("\n\n ac d  ")


def test_plain_text() -> None:
    answer = refused(Problem(404, ""), "text/plain")
    assert answer.text == ("404 Not Found\n\nThe resource could not be found.\n\n   ")
    assert answer.headers["content-type"] == "text/plain; charset=UTF-8"


def test_html_error_is_an_escaped_page() -> None:
    answer = refused(Problem(409, "<b>'x'"), "text/html")
    assert answer.text == (
        "<html>\n <head>\n  <title>409 Conflict</title>\n </head>\n <body>\n"
        "  <h1>409 Conflict</h1>\n"
        "  There was a conflict when trying to complete your request.<br /><br />\n"
        "&lt;b&gt;&#x27;x&#x27;\n\n\n </body>\n</html>"
    )
    assert answer.headers["content-type"] == "text/html; charset=UTF-8"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/json,text/html", "text/html"),
        ("text/html;q=0.5,application/json;q=0.6", "application/json"),
        ("*/*;q=0.5", "text/html"),
        ("text/*", "text/html"),
        ("text/plain", "text/plain"),
        ("application/xml", "text/plain"),
        ("application/json;q=0", "text/plain"),
        ("foo", "text/html"),
    ],
)
def test_form_follows_accept_header(accept: str | None, kind: str) -> None:
    answer = refused(Problem(404, "x"), accept)
    assert answer.headers["content-type"].partition(";")[0] == kind


def test_problems_vary_by_default() -> None:
    assert "vary" in refused(Problem(404, "x")).headers
    bare = refused(Problem(404, "x", vary=False)).headers
    assert "vary" not in bare
    assert bare["openstack-api-version"] == "placement 1.0"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.Invalid("m"), 400, "placement.undefined_code"),
        (errors.UnknownName("m"), 400, "placement.undefined_code"),
        (errors.UnknownProvider("m"), 400, "placement.undefined_code"),
        (errors.Unstorable("m"), 400, "placement.undefined_code"),
        (errors.NotFound("m"), 404, "placement.undefined_code"),
        (errors.Conflict("m"), 409, "placement.undefined_code"),
        (errors.DoesNotFit("m"), 409, "placement.undefined_code"),
        (errors.ConcurrentUpdate("m"), 409, "placement.concurrent_update"),
        (errors.DuplicateName("m"), 409, "placement.duplicate_name"),
        (errors.InventoryInUse("m"), 409, "placement.inventory.inuse"),
        (errors.ProviderInUse("m"), 409, "placement.resource_provider.inuse"),
        (
            errors.ProviderHasChildren("m"),
            409,
            "placement.resource_provider.cannot_delete_parent",
        ),
        (errors.Forbidden("m"), 403, "placement.undefined_code"),
        (errors.BudgetSpent("m"), 400, "placement.undefined_code"),
        (errors.Busy("m"), 503, "placement.undefined_code"),
        (errors.StoreFailed("m"), 503, "placement.undefined_code"),
        (errors.PluginFailed("m"), 500, "gantt.plugin_failed"),
    ],
)
def test_every_error_has_a_status(
    error: errors.GanttError, status: int, code: str
) -> None:
    answer = refused(error, version=39)
    assert answer.status == status
    [body] = answer.json["errors"]
    assert body["code"] == code
    assert body["detail"].rstrip().endswith(error.told or "m")
    assert answer.headers["gantt-error"] == error.code
    assert ("retry-after" in answer.headers) == (status == 503)


def test_no_translation_is_shadowed() -> None:
    kinds = [kind for kind, _, _ in TRANSLATIONS]
    for at, kind in enumerate(kinds):
        assert not any(issubclass(kind, earlier) for earlier in kinds[:at])


def test_route_may_change_prefix_status_and_code() -> None:
    problem = translate(errors.NotFound("it"), prefix="No: ", code="c", status=400)
    assert (problem.status, problem.detail, problem.code) == (400, "No: it", "c")


def test_defect_is_500_with_logged_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = refused(ValueError("boom"), version=39)
    assert answer.status == 500
    [error] = answer.json["errors"]
    assert error["detail"].endswith("the service's log entry with this request id.  ")
    assert "boom" not in answer.text
    assert error["code"] == "placement.undefined_code"
    assert answer.headers.keys().isdisjoint({"openstack-api-version", "vary"})
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.exc_info
    assert error["request_id"] in record.getMessage()


@pytest.mark.parametrize("accept", [None, "text/plain", "text/html"])
def test_answers_quote_requests_at_limited_length(
    accept: str | None,
) -> None:
    answer = refused(Problem(400, "a" + "x" * 10_000_000 + "z"), accept)
    assert len(answer.body) < 2 * LONGEST
    assert "ax" in answer.text
    assert "xz" in answer.text
    problem = Problem(409, "", extra={"why": {"steps": [{"name": "x" * 1_000_000}]}})
    assert len(refused(problem).body) < 2 * LONGEST
    answer = refused(Problem(406, ""), "application/" + "y" * 1_000_000)
    assert len(answer.body) < 4 * LONGEST_HEADER
