"""Lines in oslo.log's form, where a configuration asks for it, and the fields of JSON
lines, which docs/reference/logging.md names."""

from __future__ import annotations

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import oslo_context.context
import pytest
from oslo_context.context import RequestContext

import gantt
from gantt.api.app import build_app
from gantt.conf import LogOptions, load
from gantt.connection import open_gantt
from gantt.errors import NoValidHost, Refused
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.observe.context_lines import context_formatter
from gantt.observe.logs import (
    LONGEST,
    NOTHING,
    BunchHandler,
    JsonFormatter,
    RepeatedRecords,
)
from tests.api.wsgi_client import WsgiClient
from tests.tidy.source import ROOT

CONTEXT = "%(name)s [%(request_id)s %(user_identity)s] %(instance)s%(message)s"
NOVA_CONF = f"""
[DEFAULT]
logging_context_format_string = {CONTEXT}
logging_default_format_string = %(name)s [-] %(instance)s%(message)s
logging_user_identity_format = %(user)s %(project)s
"""


@pytest.fixture
def options(tmp_path: Path) -> LogOptions:
    path = tmp_path / "nova.conf"
    path.write_text(NOVA_CONF)
    return load(config_files=[str(path)]).log


@pytest.fixture
def form(options: LogOptions) -> logging.Formatter:
    found = context_formatter(options)
    assert found is not None
    return found


def refusal(caplog: pytest.LogCaptureFixture, instance: str) -> logging.LogRecord:
    """The line of a request that no host can take."""
    caplog.set_level(logging.INFO, "gantt.engine.scheduling.records")
    request = ScheduleRequest(
        RequestSpec(Flavor(vcpus=64), project_id="blue"),
        (instance,),
        request_id="req-1",
        user_id="ann",
        project_id="blue",
    )
    with closing(gantt.connect("memory://")) as books:
        books.update_host("one", "one", HostStats(vcpus=4, memory_mb=4096))
        with pytest.raises(NoValidHost):
            books.schedule(request)
    (record,) = (one for one in caplog.records if hasattr(one, "context"))
    return record


def test_a_refusal_has_its_request_user_project_and_instance(
    form: logging.Formatter, caplog: pytest.LogCaptureFixture
) -> None:
    instance = str(uuid4())
    line = form.format(refusal(caplog, instance))
    head = f"gantt.engine.scheduling.records [req-1 ann blue] [instance: {instance}] "
    assert line.startswith(head)
    assert f"1 instance ({instance}) of project blue, 1 host: No valid host" in line
    assert "one: 0 of 4 VCPU in use (64 asked). This would help: ask for 4" in line


@pytest.mark.parametrize("odd", ["req-1\nreq-2", "\x1b[31m", "\u202e", "\u2028"])
def test_callers_cannot_forge_a_line_by_what_a_request_is_called(
    form: logging.Formatter, odd: str
) -> None:
    record = logging.LogRecord("gantt.a", logging.INFO, "", 0, "said", (), None)
    given = dict.fromkeys(("request_id", "user", "project", "instance_uuid"), odd)
    vars(record)["context"] = given
    line = form.format(record)
    assert line.isprintable() and line.endswith("said")
    assert line.count(ascii(odd)[1:-1]) == len(given), "each is shown"
    assert vars(record)["context"] is given, "other handlers see it as it was"


def test_json_has_them_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    instance = str(uuid4())
    line = json.loads(JsonFormatter().format(refusal(caplog, instance)))
    assert (line["request_id"], line["user"], line["project"]) == (
        "req-1",
        "ann",
        "blue",
    )
    assert line["instance_uuid"] == instance


def test_other_lines_have_the_default_form(
    form: logging.Formatter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a thread where another package left what it was about."""
    store = threading.local()
    monkeypatch.setattr(oslo_context.context, "_request_store", store)
    store.context = oslo_context.context.RequestContext(overwrite=False)
    record = logging.LogRecord(
        "gantt.a", logging.INFO, "", 0, "said\n%s", ("%d",), None
    )
    assert form.format(record) == "gantt.a [-] said\\n%d"
    assert record.args == ("%d",), "other handlers see it as it was"


def test_lines_of_guests_may_have_a_context_of_oslo(form: logging.Formatter) -> None:
    record = logging.LogRecord("a", logging.INFO, "", 0, "said", (), None)

    def says() -> str:
        # The library keeps the last one of each thread.
        record.context = RequestContext(request_id="req-2")
        return form.format(record)

    with ThreadPoolExecutor(1) as another:
        assert another.submit(says).result().startswith("a [req-2 ")
    assert json.loads(JsonFormatter().format(record))["message"] == "said"


def test_what_logging_is_configured_with_stays(
    options: LogOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oslo.log adds a handler of its own, for which ours would then not be added."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    assert context_formatter(options) is not None
    assert root.handlers == []


def test_without_such_an_option_lines_are_our_own() -> None:
    assert context_formatter(LogOptions()) is None


@pytest.mark.parametrize("form", ["%(nothing)s", "%(message)", "100 %"])
def test_a_form_that_no_line_can_have_is_refused_at_once(form: str) -> None:
    with pytest.raises(Refused, match="logging_default_format_string"):
        context_formatter(LogOptions(logging_default_format_string=form))


DOCUMENT = ROOT / "docs" / "reference" / "logging.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
TYPES = {"string": (str,), "number": (int, float)}
ACCESS = "gantt.api.access"
DECISIONS = "gantt.engine.scheduling.records"


def table(heading: str) -> list[dict[str, str]]:
    """The rows of the table under ``heading``, by the names of its columns."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [one for one in section.splitlines() if one.startswith("| ")]
    head, *rows = (
        [cell.strip() for cell in one.strip("|").split("|")] for one in lines
    )
    return [dict(zip(head, row, strict=True)) for row in rows]


EVERY, REQUEST = table("Fields of every line"), table("Fields of a request")
DECISION = table("Fields of a decision")


@contextmanager
def told() -> Iterator[list[dict[str, Any]]]:
    """JSON lines of what is logged within this context; filled at its end."""
    stream = io.StringIO()
    found: list[dict[str, Any]] = []
    handler = BunchHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("gantt")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        handler.close()
        found += [json.loads(line) for line in stream.getvalue().splitlines()]


def agree(line: dict[str, Any], rows: list[dict[str, str]]) -> None:
    """``line`` has the fields of ``rows`` and no other, in their types."""
    expected = {one["field"].strip("`"): TYPES[one["type"]] for one in rows}
    assert line.keys() == expected.keys()
    assert [one for one in line if type(line[one]) not in expected[one]] == []


def test_every_line_has_the_documented_fields() -> None:
    with told() as lines:
        logging.getLogger("gantt.sample").warning("%s", "one")
        try:
            raise ValueError("what happened")
        except ValueError:
            logging.getLogger("gantt.sample").exception("two")
    plain, failed = lines
    agree(plain, [one for one in EVERY if one["when"] == "always"])
    agree(failed, EVERY)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", plain["time"])


def test_every_request_has_the_documented_fields() -> None:
    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://", gantt.EngineOptions()) as books, told() as lines:
        client = WsgiClient(build_app(books, settings))
        client("PUT", "/traits/CUSTOM_GOLD", version=39)
        client("GET", "/nowhere")
        client("GET", "/livez")
        client("GET", "/metrics")
    requests = [line for line in lines if line["logger"] == ACCESS]
    assert [line["status"] for line in requests] == [201, 404]
    for line in requests:
        agree(line, [*(one for one in EVERY if one["when"] == "always"), *REQUEST])
        assert line["level"] == "INFO"
    assert requests[0]["global_request_id"] == "-"
    assert requests[0]["microversion"] == "1.39"


def test_a_decision_and_a_refusal_have_the_documented_fields() -> None:
    spec, small = RequestSpec(Flavor(vcpus=64)), RequestSpec(Flavor(vcpus=1))
    with gantt.connect("memory://") as books, told() as lines:
        books.update_host("one", "one", HostStats(vcpus=4, memory_mb=4096))
        books.schedule(ScheduleRequest(small, (str(uuid4()),)))
        with pytest.raises(NoValidHost):
            books.schedule(ScheduleRequest(spec, (str(uuid4()),), request_id="req-1"))
    placed, refused = (one for one in lines if one["logger"] == DECISIONS)
    usual = [one["field"].strip("`") for one in EVERY if one["when"] == "always"]
    expected = {*usual, *(one["field"].strip("`") for one in DECISION)}
    assert placed.keys() == refused.keys() == expected
    assert (placed["reason"], placed["change"]) == (None, None)
    assert refused["reason"] in refused["message"]
    assert f"This would help: {refused['change']}." in refused["message"]


def test_a_number_that_is_not_known_is_null() -> None:
    with told() as lines:
        made = RepeatedRecords(logging.getLogger("gantt.sample"), "len: %s", ("len",))
        made.log((NOTHING,))
        made.log((7,))
    assert [(one["len"], one["message"]) for one in lines] == [
        (None, "len: -"),
        (7, "len: 7"),
    ]


def test_every_example_is_one() -> None:
    for one in (*EVERY, *REQUEST, *DECISION):
        example = json.loads(one["example"].strip("`"))
        assert type(example) in TYPES[one["type"]], one["field"]


def test_the_document_has_the_limit_and_the_logger() -> None:
    assert f"{LONGEST:,} characters" in TEXT
    assert f"`{ACCESS}`" in TEXT
