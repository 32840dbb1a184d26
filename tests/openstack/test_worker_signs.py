"""The metrics of a worker: of a feed only where it has one."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from gantt.connection import open_gantt
from gantt.openstack.rpc.late_replies import LateReplies
from gantt.openstack.rpc.methods import SchedulerMethods
from gantt.openstack.rpc.worker_signs import WorkerSigns


@pytest.mark.parametrize("feeds", [True, False])
def test_a_worker_without_a_feed_does_not_say_that_it_reads(feeds: bool) -> None:
    """Where it did, no alert would tell that every ``gantt feed`` stands by."""
    with contextlib.closing(open_gantt("memory://")) as books:
        methods = SchedulerMethods(books, None)
        server: Any = SimpleNamespace(methods=methods, late=LateReplies())
        feed: Any = SimpleNamespace(counts=dict) if feeds else None
        signs = WorkerSigns(books, server, feed, None, 1, None)
        signs.mirror()
        text = signs._cloud.exposition().decode()
    assert "gantt_rpc_in_flight 0.0" in text
    assert ("gantt_feed_standby 0.0" in text) is feeds
    assert ("gantt_feed_" in text) is feeds
