"""Series on which the alerts of ``deploy/prometheus`` are tried.

Values are in promtool's notation: ``3+2x60`` is 3, and 2 more each minute, 60 times.
"""

from __future__ import annotations

from typing import Final

_ZERO: Final = "0x60"
_GROWS: Final = "0+60x60"
_AT: Final = 'instance="gantt:8778",job="gantt"'
_BUCKETS: Final = ("0.001", "0.01", "0.1", "0.25", "1.0", "5.0", "+Inf")


def at(name: str, labels: str = "") -> str:
    """The series ``name`` of one scraped address."""
    return f"{name}{{{','.join(filter(None, (_AT, labels)))}}}"


def _commits(within: str) -> dict[str, str]:
    """A commit a second; each takes ``within`` seconds at the most."""
    quickest = _BUCKETS.index(within)
    return {
        at("gantt_commit_seconds_bucket", f'le="{le}"'): (
            _GROWS if index >= quickest else _ZERO
        )
        for index, le in enumerate(_BUCKETS)
    }


# What a busy service that is well tells, an agent and a scheduler with it.
HEALTHY: Final[dict[str, str]] = {
    **{
        at(name): _ZERO
        for name in (
            "gantt_database_silence_seconds",
            "gantt_busy_total",
            "gantt_reads_turned_away_total",
            "gantt_requests_waiting",
            "gantt_policy_errors_total",
            "gantt_tokens_errors_total",
            "gantt_queue_length",
            "gantt_revision_lag",
            "gantt_foreign_writes_total",
            "gantt_lost_revisions_total",
            "gantt_searches_cut_total",
            "gantt_plugin_failures_total",
            "gantt_plugins_suspended",
            "gantt_decisions_unshared_total",
            "gantt_liveness_frozen",
            "gantt_reports_refused_total",
            "gantt_agent_failures_in_a_row",
            "gantt_agent_unreadable_total",
            "gantt_agent_stream_undelivered_total",
            "gantt_stream_silence_seconds",
            "gantt_stream_dead_letters_total",
            "gantt_stream_dead_letters_lost_total",
            "gantt_stream_changes_lag",
            "gantt_stream_changes_failures_total",
            "gantt_feed_lag_seconds",
            "gantt_feed_cells_down",
            "gantt_presence_failures_total",
        )
    },
    at("up"): "1x60",
    at("gantt_leader", 'pid="1"'): "1x60",
    at("gantt_leader", 'pid="2"'): _ZERO,
    at("gantt_http_requests_total", 'route="/",method="GET",code="200"'): "0+6000x60",
    at("gantt_http_requests_total", 'route="/",method="GET",code="503"'): "0+6x60",
    at("gantt_requests_refused_total", 'reason="draining"'): _GROWS,
    at("gantt_requests_refused_total", 'reason="queue_full"'): _ZERO,
    at("gantt_requests_waiting_limit"): "8192x60",
    at("gantt_queue_limit"): "1024x60",
    **_commits("0.01"),
    at("gantt_schedule_total", 'outcome="placed"'): "0+600x60",
    at("gantt_schedule_total", 'outcome="no_valid_host"'): _GROWS,
    at("gantt_used", 'rc="VCPU"'): "80x60",
    at("gantt_capacity", 'rc="VCPU"'): "100x60",
    # Few classes that are all in use are no lack of room.
    at("gantt_used", 'rc="VGPU"'): "4x60",
    at("gantt_capacity", 'rc="VGPU"'): "4x60",
    at("gantt_hosts", 'state="enabled"'): "95x60",
    at("gantt_hosts", 'state="disabled"'): "5x60",
    at("gantt_hosts", 'state="down"'): _ZERO,
    at("gantt_stream_lag"): "400x60",
    at("gantt_stream_batch_limit"): "500x60",
    at("gantt_feed_standby", 'host="one"'): _ZERO,
    at("gantt_feed_standby", 'host="two"'): "1x60",
    at("gantt_rpc_failures_total", 'method="m",kind="NoValidHost"'): _GROWS,
    at("gantt_rpc_failures_total", 'method="m",kind="Invalid"'): _ZERO,
}


def _counts(name: str, labels: str = "") -> dict[str, str]:
    """One a second of ``name``."""
    return {at(name, labels): _GROWS}


# Alert -> what is different from HEALTHY when it fires.
FAULTS: Final[dict[str, dict[str, str]]] = {
    "GanttDown": {at("up"): _ZERO},
    "GanttDatabaseSilent": {at("gantt_database_silence_seconds"): _GROWS},
    "GanttNoLeader": {at("gantt_leader", 'pid="1"'): _ZERO},
    "GanttRequestsFail": {
        at("gantt_http_requests_total", 'route="/",method="GET",code="503"'): "0+90x60"
    },
    "GanttWritesRefused": _counts("gantt_busy_total"),
    "GanttReadsRefused": _counts("gantt_reads_turned_away_total"),
    "GanttRequestsRefused": _counts(
        "gantt_requests_refused_total", 'reason="queue_full"'
    ),
    "GanttRequestQueueNearLimit": {at("gantt_requests_waiting"): "7000x60"},
    "GanttAccessFileBroken": _counts("gantt_tokens_errors_total"),
    "GanttQueueNearLimit": {at("gantt_queue_length"): "900x60"},
    "GanttCommitSlow": _commits("5.0"),
    "GanttRevisionLag": {at("gantt_revision_lag"): "1001x60"},
    "GanttForeignWrites": _counts("gantt_foreign_writes_total"),
    "GanttHistoryLost": _counts("gantt_lost_revisions_total"),
    "GanttNoValidHost": {
        at("gantt_schedule_total", 'outcome="no_valid_host"'): "0+300x60"
    },
    "GanttCapacityLow": {at("gantt_used", 'rc="VCPU"'): "91x60"},
    "GanttSearchesCut": _counts("gantt_searches_cut_total"),
    "GanttPluginFailures": _counts("gantt_plugin_failures_total"),
    "GanttPluginsSuspended": {at("gantt_plugins_suspended"): "1x60"},
    "GanttDecisionsNotShared": _counts("gantt_decisions_unshared_total"),
    "GanttHostsSilent": {at("gantt_hosts", 'state="down"'): "1x60"},
    "GanttManyHostsSilent": {at("gantt_hosts", 'state="down"'): "20x60"},
    "GanttLivenessFrozen": {at("gantt_liveness_frozen"): "1x60"},
    "GanttReportsRefused": _counts("gantt_reports_refused_total"),
    "GanttAgentUnheard": {at("gantt_agent_failures_in_a_row"): "4x60"},
    "GanttAgentUnreadable": _counts("gantt_agent_unreadable_total"),
    "GanttKafkaSilent": {at("gantt_stream_silence_seconds"): "31x60"},
    "GanttKafkaLag": {at("gantt_stream_lag"): "5001x60"},
    "GanttDeadLetters": _counts("gantt_stream_dead_letters_total"),
    "GanttDeadLettersLost": _counts("gantt_stream_dead_letters_lost_total"),
    "GanttChangesNotPublished": {at("gantt_stream_changes_lag"): "1001x60"},
    "GanttChangesFail": _counts("gantt_stream_changes_failures_total"),
    "GanttAgentKafkaFails": _counts("gantt_agent_stream_undelivered_total"),
    "GanttFeedLag": {at("gantt_feed_lag_seconds"): "121x60"},
    "GanttCellsDown": {at("gantt_feed_cells_down"): "1x60"},
    "GanttNobodyFeeds": {at("gantt_feed_standby", 'host="one"'): "1x60"},
    "GanttMessagesFail": _counts(
        "gantt_rpc_failures_total", 'method="m",kind="Invalid"'
    ),
    "GanttPresenceFails": _counts("gantt_presence_failures_total"),
}
# What fires as well, because it follows from the other.
TOGETHER: Final = {"GanttManyHostsSilent": frozenset({"GanttHostsSilent"})}
