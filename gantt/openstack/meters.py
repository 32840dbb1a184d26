"""Metrics of ``gantt scheduler`` and ``gantt feed``: messages, feed, presence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from gantt.observe.mirrored_counts import NEWEST, SUM, Mirrored
from gantt.openstack.feed import Feed, Standby

_GAUGES: Final = {
    NEWEST: {
        "rpc_in_flight_limit": "Maximum messages that a worker answers at the same "
        "time (executor_thread_pool_size).",
        "neutron_answers_limit": "Maximum networks and subnets of a worker whose "
        "segments are kept (neutron_answers).",
        "neutron_answer_size_limit": "Maximum bytes of one answer of Neutron "
        "(neutron_answer_size_limit).",
        "feed_cells": "Cells that are read.",
        "feed_cells_limit": "Maximum cells that are read at the same time "
        "(feed_cells).",
        "feed_cells_down": "Cells that could not be read in their last round.",
        "feed_hosts": "Hosts in Nova's databases.",
        "feed_lag_seconds": "Seconds since the cell that has waited longest was read, "
        "of those that were read at all.",
        "feed_standby": "1: another gantt feed reads, and this one stands by.",
        "feed_notes": "Hosts that casts told of and that no round has stated since.",
    },
    SUM: {
        "rpc_in_flight": "Messages that are being answered.",
        "replies_waiting": "Answers that wait for the reply queue of their caller.",
        "neutron_answers": "Networks and subnets whose segments are kept.",
    },
}
_COUNTERS: Final = {
    "rpc_calls": "Calls for hosts.",
    "rpc_refused": "Such calls that were answered with an error, the unreadable ones "
    "left out.",
    "rpc_unreadable": "Such calls that could not be read.",
    "rpc_unknown_fields": "Fields of newer objects in requests that were ignored.",
    "replies_given_up": "Answers whose reply queue was not there for a minute.",
    "rpc_casts": "Casts about instances and aggregates.",
    "rpc_casts_refused": "Such casts that were refused.",
    "rpc_syncs_corrected": "Casts of a host's instances that were news.",
    "neutron_requests": "Requests whose networks were looked up in Neutron.",
    "neutron_seconds": "Seconds that they waited for it.",
    "neutron_failures": "Those whose networks could not be looked up: no host was "
    "found.",
    "neutron_late": "Such failures for lack of time (neutron_timeout_s).",
    "neutron_oversize": "Such failures by an answer beyond its limit.",
    "neutron_questions": "Questions to Neutron, each page of an answer one.",
    "neutron_hits": "Segments that were known already (neutron_answers).",
    "feed_rounds": "Rounds of the API database that succeeded.",
    "feed_failures": "Rounds of the API database that failed.",
    "feed_cell_rounds": "Rounds of cells that succeeded.",
    "feed_cell_failures": "Rounds of cells that failed.",
    "feed_rows": "Rows of hosts and instances that were new or had changed.",
    "feed_reread": "Rows that were read again although nothing said that they changed.",
    "feed_missed": "Of these, rows that had changed.",
    "feed_unreadable": "Rows, or columns of rows, that could not be read.",
    "feed_statements": "Statements that were passed on.",
    "feed_refused": "Parts of statements that were refused.",
    "presence_beats": "Heartbeats that were written.",
    "presence_failures": "Heartbeats and searches for new hosts that failed.",
    "presence_hosts_mapped": "New hosts that were mapped to their cells.",
    "presence_turns_cut": "Searches of a cell that reached their limit of 1,000 nodes; "
    "the next one goes on.",
}
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class CloudMeters:
    """Those of one process; ``counts``: by the names above; ``feeds``: whether it has a
    feed, without which it tells nothing of one. See ``CallObserver``."""

    def __init__(
        self, counts: Callable[[], Mapping[str, float]], *, feeds: bool = True
    ) -> None:
        self._counts = counts
        self._registry = own = CollectorRegistry()
        gauges, counters = _GAUGES, _COUNTERS
        if not feeds:
            gauges = {mode: _unfed(texts) for mode, texts in gauges.items()}
            counters = _unfed(counters)
        self._mirrored = Mirrored(own, gauges, counters)
        self._seconds = Histogram(
            "gantt_rpc_seconds",
            "Seconds until a message was answered.",
            ["method"],
            registry=own,
            buckets=_SECONDS,
        )
        self._failures = Counter(
            "gantt_rpc_failures",
            "Messages that failed, by the class of the error.",
            ["method", "kind"],
            registry=own,
        )

    def answered(self, method: str, seconds: float) -> None:
        """See CallObserver."""
        self._seconds.labels(method).observe(seconds)

    def failed(self, method: str, kind: str) -> None:
        """See CallObserver."""
        self._failures.labels(method, kind).inc()

    def mirror(self) -> None:
        """Follow the counts; for one thread."""
        self._mirrored.update(self._counts())

    def exposition(self) -> bytes:
        """The metrics of this process alone."""
        return generate_latest(self._registry)


class FeedSigns:
    """Metrics and readiness of a feed without workers; see ``Monitored``."""

    def __init__(self, feed: Feed | Standby) -> None:
        self.unready = feed.unready
        self.notice = feed.notice
        self._meters = CloudMeters(lambda: feed_counts(feed.counts()))
        self._lock = threading.Lock()

    def metrics(self) -> bytes:
        """Its counts, as they are now."""
        with self._lock:
            self._meters.mirror()
            return self._meters.exposition()


def _unfed(texts: Mapping[str, str]) -> dict[str, str]:
    return {one: text for one, text in texts.items() if not one.startswith("feed_")}


def feed_counts(counts: Mapping[str, float]) -> dict[str, float]:
    """Those of a feed, under the names above."""
    return {f"feed_{name}": number for name, number in counts.items()}
