"""Traces in OpenTelemetry's terms: what one request caused, also in other processes.

The only module that knows OpenTelemetry, which is loaded where ``[tracing] enabled``
says so. The engine tells an observer what it did and how long that took, as it does for
metrics; spans are made of that afterwards, so that no decider knows of them. Between
processes a trace is carried by the header ``traceparent`` of W3C.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from gantt.engine.observer import Observer, StageTime
from gantt.engine.reading.reader import WouldWait
from gantt.errors import Refused, how_to_install
from gantt.model.selection import Decision
from gantt.version import __version__

if TYPE_CHECKING:
    from gantt.conf import TracingOptions

Carrier = Mapping[str, str]
_NS: Final = 1_000_000_000
_KINDS: Final = {"server": "SERVER", "client": "CLIENT"}
_EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_QUERY: Final = re.compile(r"\?\S+")


def check_tracing(options: TracingOptions) -> None:
    """Raises Refused when the packages for tracing are missing."""
    if options.enabled and find_spec("opentelemetry") is None:
        raise Refused(
            "enabled of [tracing] is set, but OpenTelemetry is not installed: "
            f"{how_to_install('tracing')}."
        )


def tracing(options: TracingOptions, program: str) -> Tracing | None:
    """Traces of this process, exported as ``options`` say; None: they are off.
    ``program``: the name of the service, unless the options give one. Raises Refused.
    """
    if not options.enabled:
        return None
    check_tracing(options)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    resource = Resource.create(
        {"service.name": options.service_name or program}
        | {"service.version": __version__}
    )
    provider = TracerProvider(
        resource=resource, sampler=ParentBasedTraceIdRatio(options.sample_ratio)
    )
    exporter = _Exporter(
        OTLPSpanExporter(
            # None: as OpenTelemetry's own variables say.
            endpoint=options.endpoint or None,
            timeout=options.export_timeout_s,
        )
    )
    _log_nothing_secret()
    size = min(options.queue_length, 512)
    provider.add_span_processor(
        BatchSpanProcessor(
            cast("Any", exporter),
            max_queue_size=options.queue_length,
            max_export_batch_size=size,
            schedule_delay_millis=options.delay_s * 1000,
        )
    )
    return Tracing(provider, exporter.begin_to_close)


class _Exporter:
    """Exports by ``exporter``; once it closes, nothing more after a failure, so that a
    silent receiver delays a stop by one batch, not by each of the queue."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self._is_closing = False
        self._failure: Any = None

    def begin_to_close(self) -> None:
        self._is_closing = True

    def export(self, spans: Sequence[Any]) -> Any:
        if self._failure is not None:
            return self._failure
        found = self._exporter.export(spans)
        if self._is_closing and found.name == "FAILURE":
            self._failure = found
        return found

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))


def _log_nothing_secret() -> None:
    """The exporter tells of a receiver that is away with the whole path, whose query
    may hold a token."""
    logging.getLogger(_EXPORTER).addFilter(_without_query)


def _without_query(record: logging.LogRecord) -> bool:
    record.msg, record.args = _QUERY.sub("?***", record.getMessage()), ()
    return True


def _keep_on() -> None:
    """What to do before the end where nothing waits for a receiver."""


class Tracing:
    """Spans of this process, and an Observer that makes some of what it is told.
    ``provider``: OpenTelemetry's TracerProvider; ``closing`` is called before it is
    shut down."""

    def __init__(self, provider: Any, closing: Callable[[], None] = _keep_on) -> None:
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import (
            TraceContextTextMapPropagator,
        )

        # It would warn of malformed headers, with what any caller wrote there.
        logging.getLogger("opentelemetry.trace").setLevel(logging.ERROR)
        self._provider = provider
        self._closing = closing
        self._tracer = provider.get_tracer("gantt", __version__)
        self._context: Any = context
        self._trace: Any = trace
        self._wire = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self,
        name: str,
        kind: Literal["server", "client"],
        carrier: Carrier | None = None,
    ) -> Iterator[Any]:
        """A span of what this thread does within this context; ``carrier``: headers of
        who asked for it (None: this process, in this thread).

        What is raised within ends it as failed; but one that would have to wait is
        dropped, since it begins again elsewhere."""
        parent = None if carrier is None else self._wire.extract(dict(carrier))
        made = self._tracer.start_span(
            name, parent, kind=getattr(self._trace.SpanKind, _KINDS[kind])
        )
        token = self._context.attach(self._trace.set_span_in_context(made))
        try:
            yield made
        except WouldWait:
            raise
        except BaseException as error:
            made.set_status(self._trace.StatusCode.ERROR, type(error).__name__)
            made.end()
            raise
        else:
            made.end()
        finally:
            self._context.detach(token)

    def headers(self) -> dict[str, str]:
        """What to send along with a request that this thread makes."""
        found: dict[str, str] = {}
        self._wire.inject(found)
        return found

    def close(self) -> None:
        """Export what is left, as far as the receiver takes it."""
        self._closing()
        self._provider.shutdown()

    # -- what the engine tells -------------------------------------------------------

    def origin(self) -> object:
        """See Observer: the context of this thread, and the time."""
        return self._context.get_current(), time.time_ns()

    def committed(
        self, commands: int, seconds: float, origins: Sequence[object] = ()
    ) -> None:
        """Two spans for each command of a batch: in its own trace, how long it was on
        its way to be durable, and the part of that which the database took."""
        now = time.time_ns()
        for origin in origins:
            if not isinstance(origin, tuple):
                continue
            context, began = origin
            if self._is_idle(context):
                continue
            whole = self._tracer.start_span("gantt.commit", context, start_time=began)
            whole.set_attribute("gantt.batch.commands", commands)
            below = self._trace.set_span_in_context(whole, context)
            start = max(began, now - int(seconds * _NS))
            self._ended("gantt.commit.sql", below, start, now)
            whole.end(now)

    def times_stages(self) -> bool:
        """See Observer: where a span that is exported goes on in this thread."""
        return bool(self._trace.get_current_span().is_recording())

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        """A span for the decision, and one for each stage; filters are its events.
        ``stages``: those within "decide"."""
        context = self._context.get_current()
        if self._is_idle(context):
            return
        now = time.time_ns()
        took = sum(decision.timings.values())
        at = now - int(took * _NS)
        whole = self._tracer.start_span("gantt.decision", context, start_time=at)
        whole.set_attributes(_attributes(decision))
        for step in decision.steps:
            hosts = {"gantt.before": step.before, "gantt.after": step.after}
            whole.add_event(f"filter {step.name}", hosts, at)
        below = self._trace.set_span_in_context(whole, context)
        for stage, seconds in decision.timings.items():
            until = at + int(seconds * _NS)
            made = self._ended(f"gantt.{stage}", below, at, until)
            if stage == "decide":
                inner = self._trace.set_span_in_context(made, below)
                self._parts(stages, inner, at)
            at = until
        whole.end(now)

    def _parts(self, stages: Sequence[StageTime], context: Any, at: int) -> None:
        for one in stages:
            start, end = at + int(one.began_s * _NS), at + int(one.ended_s * _NS)
            self._ended(f"gantt.{one.stage}", context, start, end)

    def searched(self, seconds: float, found: int) -> None:
        """A span for a search for candidates."""
        self._past("gantt.search", seconds, {"gantt.candidates": found})

    def advised(self, outcome: str, seconds: float) -> None:
        """A span for advice."""
        self._past("gantt.advice", seconds, {"gantt.outcome": outcome})

    def _past(self, name: str, seconds: float, attributes: dict[str, Any]) -> None:
        context, now = self._context.get_current(), time.time_ns()
        if not self._is_idle(context):
            self._ended(name, context, now - int(seconds * _NS), now, attributes)

    def _is_idle(self, context: Any) -> bool:
        """Whether nothing that is traced goes on there: background work has no span."""
        return not self._trace.get_current_span(context).get_span_context().is_valid

    def _ended(
        self,
        name: str,
        context: Any,
        start: int,
        end: int,
        attributes: dict[str, Any] | None = None,
    ) -> Any:
        made = self._tracer.start_span(
            name, context, start_time=start, attributes=attributes
        )
        made.end(end)
        return made


def _attributes(decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gantt.request_id": decision.request_id,
        "gantt.hosts": decision.hosts,
        "gantt.driver": decision.driver,
        "gantt.revision": decision.revision,
        "gantt.attempts": decision.attempts,
        "gantt.instances": max(len(decision.instance_uuids), len(decision.chosen)),
    }
    if decision.failure is not None:
        found["gantt.failure"] = decision.failure
    else:
        found["gantt.chosen"] = [one[0].service_host for one in decision.chosen[:10]]
    return found


class Both:
    """An Observer that tells two: the metrics, and the traces, whose origins count."""

    def __init__(self, metrics: Observer, traces: Tracing) -> None:
        self._traces = traces
        self._both: tuple[Observer, Observer] = (metrics, traces)

    @property
    def origin(self) -> Callable[[], object]:
        return self._traces.origin

    def committed(
        self, commands: int, seconds: float, origins: Sequence[object] = ()
    ) -> None:
        for one in self._both:
            one.committed(commands, seconds, origins)

    @property
    def times_stages(self) -> Callable[[], bool]:
        return self._traces.times_stages

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        for one in self._both:
            one.decided(decision, stages)

    def searched(self, seconds: float, found: int) -> None:
        for one in self._both:
            one.searched(seconds, found)

    def advised(self, outcome: str, seconds: float) -> None:
        for one in self._both:
            one.advised(outcome, seconds)


def observed(metrics: Observer, traces: Tracing | None) -> Observer:
    """The metrics, and the traces if there are any."""
    return metrics if traces is None else Both(metrics, traces)
