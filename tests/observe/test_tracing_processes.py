"""One trace across two real processes: a command, and the service that it asks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from tests import live
from tests.http_server import LoopbackHandler, LoopbackServer, answering
from tests.programs import captured

CONFIGURATION = """
[api]
auth_strategy = noauth2
[tracing]
enabled = true
endpoint = {url}
delay_s = 0.1
"""


class Receiver(LoopbackServer):
    """Takes OTLP over HTTP; ``spans``: (service, span) of all that came."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Any]] = []
        super().__init__(_Handler)


class _Handler(LoopbackHandler):
    server: Receiver

    def do_POST(self) -> None:
        sent = ExportTraceServiceRequest.FromString(self.body())
        for of_process in sent.resource_spans:
            names = {one.key: one.value for one in of_process.resource.attributes}
            service = names["service.name"].string_value
            for scope in of_process.scope_spans:
                self.server.spans += [(service, span) for span in scope.spans]
        self.reply(200)


def run(url: str, receiver: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ,
        "GANTT_URL": url,
        "GANTT_TOKEN": "admin",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver,
    }
    return captured(live.program(*words), env=environ)


def test_a_command_and_its_service_share_a_trace(tmp_path: Path) -> None:
    config = tmp_path / "gantt.conf"
    with answering(Receiver()) as found:
        url = f"{found.url}/v1/traces"
        config.write_text(CONFIGURATION.format(url=url))
        with live.served(tmp_path, options=("--config-file", str(config))) as service:
            size = ("vcpus=8", "memory_mb=8192", "local_gb=100")
            run(service.url, "", "host", "update", "h1", *size)
            flavor = "vcpus=1,memory_mb=512,disk_gb=1"
            done = run(service.url, url, "select", "--flavor", flavor)
            assert done.returncode == 0, done.stderr
            assert service.stop() == 0  # what is left is exported
    (asked,) = (span for service, span in found.spans if service == "gantt-cli")
    assert asked.name == "gantt select"
    one = [
        (service, span)
        for service, span in found.spans
        if span.trace_id == asked.trace_id
    ]
    assert {service for service, _ in one} == {"gantt-cli", "gantt"}
    by_name = {span.name: span for _, span in one}
    assert by_name["POST /gantt/select"].parent_span_id == asked.span_id
    assert {"gantt.decision", "gantt.commit", "gantt.commit.sql"} <= set(by_name)
    decide = by_name["gantt.decide"]
    for stage in ("gantt.filter", "gantt.pick"):
        assert by_name[stage].parent_span_id == decide.span_id


def test_a_receiver_that_is_away_costs_a_command_nothing_but_time(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    done = run(url, "http://127.0.0.1:1/v1/traces", "trait", "list")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
