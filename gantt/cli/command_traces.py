"""Traces of single commands, where OpenTelemetry's own variables ask for them.

Commands read no configuration, so that ``OTEL_EXPORTER_OTLP_ENDPOINT`` says where spans
go. ``TRACEPARENT``, the context of a caller, is passed on to the service in any case.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

Propagate = Callable[[], Mapping[str, str]]

_RECEIVERS: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
_EXPORT_S: Final = 2.0
# Of any version; what follows the flags is of a later one. Others are no header.
_PARENT: Final = re.compile(
    r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}[!-~]{0,99}"
)


@contextmanager
def traced(command: str, environ: Mapping[str, str]) -> Iterator[Propagate]:
    """A span for ``command``, if there is a receiver; what to send along with its
    requests."""
    parent = environ.get("TRACEPARENT", "")
    carrier = {"traceparent": parent} if _PARENT.fullmatch(parent) else {}
    is_wanted = any(environ.get(name) for name in _RECEIVERS)
    names = ("opentelemetry", "gantt.engine")  # a launch needs neither of these
    if not (is_wanted and all(map(find_spec, names))):
        yield lambda: carrier
        return
    from gantt.conf import TracingOptions
    from gantt.observe.tracing import tracing

    # A receiver that is away must not fill the terminal of a command.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    options = TracingOptions(enabled=True, export_timeout_s=_EXPORT_S)
    traces = tracing(options, "gantt-cli")
    assert traces is not None, "they are on"
    try:
        with traces.span(command, "client", carrier):
            yield traces.headers
    finally:
        traces.close()
