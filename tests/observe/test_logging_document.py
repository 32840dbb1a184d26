"""docs/reference/logging.md names every field of the JSON lines, with its type."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

import gantt
from gantt.api.app import build_app
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.errors import NoValidHost
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.observe.logs import (
    LONGEST,
    NOTHING,
    BunchHandler,
    JsonFormatter,
    RepeatedRecords,
)
from tests.api.wsgi_client import WsgiClient
from tests.tidy.source import ROOT

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
