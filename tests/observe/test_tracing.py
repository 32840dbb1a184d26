"""Traces: a request, its decision and its commit, in this process."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from gantt.client.exchange import Exchange
from gantt.client.transport import Reply
from gantt.conf import TracingOptions, load
from gantt.engine.reading.reader import WouldWait
from gantt.errors import Refused
from gantt.observe.tracing import check_tracing, tracing
from gantt.openstack.rpc.methods import SchedulerMethods
from tests.observe.traced import (
    INSTANCE,
    PARENT,
    SELECT,
    SIZE,
    SPAN,
    TRACE,
    UNSAMPLED,
    Traced,
    number,
    parent,
)


@pytest.fixture
def traced() -> Iterator[Traced]:
    found = Traced()
    yield found
    found.books.close()


def test_a_decision_is_one_trace(traced: Traced) -> None:
    answer = traced.client("POST", "/gantt/select", body=SELECT, headers=PARENT)
    assert answer.status == 200, answer.text
    spans = traced.spans()
    assert set(spans) == {
        "POST /gantt/select",
        "gantt.decision",
        "gantt.decide",
        "gantt.filter",
        "gantt.pick",
        "gantt.claim",
        "gantt.commit",
        "gantt.commit.sql",
    }
    traces = {one.context.trace_id for one in spans.values() if one.context}
    assert [f"{one:032x}" for one in traces] == [TRACE]
    request, decision = spans["POST /gantt/select"], spans["gantt.decision"]
    assert f"{parent(request):016x}" == SPAN
    assert parent(decision) == number(request)
    assert parent(spans["gantt.decide"]) == number(decision)
    assert parent(spans["gantt.claim"]) == number(decision)
    assert parent(spans["gantt.commit"]) == number(request)
    assert parent(spans["gantt.commit.sql"]) == number(spans["gantt.commit"])


def test_what_the_spans_tell(traced: Traced) -> None:
    traced.client("POST", "/gantt/select", body=SELECT, headers=PARENT)
    spans = traced.spans()
    request = spans["POST /gantt/select"].attributes or {}
    assert request["http.response.status_code"] == 200
    assert request["http.route"] == "/gantt/select"
    decision = spans["gantt.decision"]
    told = decision.attributes or {}
    assert told["gantt.chosen"] == ("h1",)
    assert told["gantt.hosts"] == 1
    assert "filter ComputeFilter" in [event.name for event in decision.events]
    assert (spans["gantt.commit"].attributes or {})["gantt.batch.commands"] == 1
    for one in spans.values():
        assert one.start_time is not None
        assert one.end_time is not None
        assert one.start_time <= one.end_time


def test_a_refusal_is_told(traced: Traced) -> None:
    huge = {"request_spec": {"flavor": {**SIZE, "vcpus": 9999}}}
    body = {**huge, "instance_uuids": [INSTANCE]}
    assert traced.client("POST", "/gantt/select", body=body).status == 409
    spans = traced.spans()
    assert "gantt.commit" not in spans
    told = spans["gantt.decision"].attributes or {}
    assert "No valid host" in str(told["gantt.failure"])


def test_a_method_that_is_not_known_names_no_span(traced: Traced) -> None:
    for method in ("<script>", "A" * 200):
        traced.client(method, "/gantt/services")
    assert {one.name.split()[0] for one in traced.ended()} == {"_OTHER"}


def test_a_request_without_a_caller_s_trace_begins_one(traced: Traced) -> None:
    for header in ({}, {"traceparent": "nonsense"}, {"traceparent": "\u00ff" * 999}):
        traced.client("GET", "/gantt/services", headers=header)
    found = traced.ended()
    assert [one.parent for one in found] == [None] * 3
    assert len({one.context.trace_id for one in found if one.context}) == 3


def test_what_the_caller_does_not_sample_is_not_exported(traced: Traced) -> None:
    traced.client("POST", "/gantt/select", body=SELECT, headers=UNSAMPLED)
    assert traced.spans() == {}


def test_a_ratio_of_none_follows_callers_alone() -> None:
    found = Traced(ratio=0.0)
    found.client("GET", "/traits", version=39)
    assert found.spans() == {}
    found.client("GET", "/traits", version=39, headers=PARENT)
    assert set(found.spans()) == {"GET /traits"}
    found.books.close()


def test_work_that_belongs_to_no_request_has_no_span(traced: Traced) -> None:
    traced.books.create_trait("CUSTOM_OWN")
    assert traced.spans() == {}


def test_what_begins_again_elsewhere_is_dropped_and_what_fails_is_told(
    traced: Traced,
) -> None:
    with pytest.raises(WouldWait), traced.traces.span("waits", "server", {}):
        raise WouldWait
    with pytest.raises(ValueError), traced.traces.span("fails", "server", {}):
        raise ValueError("a text of a request")
    (span,) = traced.spans().values()
    assert (span.name, span.status.description) == ("fails", "ValueError")
    assert span.events == ()
    assert traced.traces.headers() == {}


class Kept:
    """A transport that keeps the headers of requests."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def send(
        self, method: str, path: str, *, headers: Any, body: Any, into: Any = None
    ) -> Reply:
        self.headers = dict(headers)
        return Reply(200, {}, b"{}")

    def close(self) -> None:
        """Nothing is open."""


def test_requests_to_others_carry_the_trace(traced: Traced) -> None:
    transport = Kept()
    wire = Exchange(transport, traced.traces.headers)
    wire.ask("GET", "/")
    assert "traceparent" not in transport.headers
    with traced.traces.span("asks", "client", PARENT):
        wire.ask("GET", "/")
    asked = number(traced.spans()["asks"])
    assert transport.headers["traceparent"] == f"00-{TRACE}-{asked:016x}-01"


def test_messages_carry_it_in_their_context(traced: Traced) -> None:
    methods = SchedulerMethods(traced.books, None)
    methods.traces = traced.traces
    spec = {"flavor": SIZE}
    for context in (PARENT, {"traceparent": 7}, {}):
        methods.select_destinations(context, spec_obj=spec, instance_uuids=None)
    spans = traced.ended()
    asked = [one for one in spans if one.name == "rpc select_destinations"]
    assert [one.parent is not None for one in asked] == [True, False, False]


def test_tracing_is_off_unless_it_is_asked_for() -> None:
    assert load(environ={}).tracing == TracingOptions()
    assert tracing(TracingOptions(), "gantt") is None


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(TracingOptions(), enabled=True)
    check_tracing(options)
    monkeypatch.setattr("gantt.observe.tracing.find_spec", lambda name: None)
    check_tracing(TracingOptions())
    with pytest.raises(Refused, match=r"pip install .*\[tracing\]"):
        tracing(options, "gantt")


def test_a_silent_receiver_delays_a_stop_by_one_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def fails(exporter: OTLPSpanExporter, spans: Any) -> SpanExportResult:
        tries.append(len(spans))
        return SpanExportResult.FAILURE

    monkeypatch.setattr(OTLPSpanExporter, "export", fails)
    traces = tracing(TracingOptions(enabled=True, delay_s=60), "gantt")
    assert traces is not None
    for _ in range(400):
        with traces.span("a", "server", {}):
            pass
    exporter = traces._closing.__self__  # type: ignore[attr-defined]
    exporter.export(["before the stop, all are tried"])
    exporter.export(["before the stop, all are tried"])
    traces.close()
    assert tries == [1, 1, 400]
    assert exporter.export(["more"]) is SpanExportResult.FAILURE
    assert tries == [1, 1, 400]


def test_nothing_secret_of_a_receiver_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with closing(socket.socket()) as nothing:  # bound, but nothing listens
        nothing.bind(("127.0.0.1", 0))
        port = nothing.getsockname()[1]
        url = f"http://u:hunter2@127.0.0.1:{port}/v1/traces?key=hunter3"
        options = TracingOptions(enabled=True, endpoint=url, export_timeout_s=0.1)
        traces = tracing(options, "gantt")
        assert traces is not None
        with traces.span("a", "server", {}):
            pass
        traces.close()
    assert "Failed to export" in caplog.text
    assert "hunter" not in caplog.text


def test_no_header_of_a_caller_is_logged(
    traced: Traced, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "opentelemetry")
    for state in ("evil " * 1000, "evil"):
        headers = {**PARENT, "tracestate": state}
        assert traced.client("GET", "/traits", version=39, headers=headers).status
    assert "evil" not in caplog.text
