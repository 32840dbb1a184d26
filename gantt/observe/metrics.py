"""Metrics of a service and its limits, in Prometheus' terms.

Separate from the engine, which counts: names and help texts are those of a monitoring
system. If several processes serve as one, the client library keeps the
counts of each in files of a directory (PROMETHEUS_MULTIPROC_DIR), and the process that
answers adds them up.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from gantt.engine.observer import StageTime
from gantt.model.selection import Decision
from gantt.observe.mirrored_counts import EACH, NEWEST, SUM, Mirrored
from gantt.observe.run_folder import keep_counts, made

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"

Counts = Callable[[], Mapping[str, float]]
# Resource class -> (capacity, used), and state -> hosts.
Totals = Callable[[], tuple[Mapping[str, tuple[float, float]], Mapping[str, int]]]

_GAUGES = {
    NEWEST: {
        "revision": "Last known durable revision.",
        "revision_lag": "Revisions that the slowest process has not read yet, as of "
        "the last answer of the database.",
        "database_silence_seconds": "Seconds since the database stopped answering, for "
        "the process that has waited longest; 0: it answers.",
        "clock_ahead_seconds": "Seconds by which the clock of the service's machine is "
        "ahead of the database's; negative: behind.",
        "clock_hosts": "Hosts that reported in the last two minutes to one process.",
        "clock_hosts_off": "Those of them that were refused for the time they said.",
        "liveness_frozen": "Whether the members of the group of agents are not known, "
        "so that no host goes down or comes up (see [coordination]).",
        "stream_silence_seconds": "Seconds since Kafka stopped answering the intake "
        "of reports, for the process that has waited longest; 0: it answers.",
        "stream_batch_limit": "Reports from Kafka that are applied at a time (batch of "
        "[stream]).",
        "stream_changes_batch_limit": "Messages about changes in one transaction of "
        "Kafka (changes_batch).",
        "stream_changes_message_bytes_limit": "Bytes of one message about changes "
        "(changes_message_bytes).",
        "queue_limit": "Commands that may wait for the committer (queue_length).",
        "batch_limit": "Commands that one commit may hold (batch_size).",
        "search_limit": "Steps that one search may take (search_budget).",
        "log_limit": "Revisions that the log keeps (log_length).",
        "tail_limit": "Revisions that a process may be behind without reloading all "
        "tables (tail_limit).",
        "patient_limit": "Callers per process that go on waiting for a stalled "
        "committer or database (patient).",
        "decisions_limit": "Decisions that a process keeps (records).",
        "decisions_waiting_limit": "Maximum decisions waiting in a process to be "
        "shared (shared_backlog).",
        "decisions_scored_limit": "Decisions per second that are shared with scores "
        "(shared_scores).",
        "decisions_shared_limit": "Decisions that are kept for all processes "
        "(shared_records).",
        "decisions_shared": "Shared decisions, as last counted by the leader.",
        "plugin_threads_limit": "Maximum threads for plug-ins per process "
        "(plugin_threads).",
        "shapes_limit": "Maximum request shapes in the cache of the caching "
        "driver (max_shapes).",
        "shape_hosts_limit": "Maximum total hosts of these shapes (max_shape_hosts).",
        "claim_choices_limit": "Maximum candidate places of one claim (claim_choices).",
        "explain_limit": "Steps that the search for why no provider has room may take "
        "(explain_budget).",
        "change_search_limit": "Steps that the search for a helpful change to a "
        "refused request may take (change_budget).",
        "capacity_limit": "Maximum instances counted per host (capacity_per_host).",
        "capacity_flavors_limit": "Maximum flavors counted together in one call "
        "(capacity_flavors).",
        "capacity_rules_limit": "Maximum rules of which one call tells the price "
        "(capacity_rules).",
        "capacity_steps_limit": "Steps that a fair split may take (capacity_steps).",
        "topology_fits_limit": "Maximum hosts into which one request is fitted exactly "
        "(topology_fits).",
        "topology_steps_limit": "Maximum host cells tried for an instance's cells on "
        "one host (topology_steps).",
        "relation_steps_limit": "Steps of the search for a way to keep relations by "
        "several topology keys at once (relation_steps).",
        "joint_steps_limit": "Steps of the search for places for all items of a demand "
        "at once (joint_steps).",
        "changes_limit": "Host changes kept for the cache of the caching driver "
        "(kept_changes).",
        "request_instances_limit": "Maximum instances per request (max_instances).",
        "demand_items_limit": "Maximum items per demand (max_items).",
        "demands_waiting": "Demands that wait for room.",
        "demands_waiting_limit": "Maximum demands that wait for room (max_waiting).",
        "waiting_per_pass_limit": "Demands that the leader tries to place after a "
        "change (waiting_per_pass).",
        "host_starts_limit": "Bookings of a host that may be unconfirmed at once "
        "(max_starts); 0: any number.",
        "demand_relations_limit": "Maximum relations per demand (max_relations).",
        "artifacts_limit": "Maximum artifacts that may be registered (max_artifacts).",
        "host_artifacts_limit": "Maximum artifacts that a host may report to hold "
        "(max_host_artifacts).",
        "request_groups_limit": "Maximum request groups per request "
        "(max_request_groups).",
        "request_names_limit": "Maximum names per request (max_request_names).",
        "statement_limit": "Maximum names in one call to the scheduler "
        "(max_statement).",
        "report_bytes_limit": "Maximum bytes of one report of an agent "
        "(max_report_bytes).",
        "statement_hosts_limit": "Maximum hosts of the aggregates in one call "
        "(max_statement_hosts).",
        "usage_classes_limit": "Maximum resource classes per sample of the usage "
        "history (usage_classes).",
        "usage_zones_limit": "Maximum zones per sample of the usage history "
        "(usage_zones).",
        "advice_threads_limit": "Maximum threads that make advice (advice_threads).",
        "advice_waiting_limit": "Maximum requests for advice that wait for a thread "
        "(advice_waiting).",
        "advice_hosts_limit": "Maximum hosts per request for advice (advice_hosts).",
        "advice_holds_limit": "Maximum hosts held after advice, per process "
        "(advice_holds).",
        "shadow_pending_limit": "Maximum observed requests per process that wait for "
        "Nova's claim (shadow_pending).",
        "shadow_pending_hosts_limit": "Maximum hosts in the rankings that they keep "
        "per process (shadow_pending_hosts).",
        "shadow_waiting_limit": "Maximum shadow records waiting in a process to be "
        "written (shadow_backlog).",
        "shadow_records_limit": "Shadow records that are kept for all processes "
        "(shadow_records).",
        "recorded_waiting_limit": "Maximum decisions and changed rows waiting in a "
        "process to be recorded (record_backlog).",
        "recorded_files_limit": "Files of records that are kept (record_files).",
        "confirmed_tokens_limit": "Maximum tokens per process that are not validated "
        "again (confirmed_tokens).",
        "known_tokens_limit": "Maximum tokens that are known once they are confirmed.",
        "unconfirmed_threads_limit": "Threads for requests whose token Keystone has "
        "not confirmed (unconfirmed_threads of each process).",
        "unconfirmed_per_address_limit": "Requests of one address that may wait for "
        "these threads (unconfirmed_per_address of each process).",
        "body_bytes_limit": "Maximum bytes of one request body (max_body_bytes).",
        "sign_ins_limit": "Maximum sign-ins with a password at once, per process.",
        "watchers_limit": "Maximum watchers per process.",
    },
    SUM: {
        "sign_ins": "Sign-ins with a password under way.",
        "queue_length": "Commands that wait for the committer.",
        "decisions_kept": "Decisions that can be explained.",
        "advice_kept": "Records of advice, beside those of decisions.",
        "decisions_waiting": "Decisions not yet visible to other processes.",
        "plugin_threads_blocked": "Threads of plug-in calls that exceeded "
        "plugin_time_limit_s and have not returned.",
        "plugins_suspended": "Plug-ins suspended until such a call returns.",
        "shapes_kept": "Request shapes in the cache of the caching driver.",
        "stream_lag": "Reports in Kafka that are not applied yet.",
        "stream_changes_lag": "Revisions that are not in Kafka yet, as far as the "
        "leader knows.",
        "requests_waiting": "Requests that wait for a thread.",
        "requests_waiting_limit": "Requests that may wait for a thread: "
        "waiting_requests of each process for searches, counts, lists and all others "
        "each.",
        "bodies_reading": "Requests whose body is being read.",
        "bodies_reading_bytes": "Bytes of the bodies of unanswered requests, those up "
        "to 8 KiB left out.",
        "bodies_reading_bytes_limit": "Maximum bytes of such bodies (bodies_bytes of "
        "each process).",
        "confirmed_tokens": "Tokens that were confirmed and are kept.",
        "known_tokens": "Tokens that Keystone confirmed and that have not expired.",
        "unconfirmed_waiting": "Requests with tokens that Keystone has not confirmed, "
        "which wait for a thread.",
        "unconfirmed_waiting_limit": "Such requests that may wait, of all addresses "
        "(waiting_requests of each process).",
        "watchers": "Requests that watch.",
        "shadow_pending": "Observed requests that wait for Nova's claim.",
        "recorded_waiting": "Decisions and changed rows that wait to be recorded.",
        "shadow_waiting": "Shadow records not yet visible to other processes.",
        "advice_threads_busy": "Threads that make advice, late ones included.",
        "advice_waiting": "Requests for advice that wait for a thread.",
        "advice_holds": "Hosts that are held after advice.",
    },
    EACH: {
        "leader": "Whether the process leads the leader tasks.",
    },
}
_COUNTERS = {
    "advice_holds_made": "Hosts that were held after advice.",
    "advice_holds_claimed": "Such holds that ended with the claim of the instance.",
    "advice_holds_expired": "Such holds that ended with their time (advice_hold_s).",
    "advice_holds_displaced": "Such holds that gave way to newer ones (advice_holds).",
    "batches": "Batches that passed the committer.",
    "commands": "Commands that the committer judged, including refused ones.",
    "refusals": "Commands that a rule refused.",
    "busy": "Commands rejected: the queue was full or the committer was stalled.",
    "reads_turned_away": "Reads rejected because the database was stalled.",
    "aborts": "Batches that the database aborted and that were planned again.",
    "unknown_outcomes": "Commits whose answer was lost.",
    "foreign_writes": "Times that writes by another program were detected.",
    "compacted": "Old revisions that were dropped from the log.",
    "topology_fits": "Hosts into whose cells and devices a request was fitted.",
    "topology_fits_spent": "Requests that reached the limit on these (topology_fits).",
    "topology_fits_cut": "Hosts refused because the search for host cells reached its "
    "limit (topology_steps).",
    "relations_cut": "Requests for which the search for a way to keep relations by "
    "several topology keys reached its limit (relation_steps).",
    "joint_found": "Demands for which the search for all items at once found places "
    "that one item after the other had not.",
    "joint_cut": "Demands for which that search reached its limit (joint_steps).",
    "demands_placed_late": "Demands that waited, and were placed by this process.",
    "leases_swept": "Claims whose lease expired.",
    "usage_samples": "Samples taken for the usage history.",
    "usage_rollups": "Hourly and daily records aggregated for the usage history.",
    "usage_dropped": "Records dropped from the usage history.",
    "usage_left_out": "Resource classes left out of usage history samples.",
    "usage_zones_left_out": "Zones left out of usage history samples.",
    "reloads": "Times that all tables were reloaded.",
    "lost_revisions": "Acknowledged revisions that the database no longer has, as "
    "after a failover to a server that lagged.",
    "reports_applied": "Reports of agents that were applied.",
    "reports_unchanged": "Reports of agents that said that nothing changed.",
    "reports_duplicate": "Reports of agents that had been applied before.",
    "reports_superseded": "Reports of agents where one that started later reports the "
    "same host.",
    "reports_refused": "Reports of agents that were refused, those that full ones "
    "answer included.",
    "reports_full_wanted": "Reports of agents that were refused until a full one "
    "comes.",
    "reports_over_names": "Those of them refused because of new names "
    "(max_host_traits, max_host_instances, max_host_artifacts).",
    "heartbeats_heard": "Heartbeats of hosts, with reports of their agents.",
    "heartbeats_written": "Heartbeats that were written: one stands for a quarter of "
    "service_down_time.",
    "heartbeats_writes": "Transactions in which they were written.",
    "heartbeats_late": "Batches of reports that had waited in Kafka for half of "
    "service_down_time or longer: no host goes down meanwhile.",
    "stream_records": "Reports that were taken from Kafka, deletions included.",
    "stream_dead_letters": "Reports from Kafka that were refused, and are in the topic "
    "of dead letters.",
    "stream_dead_letters_lost": "Reports from Kafka that were refused, and could not "
    "be written there.",
    "stream_retries": "Times that reports from Kafka were read again because the books "
    "could not be written.",
    "stream_changes": "Revisions that were published to Kafka.",
    "stream_snapshots": "Snapshots of all rows that were published there.",
    "stream_changes_failures": "Times that changes could not be published, and were "
    "tried again.",
    "stream_changes_fenced": "Times that another process began to publish changes "
    "before this one had ended.",
    "searches_cut": "Candidate searches that reached their limit.",
    "search_rests": "Times that a long decision let other requests use the books.",
    "changes_cut": "Searches for a helpful change to a refused request, dry runs and "
    "capacity included, that reached their limit (change_budget), or whose books "
    "changed meanwhile.",
    "claims_lost": "Decisions that lost all candidate places to concurrent claims.",
    "plugin_failures": "Requests that failed in a plug-in.",
    "plugin_calls": "Calls of filters, weighers and drivers of other packages.",
    "plugin_calls_late": "Such calls that exceeded plugin_time_limit_s.",
    "over_limits": "Requests and calls refused because they exceed a limit.",
    "decisions_unshared": "Decisions that were not shared.",
    "decisions_unscored": "Decisions that were shared without scores (shared_scores).",
    "requests_unkept": "Requests that were too long for the record of their decision "
    "(record_request_bytes).",
    "decisions_unawaited": "Decision lookups answered at once because too many were "
    "already waiting.",
    "decisions_trimmed": "Old decisions dropped from the shared table.",
    "hosts_adopted": "Hosts that were adopted under another name or uuid.",
    "unconfirmed_refused": "Requests refused because too many, of their address or "
    "in all, waited for Keystone to confirm a token.",
    "audits": "Audits of the fleet.",
    "audit_repairs": "Findings of audits that were repaired.",
    "shadow_observed": "Requests that were decided beside Nova.",
    "shadow_repeated": "Observations of a request that was already observed.",
    "shadow_abandoned": "Requests dropped before Nova's claim was seen "
    "(shadow_pending, shadow_pending_hosts).",
    "shadow_polls": "Questions to a remote Placement for Nova's claims.",
    "shadow_poll_failures": "Such questions that it did not answer.",
    "shadow_same": "Instances for which Nova claimed Gantt's host.",
    "shadow_ranked": "Instances for which Nova claimed another feasible host.",
    "shadow_refused_by_gantt": "Instances for which Nova claimed a host that Gantt "
    "refuses.",
    "shadow_unknown_host": "Instances for which Nova claimed a host unknown to Gantt.",
    "shadow_refused_by_nova": "Instances that Gantt would have placed and Nova did not "
    "claim.",
    "shadow_both_refused": "Instances that neither placed.",
    "shadow_undetermined": "Instances of which the outcome is not known.",
    "shadow_dropped": "Shadow records dropped before they were written.",
    "shadow_trimmed": "Old shadow records dropped.",
    "recorded": "Decisions that readers of records see (record).",
    "recorded_bytes": "Packed bytes of them.",
    "recorded_files": "Files of records that readers see.",
    "recorded_failures": "Times that a record could not be written.",
    "recorded_dropped": "Decisions that are in no record, because too many waited "
    "(record_backlog) or a file could not be written.",
    "shape_hits": "Decisions for a request shape in the cache.",
    "shape_misses": "Decisions for a request shape not in the cache.",
    "events_told": "Revisions sent to watchers.",
    "policy_errors": "Policy file changes that could not be loaded.",
    "sign_ins_turned_away": "Sign-ins with a password rejected because of the limit.",
    "tokens_errors": "Tokens file changes that could not be loaded.",
    "watchers_turned_away": "Watchers rejected because of the limit.",
    "watch_streams_cut": "Streams of events that ended at their limit of bytes "
    "(watch_stream_bytes).",
}
# Counts whose metric has another name.
_NAMES = {"claims_lost": "claim_conflicts"}
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_FOUND = (0, 1, 10, 100, 1_000, 10_000, 100_000)
# Requests that may be queued before they are counted.
_NOTED = 1024
_METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS"})


class Meters:
    """All metrics of one process. Updated by the engine (see ``engine.observer``) and
    by the door; reads ``counts`` on request."""

    def __init__(self, counts: Counts, totals: Totals | None = None) -> None:
        self._counts = counts
        self.folder = os.environ.get(FOLDER, "")
        if self.folder:
            made(Path(self.folder))
        self._own = own = CollectorRegistry()
        self._books = CollectorRegistry()
        if totals is not None:
            self._books.register(_Books(totals))
        self._mirrored = Mirrored(own, _GAUGES, _COUNTERS, _NAMES)
        self._requests = _counter(own, "http_requests", "route", "method", "code")
        self._request_s = _histogram(own, "http_seconds", _SECONDS, "route", "method")
        self._batch = _histogram(own, "batch_commands", _SIZES)
        self._commit_s = _histogram(own, "commit_seconds", _SECONDS)
        self._search_s = _histogram(own, "candidates_seconds", _SECONDS)
        self._returned = _histogram(own, "candidates_returned", _FOUND)
        self._stage_s = _histogram(own, "schedule_seconds", _SECONDS, "stage")
        self._decisions = _counter(own, "schedule", "outcome")
        self._removed = _counter(own, "filter_removed", "filter")
        self._none = _counter(own, "no_valid_host", "reason")
        self._refused = _counter(own, "requests_refused", "reason")
        self._advice = _counter(own, "advice", "outcome")
        self._advice_s = _histogram(own, "advice_seconds", _SECONDS)
        self._lock = threading.Lock()
        self._served: deque[tuple[str, str, str, float]] = deque()

    # -- updated by the door and the engine ------------------------------------------

    def served(self, route: str, method: str, code: str, seconds: float) -> None:
        """A request was answered. ``route``: its template, "" where there is none.

        Only queued: counting one costs a third of a small request, counting many
        together hardly more than one.
        """
        self._served.append((route, method, code, seconds))
        if len(self._served) >= _NOTED:
            with self._lock:
                self._count_served()

    def _count_served(self) -> None:
        """Under the lock."""
        requests: dict[tuple[str, str, str], int] = {}
        seconds: dict[tuple[str, str], _Tally] = {}
        for _ in range(len(self._served)):
            route, method, code, took = self._served.popleft()
            place = (route or "none", method if method in _METHODS else "other")
            key = (*place, code)
            requests[key] = requests.get(key, 0) + 1
            seconds.setdefault(place, _Tally()).add(took)
        for labels, count in requests.items():
            self._requests.labels(*labels).inc(count)
        for place, tally in seconds.items():
            tally.give(self._request_s.labels(*place))

    def refused(self, reason: str) -> None:
        """A request, or its body, was given up before the application read it."""
        self._refused.labels(reason).inc()

    origin = times_stages = None

    def committed(
        self, commands: int, seconds: float, origins: Sequence[object] = ()
    ) -> None:
        del origins  # what they all were counts here, not whose
        self._batch.observe(commands)
        self._commit_s.observe(seconds)

    def searched(self, seconds: float, found: int) -> None:
        self._search_s.observe(seconds)
        self._returned.observe(found)

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        del stages  # spans tell of them
        for stage, seconds in decision.timings.items():
            self._stage_s.labels(stage).observe(seconds)
        for step in decision.steps:
            if step.before > step.after:
                self._removed.labels(step.name).inc(step.before - step.after)
        if decision.failure is None:
            self._decisions.labels("placed").inc()
        else:
            self._decisions.labels("no_valid_host").inc()
            self._none.labels(decision.reason).inc()

    def advised(self, outcome: str, seconds: float) -> None:
        self._advice.labels(outcome).inc()
        self._advice_s.observe(seconds)

    # -- read --------------------------------------------------------------------

    def add(self, more: Counts) -> None:
        """Read ``more`` counts on request, too."""
        counts = self._counts
        self._counts = lambda: {**counts(), **more()}

    def mirror(self) -> None:
        """Update the metrics from the current counts."""
        counts = self._counts()
        if self.folder:
            keep_counts(Path(self.folder))
        with self._lock:
            self._count_served()
            self._mirrored.update(counts)

    def exposition(self) -> bytes:
        """All metrics, of all processes that share a folder."""
        if self.folder:
            own = exposition(Path(self.folder))
        else:
            own = generate_latest(self._own)
        return own + generate_latest(self._books)


def exposition(folder: Path) -> bytes:
    """The metrics of all processes that share ``folder``."""
    made(folder)
    _drop_ended(folder)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    return generate_latest(registry)


class _Tally:
    """Seconds by bucket, to be given to a histogram at once: the library can only take
    one after the other, and each costs some microseconds."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._buckets = [0] * (len(_SECONDS) + 1)

    def add(self, seconds: float) -> None:
        self._sum += seconds
        self._buckets[bisect_left(_SECONDS, seconds)] += 1

    def give(self, histogram: Any) -> None:
        """``histogram``: with the buckets of ``_SECONDS``."""
        histogram._sum.inc(self._sum)
        for bucket, count in zip(histogram._buckets, self._buckets, strict=True):
            if count:
                bucket.inc(count)


class _Books(Collector):
    """Totals of the books: the same in every process."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def collect(self) -> Iterable[Metric]:
        capacity = GaugeMetricFamily(
            "gantt_capacity", "Capacity of all providers.", labels=["rc"]
        )
        used = GaugeMetricFamily(
            "gantt_used", "Allocated amount of that capacity.", labels=["rc"]
        )
        hosts = GaugeMetricFamily(
            "gantt_hosts",
            "Hosts by state: enabled, disabled, down (forced, or not "
            "seen for service_down_time), stale (no report of remaining "
            "resources).",
            labels=["state"],
        )
        amounts, states = self._totals()
        for name, (most, now) in amounts.items():
            capacity.add_metric([name], most)
            used.add_metric([name], now)
        for state, count in states.items():
            hosts.add_metric([state], count)
        yield capacity
        yield used
        yield hosts


def _counter(registry: CollectorRegistry, name: str, *labels: str) -> Counter:
    return Counter(f"gantt_{name}", _TEXTS[name], labels, registry=registry)


def _histogram(
    registry: CollectorRegistry, name: str, buckets: tuple[float, ...], *labels: str
) -> Histogram:
    text = _TEXTS[name]
    return Histogram(f"gantt_{name}", text, labels, registry=registry, buckets=buckets)


_TEXTS = {
    "http_requests": "Requests by route, method and status.",
    "requests_refused": "Requests that the server refused: queue_full (no thread), "
    "body_too_long, body_too_slow, bodies_full (no memory), draining.",
    "advice": "Requests for advice by outcome: decided, or why the caller's order was "
    "the answer.",
    "advice_seconds": "Seconds until an advice was made, or given up.",
    "http_seconds": "Seconds until the response started.",
    "batch_commands": "Commands in one commit.",
    "commit_seconds": "Seconds spent writing and committing a batch.",
    "candidates_seconds": "Seconds of a candidate search, with its waits: for the "
    "newest log, for other searches, until the answer is durable.",
    "candidates_returned": "Candidates returned by a search.",
    "schedule_seconds": "Seconds of a decision by stage, waits included. "
    "candidates: a remote Placement lists them; decide: hosts are chosen (of a claim, "
    "in its last attempt); claim: it is committed, written where amounts are kept, "
    "and answered.",
    "schedule": "Decisions by outcome.",
    "filter_removed": "Hosts that a filter removed.",
    "no_valid_host": "Requests without a host, by the filter that removed the "
    "last one.",
}


def _drop_ended(folder: Path) -> None:
    """Drop gauges of processes that ended; their counters stay."""
    for file in folder.glob("gauge_live*_*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdigit() and not _lives(int(pid)):
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
