"""The options of traces, in ``[tracing]``.

Separate from the other options because only ``observe.tracing`` reads them, and only
where they are on.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from gantt.conf.table import rows
from gantt.conf.values import TracingOptions

OPTIONS: Sequence[cfg.Opt] = [
    *rows(
        TracingOptions(),
        {
            "enabled": "Export traces of requests, decisions and commits by "
            "OpenTelemetry's protocol; needs the extra tracing.",
            "endpoint": "URL of the receiver, such as http://127.0.0.1:4318/v1/traces; "
            "unset: as OTEL_EXPORTER_OTLP_ENDPOINT and its like say.",
            "service_name": "Name of the service in its traces; unset: gantt, or "
            "gantt-scheduler.",
            "sample_ratio 0..1": "Share of requests that are traced, of those that "
            "belong to no trace of their caller; others follow their caller.",
            "queue_length 1..1000000": "Spans that may wait to be exported in each "
            "process; more are dropped.",
            "delay_s 0.1..3600": "Seconds between two exports.",
            "export_timeout_s 0.1..600": "Seconds that one export may take.",
        },
    ),
]
