"""What one worker has for requests: threads, by kind, and memory for their bodies.

Apart from the front, so that it can be measured before there is an application.
"""

from __future__ import annotations

from gantt.api.hosting.envelope import MOUNT
from gantt.api.hosting.pool import Pool, PoolLimits
from gantt.api.hosting.reading import Bodies, BodyLimits
from gantt.api.hosting.sharing import Shared
from gantt.api.routes import is_long
from gantt.conf import Settings


class Pools:
    """No kind of request takes the threads of another."""

    def __init__(self, settings: Settings) -> None:
        options = settings.serve
        waiting = options.waiting_requests
        self.quick = Pool("gantt-quick", PoolLimits(options.blocking_threads, waiting))
        self.long = Pool("gantt-long", PoolLimits(options.long_threads, waiting))
        self._pools = (self.quick, self.long)
        health, metrics = Shared("gantt-health"), Shared("gantt-metrics")
        self._shared = {
            ("GET", "/readyz"): health,
            ("HEAD", "/readyz"): health,
            ("GET", "/healthcheck"): health,
            ("HEAD", "/healthcheck"): health,
            ("GET", "/metrics"): metrics,
        }
        most = settings.api.max_body_bytes
        self.bodies = Bodies(
            BodyLimits(
                most_bytes=most,
                timeout_s=options.body_timeout_s,
                all_bytes=max(options.bodies_bytes, most),
            )
        )

    def shared_for(self, method: str, path: str) -> Shared | None:
        """Where a request shares its answer with others; None: it does not."""
        return self._shared.get((method, path.removeprefix(MOUNT)))

    def pool_for(self, method: str, path: str, query: str) -> Pool:
        """The threads that answer any other request."""
        path = path.removeprefix(MOUNT)
        return self.long if is_long(method, path, query) else self.quick

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "requests_waiting": sum(pool.waiting for pool in self._pools),
            "requests_waiting_limit": sum(pool.limits.waiting for pool in self._pools),
            "bodies_reading": self.bodies.reading,
            "bodies_reading_bytes": self.bodies.held,
            "bodies_reading_bytes_limit": self.bodies.limits.all_bytes,
        }
