"""A service whose spans are kept in memory, for tests of traces."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from gantt.api.app import build_app
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.forms.stats import read_stats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.observe.tracing import Tracing
from tests.api.wsgi_client import WsgiClient

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{SPAN}-00"}
FIRST = "22222222-2222-4222-8222-222222222222"
INSTANCE = "11111111-1111-4111-8111-111111111111"
SIZE = {"vcpus": 1, "memory_mb": 512, "root_gb": 1}
SELECT = {"request_spec": {"flavor": SIZE}, "instance_uuids": [INSTANCE]}


class Traced:
    """A service on books with one host, and the spans that have ended."""

    def __init__(
        self, ratio: float = 1.0, options: EngineOptions = EngineOptions()
    ) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=ParentBasedTraceIdRatio(ratio))
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.traces = Tracing(provider)
        self.books = open_gantt("memory://", options)
        settings = load(environ={}, default_auth="noauth2")
        self.client = WsgiClient(build_app(self.books, settings, traces=self.traces))
        self.add_host("h1")
        first = ScheduleRequest(RequestSpec(Flavor(1, 512, 1)), (FIRST,))
        self.books.schedule(first)  # the books decide from now on, which is a commit
        self.clear()

    def add_host(self, name: str) -> None:
        stats = {"vcpus": 8, "memory_mb": 8192, "local_gb": 100}
        self.books.update_host(name, name, read_stats(stats, host=name))

    def clear(self) -> None:
        """Forget the spans so far."""
        self._exporter.clear()

    def ended(self) -> tuple[ReadableSpan, ...]:
        """All spans, in the order in which they ended."""
        return tuple(self._exporter.get_finished_spans())

    def spans(self) -> dict[str, ReadableSpan]:
        """The same by their names, each of which is there once."""
        found = self.ended()
        assert len({one.name for one in found}) == len(found)
        return {one.name: one for one in found}


def parent(span: ReadableSpan) -> int | None:
    """The number of the span above."""
    return None if span.parent is None else int(span.parent.span_id)


def number(span: ReadableSpan) -> int:
    """What its children name as their parent."""
    assert span.context is not None
    return int(span.context.span_id)
