"""What the report of a shadow says is what was booted."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cloud.cloud import SIZES
from tests.cloud.processes import ROOT, run, wait_until
from tests.cloud.schedulers import Advised, Setup
from tests.cloud.settings import SHADOW_SETTLE_S
from tests.cloud.tenant import MEDIUM, SETTLE_S, SMALL, Tenant

SETUPS = frozenset({"observe", "notified"})


class Shadow:
    """``gantt shadow`` at a command line, for what is asked from now on."""

    def __init__(self, url: str) -> None:
        self._since = datetime.now(UTC).isoformat()
        self._url = url

    def __call__(self, command: str) -> Any:
        """The document that ``command`` prints."""
        said = run(
            sys.executable,
            "-m",
            "gantt",
            "shadow",
            command,
            "-o",
            "json",
            "--since",
            self._since,
            "--url",
            self._url,
            environ={"PYTHONPATH": str(ROOT)},
        )
        return json.loads(said)

    def records(self) -> dict[str, dict[str, Any]]:
        """By instance."""
        return {one["instance_uuid"]: one for one in self("list")}

    def wait_for(self, *servers: str) -> dict[str, dict[str, Any]]:
        """The records of all of ``servers``, once they are there."""
        wait_until(
            lambda: set(servers) <= set(self.records()),
            f"shadows of {len(servers)} servers",
            within_s=SETTLE_S + SHADOW_SETTLE_S,
        )
        return self.records()


@pytest.fixture
def shadow(setup: Setup, settled: None) -> Shadow:
    assert isinstance(setup, Advised)
    setup.wait_for_empty_hosts()
    return Shadow(setup.url)


def test_the_report_agrees_with_what_was_booted(shadow: Shadow, tenant: Tenant) -> None:
    servers = [tenant.boot(shape) for shape in (SMALL, MEDIUM) * 3]
    records = shadow.wait_for(*servers)
    assert {one: records[one]["host"] for one in servers} == {
        one: tenant.host(one) for one in servers
    }
    # On empty hosts the largest is best by every weigher.
    assert records[servers[0]]["verdict"] == "same"
    assert {records[one]["verdict"] for one in servers} <= {"same", "ranked"}
    for one in servers:
        agrees = records[one]["gantt_host"] == records[one]["host"]
        assert agrees == (records[one]["verdict"] == "same")
    report = shadow("report")
    assert report["agreement"]["compared"] == len(servers)
    counts = Counter(one["verdict"] for one in records.values())
    assert {k: n for k, n in report["verdicts"].items() if n} == counts


def test_a_request_that_filters_refuse_is_seen_only_in_notifications(
    setup: Setup, shadow: Shadow, tenant: Tenant
) -> None:
    assert isinstance(setup, Advised)
    group = tenant.group("anti-affinity")
    servers = [tenant.boot(**group) for _ in SIZES]
    setup.wait_for_instances(*servers)
    refused = tenant.ask(**group)
    tenant.wait_for(refused, "ERROR")
    if setup.name == "observe":
        # No host passes Nova's own filters, so the plug-in is not asked.
        assert set(shadow.wait_for(*servers)) == set(servers)
        return
    record = shadow.wait_for(refused, *servers)[refused]
    assert record["verdict"] == "both_refused"
    assert record["is_inferred"]
