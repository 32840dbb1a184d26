"""A bounded number of threads and of waiting jobs; further jobs are refused."""

from __future__ import annotations

import threading

import pytest

from gantt.api.hosting.pools import JobPool, PoolLimits, Pools
from gantt.conf import load


class Job:
    """Waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go, self.done = (threading.Event() for _ in range(3))

    def __call__(self) -> None:
        self.begun.set()
        assert self.let_go.wait(30)
        self.done.set()


def test_jobs_beyond_both_limits_are_refused() -> None:
    pool = JobPool("test", PoolLimits(threads=2, waiting=1))
    jobs = [Job() for _ in range(4)]
    assert [pool.take(job) for job in jobs] == [True, True, True, False]
    assert jobs[0].begun.wait(30)
    assert jobs[1].begun.wait(30)
    assert pool.waiting == 1
    jobs[0].let_go.set()
    assert jobs[2].begun.wait(30)
    assert pool.waiting == 0
    for job in jobs[:3]:
        job.let_go.set()
        assert job.done.wait(30)


def test_idle_thread_is_reused() -> None:
    pool = JobPool("reuse", PoolLimits(threads=8, waiting=1))
    for _ in range(50):
        job = Job()
        job.let_go.set()
        assert pool.take(job)
        assert job.done.wait(30)
    alive = [one for one in threading.enumerate() if one.name.startswith("reuse-")]
    # Of 50 jobs, and of 8 threads that there might be.
    assert 1 <= len(alive) <= 4


def test_catch_up_wakes_more_threads() -> None:
    pool = JobPool("overdue", PoolLimits(threads=8, waiting=1))
    jobs = [Job() for _ in range(8)]
    assert all(pool.take(job) for job in jobs)
    assert 0 < pool.waiting < 8
    pool.catch_up()
    assert pool.waiting == 0
    for job in jobs:
        assert job.begun.wait(30)
    last = Job()
    assert pool.take(last)
    assert not pool.take(Job())
    for job in [*jobs, last]:
        job.let_go.set()
        assert job.done.wait(30)


@pytest.mark.parametrize(
    ("method", "path", "query", "pool"),
    [
        ("GET", "/allocation_candidates", "resources=VCPU:1", "search"),
        ("GET", "/placement/allocation_candidates", "", "search"),
        ("POST", "/gantt/select", "", "search"),
        ("GET", "/resource_providers", "", "search"),
        ("GET", "/resource_providers", "in_tree=x", "quick"),
        ("GET", "/resource_providers", "name=", "search"),
        ("GET", "/resource_providers", "name=x&name=", "search"),
        ("GET", "/resource_providers", "required=in_tree=", "search"),
        ("GET", "/gantt/hosts", "host=x", "quick"),
        ("GET", "/gantt/hosts", "", "list"),
        ("GET", "/gantt/instances", "limit=9", "list"),
        ("GET", "/gantt/instances", "claim=x", "quick"),
        ("GET", "/gantt/decisions", "limit=9", "list"),
        ("GET", "/gantt/decisions", "request_id=x", "quick"),
        ("POST", "/gantt/capacity", "", "count"),
        ("GET", "/placement/gantt/verify", "", "count"),
        ("POST", "/resource_providers", "", "quick"),
        ("PUT", "/allocations/x", "", "quick"),
        ("GET", "/resource_providers/x/inventories", "", "quick"),
        ("POST", "/metrics", "", "quick"),
    ],
)
def test_long_requests_have_their_own_threads(
    method: str, path: str, query: str, pool: str
) -> None:
    pools = Pools(load(environ={}))
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    assert pools.pool_for(environ) is pools._pools[pool]  # type: ignore[index]


@pytest.mark.parametrize("prefix", ["", "/placement"])
def test_health_has_its_own_threads(prefix: str) -> None:
    pools = Pools(load(environ={}))
    health = pools.shared_for("GET", f"{prefix}/readyz")
    assert health is not None
    assert pools.shared_for("HEAD", f"{prefix}/healthcheck") is health
    metrics = pools.shared_for("GET", f"{prefix}/metrics")
    assert metrics not in (None, health)
    for method, path in [("POST", "/readyz"), ("HEAD", "/metrics"), ("GET", "/")]:
        assert pools.shared_for(method, prefix + path) is None


def test_failing_job_keeps_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise SystemExit("of some library")

    pool = JobPool("failing", PoolLimits(threads=1, waiting=1))
    assert pool.take(fail)
    job = Job()
    job.let_go.set()
    assert pool.take(job)
    assert job.done.wait(30)
    assert "failing: a job failed" in caplog.text


def test_limit_metric_covers_all_waiting_requests() -> None:
    settings = load(environ={}, overrides={("gantt", "waiting_requests"): 7})
    assert Pools(settings).counts()["requests_waiting_limit"] == 28


def test_limit_of_a_body_has_a_metric() -> None:
    settings = load(environ={}, overrides={("gantt", "max_body_bytes"): 2048})
    assert Pools(settings).counts()["body_bytes_limit"] == 2048
