"""Metrics of one process, and of several processes together."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gantt.model.selection import Decision, Step
from gantt.observe.logs import JsonFormatter, RepeatedRecords
from gantt.observe.metrics import Meters
from tests.live import ending


def decision(failure: str | None, *steps: Step) -> Decision:
    return Decision(
        "req-1",
        (),
        None,
        1,
        0,
        "filter",
        3,
        steps,
        (),
        failure=failure,
        timings={"decide": 0.002},
    )


def test_metric_names_are_stable() -> None:
    counts = {"revision": 7.0, "queue_length": 2.0, "claims_lost": 3.0, "batches": 5.0}
    meters = Meters(lambda: counts, lambda: ({"VCPU": (16.0, 4.0)}, {"down": 2}))
    meters.mirror()
    counts["batches"] = 6.0
    meters.served("/traits/{name}", "GET", "204", 0.002)
    meters.served("/traits/{name}", "GET", "404", 60)
    meters.served("", "BREW", "404", 0.001)
    meters.mirror()
    meters.committed(3, 0.004)
    meters.searched(0.001, 12)
    meters.decided(decision(None, Step("ComputeFilter", 3, 2, 1)))
    meters.decided(decision("none", Step("NUMATopologyFilter", 2, 0, 2)))
    meters.decided(decision("none"))
    lines = meters.exposition().decode().splitlines()
    for line in (
        "gantt_revision 7.0",
        "gantt_queue_length 2.0",
        "gantt_claim_conflicts_total 3.0",
        "gantt_batches_total 6.0",
        'gantt_http_requests_total{code="204",method="GET",route="/traits/{name}"} 1.0',
        'gantt_http_requests_total{code="404",method="other",route="none"} 1.0',
        'gantt_http_seconds_count{method="GET",route="/traits/{name}"} 2.0',
        'gantt_http_seconds_sum{method="GET",route="/traits/{name}"} 60.002',
        'gantt_http_seconds_bucket{le="0.001",method="GET",route="/traits/{name}"} 0.0',
        'gantt_http_seconds_bucket{le="0.01",method="GET",route="/traits/{name}"} 1.0',
        'gantt_http_seconds_bucket{le="30.0",method="GET",route="/traits/{name}"} 1.0',
        'gantt_http_seconds_bucket{le="+Inf",method="GET",route="/traits/{name}"} 2.0',
        "gantt_batch_commands_sum 3.0",
        "gantt_commit_seconds_count 1.0",
        "gantt_candidates_seconds_count 1.0",
        "gantt_candidates_returned_sum 12.0",
        'gantt_schedule_total{outcome="placed"} 1.0',
        'gantt_schedule_total{outcome="no_valid_host"} 2.0',
        'gantt_schedule_seconds_count{stage="decide"} 3.0',
        'gantt_filter_removed_total{filter="ComputeFilter"} 1.0',
        'gantt_no_valid_host_total{reason="NUMATopologyFilter"} 1.0',
        'gantt_no_valid_host_total{reason="books"} 1.0',
        'gantt_capacity{rc="VCPU"} 16.0',
        'gantt_used{rc="VCPU"} 4.0',
        'gantt_hosts{state="down"} 2.0',
    ):
        assert line in lines


def test_requests_are_counted_without_a_scrape() -> None:
    meters = Meters(dict)
    for _ in range(3000):
        meters.served("/", "GET", "200", 0.001)
    assert len(meters._served) < 1024
    meters.mirror()
    text = meters.exposition().decode()
    assert 'gantt_http_requests_total{code="200",method="GET",route="/"} 3000.0' in text


PROCESS = """
import sys
from gantt.observe.metrics import Meters
mine = float(sys.argv[1])
meters = Meters(lambda: {"queue_length": mine, "revision": mine, "batches": mine})
meters.served("/", "GET", "200", 0.001)
meters.mirror()
print(meters.exposition().decode(), flush=True)
if len(sys.argv) > 2:
    sys.stdin.read()
"""


def test_counts_of_processes_are_summed(tmp_path: Path) -> None:
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    first = subprocess.Popen(
        [sys.executable, "-c", PROCESS, "5", "stay"],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None

    def told() -> set[str]:
        return set(
            subprocess.check_output(
                [sys.executable, "-c", PROCESS, "3"], env=environ, text=True
            ).splitlines()
        )

    with ending(first):
        while "gantt_batches" not in first.stdout.readline():
            assert first.poll() is None
        both = told()
        assert {"gantt_queue_length 8.0", "gantt_revision 5.0"} <= both
        assert "gantt_batches_total 8.0" in both
        first.kill()
    # Two more have come and gone; what they were is forgotten, what they did is not.
    after = told()
    assert {"gantt_queue_length 3.0", "gantt_revision 3.0"} <= after
    assert "gantt_batches_total 11.0" in after


def test_json_lines_have_text_and_fields() -> None:
    logger = logging.Logger("gantt.test")
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    handler = Keep()
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    RepeatedRecords(logger, "[%s] %s", ("request_id", "status")).log(("req-1", "200"))
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("it %s", "broke\nin two")
    line, broken = map(json.loads, found)
    assert line["message"] == "[req-1] 200"
    assert (line["request_id"], line["status"]) == ("req-1", "200")
    assert (line["level"], line["logger"]) == ("INFO", "gantt.test")
    assert line["pid"] == os.getpid()
    assert line["time"].endswith("+00:00")
    assert "\n" not in found[1]
    assert broken["message"] == "it broke\nin two"
    assert "ValueError: no" in broken["error"]


@pytest.mark.parametrize("debug", [True, False])
def test_debug_applies_to_gantt_only(debug: bool) -> None:
    from gantt.observe.logs import set_debug

    logger = logging.getLogger("gantt")
    before = logger.level
    try:
        set_debug(debug)
        assert logger.level == (logging.DEBUG if debug else logging.NOTSET)
    finally:
        logger.setLevel(before)
