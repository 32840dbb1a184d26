"""What one worker has for requests: threads, by kind, and memory for their bodies.

Apart from the front, so that it can be measured before there is an application.
"""

from __future__ import annotations

from gantt.api.envelope import MOUNT
from gantt.api.hosting.pool import Pool, PoolLimits
from gantt.api.hosting.reading import Bodies, BodyLimits
from gantt.api.routes import is_long
from gantt.conf import Settings

_READY, _METRICS = ("/readyz", "/healthcheck"), "/metrics"
# Who asks for these asks again soon: few need wait.
_FEW = PoolLimits(threads=1, waiting=16)


class Pools:
    """No kind of request takes the threads of another."""

    def __init__(self, settings: Settings) -> None:
        options = settings.serve
        waiting = options.waiting_requests
        self.quick = Pool("gantt-quick", PoolLimits(options.blocking_threads, waiting))
        self.long = Pool("gantt-long", PoolLimits(options.long_threads, waiting))
        health, metrics = Pool("gantt-health", _FEW), Pool("gantt-metrics", _FEW)
        self._apart = {_METRICS: metrics, **dict.fromkeys(_READY, health)}
        self._pools = (self.quick, self.long, health, metrics)
        most = settings.api.max_body_bytes
        self.bodies = Bodies(
            BodyLimits(
                most_bytes=most,
                timeout_s=options.body_timeout_s,
                all_bytes=max(options.bodies_bytes, most),
            )
        )

    def pool_for(self, method: str, path: str, query: str) -> Pool:
        """Whose threads answer a request."""
        if path.startswith(MOUNT):
            path = path[len(MOUNT) :]
        if path in self._apart and method in ("GET", "HEAD"):
            return self._apart[path]
        return self.long if is_long(method, path, query) else self.quick

    def reads_body(self, pool: Pool) -> bool:
        """Whether its requests are answered when their bodies have been read."""
        return pool is self.quick or pool is self.long

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "requests_waiting": sum(pool.waiting for pool in self._pools),
            "requests_waiting_limit": self.quick.limits.waiting,
            "bodies_reading": self.bodies.reading,
            "bodies_reading_bytes": self.bodies.held,
            "bodies_reading_bytes_limit": self.bodies.limits.all_bytes,
        }
