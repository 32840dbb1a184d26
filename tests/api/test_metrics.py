"""The engine's counts as Prometheus metrics."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

import gantt
from gantt.api.access.auth import TokenFile
from gantt.api.app import build_app, build_meters
from gantt.api.watchers import Watchers
from gantt.conf import load
from gantt.connection import open_gantt
from gantt.errors import NoValidHost, StoreFailed
from gantt.model.hosts import Service
from tests.api.wsgi_client import WsgiClient

# What operators were promised, each with its labels.
PROMISED = {
    "gantt_http_requests_total": {"route", "method", "code"},
    "gantt_http_seconds_bucket": {"route", "method", "le"},
    "gantt_candidates_seconds_bucket": {"le"},
    "gantt_candidates_returned_bucket": {"le"},
    "gantt_schedule_seconds_bucket": {"stage", "le"},
    "gantt_schedule_total": {"outcome"},
    "gantt_filter_removed_total": {"filter"},
    "gantt_claim_conflicts_total": set(),
    "gantt_batch_commands_bucket": {"le"},
    "gantt_commit_seconds_bucket": {"le"},
    "gantt_queue_length": set(),
    "gantt_revision": set(),
    "gantt_revision_lag": set(),
    "gantt_database_silence_seconds": set(),
    "gantt_hosts": {"state"},
    "gantt_capacity": {"rc"},
    "gantt_used": {"rc"},
}


def test_metrics_have_limits_and_counts() -> None:
    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://", gantt.EngineOptions(queue_length=7)) as books:
        client = WsgiClient(build_app(books, settings))
        before = client("GET", "/metrics").text
        books.create_provider("host")
        after = client("GET", "/metrics").text
    assert "gantt_queue_limit 7.0" in before
    assert "gantt_commands_total 1.0" in before
    assert "gantt_commands_total 2.0" in after
    assert "gantt_revision 2.0" in after


def test_every_limit_that_is_counted_has_a_metric(tmp_path: Path) -> None:
    config = tmp_path / "gantt.conf"
    config.write_text("[keystone_authtoken]\nwww_authenticate_uri = https://k/\n")
    settings = load([str(config)], environ={}, overrides={("gantt", "tail_limit"): 9})
    with open_gantt("memory://", settings.engine) as books:
        client = WsgiClient(build_app(books, settings), token=None)
        text = client("GET", "/metrics").text
        limits = [name for name in books.counts() if name.endswith("_limit")]
    assert len(limits) > 20
    for name in (*limits, "confirmed_tokens_limit"):
        assert f"# TYPE gantt_{name} gauge" in text
    assert "gantt_tail_limit 9.0" in text
    assert "gantt_patient_limit 32.0" in text
    assert "gantt_confirmed_tokens_limit 4096.0" in text
    assert "gantt_confirmed_tokens 0.0" in text


def told_by_a_day() -> str:
    """/metrics after one of everything: a search, a decision and a refused one."""
    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://") as books:
        client = WsgiClient(build_app(books, settings))
        scheduler = gantt.SchedulerClient(books)
        for host in ("h1", "h2"):
            stats = {"vcpus": 8, "memory_mb": 8192, "local_gb": 9, "free_disk_gb": 9}
            scheduler.update_resource_stats(None, host, stats)
        books.update_service(Service("h2", disabled=True))
        client("GET", "/allocation_candidates?resources=VCPU:1", version=39)
        for vcpus in (1, 99):
            ids = [str(uuid4())]
            spec = gantt.RequestSpec(flavor=gantt.Flavor(vcpus=vcpus, memory_mb=1))
            with contextlib.suppress(NoValidHost):
                scheduler.select_destinations(None, spec, instance_uuids=ids)
        return client("GET", "/metrics").text


@pytest.mark.parametrize("is_shared", [False, True])
def test_documented_metrics_exist(is_shared: bool, tmp_path: Path) -> None:
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    if not is_shared:
        del environ["PROMETHEUS_MULTIPROC_DIR"]
    code = f"from {__name__} import told_by_a_day; print(told_by_a_day())"
    text = subprocess.check_output([sys.executable, "-c", code], env=environ, text=True)
    found = {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert {name: found.get(name) for name in PROMISED} == PROMISED
    assert 'gantt_hosts{state="enabled"} 1.0' in text
    assert 'gantt_hosts{state="disabled"} 1.0' in text


def test_metrics_work_without_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise StoreFailed("away")

    settings = load(environ={}, default_auth="noauth2")
    with open_gantt("memory://") as books:
        client = WsgiClient(build_app(books, settings))
        monkeypatch.setattr(books._store, "cursor", fail)
        found = client("GET", "/metrics")
    assert found.status == 200
    assert 'gantt_hosts{state="down"} 0.0' in found.text


def test_every_count_has_a_metric(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("secret: {user: admin, project: admin, roles: [admin]}\n")
    tokens.chmod(0o600)
    with open_gantt("memory://") as books:
        meters = build_meters(books, Watchers(1))
        meters.add(TokenFile(str(tokens)).counts)
        counts = set(meters._counts())
        text = meters.exposition().decode()
    # Told by a histogram, and by counters with labels.
    counts -= {"commit_seconds", "decisions", "no_valid_host"}
    counts = (counts - {"claims_lost"}) | {"claim_conflicts"}
    told = {family.name for family in text_string_to_metric_families(text)}
    assert {f"gantt_{name}" for name in counts} <= told
    assert {"tokens_errors", "watch_streams_cut"} <= counts
