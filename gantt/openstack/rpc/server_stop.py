"""Stops an RPC server without losing a call.

The library stops to read but does not tell the broker, which goes on delivering. What
is delivered until the connection is closed is acknowledged then, while its fanout queue
is deleted, and never answered: its caller waits for the whole time-out. So consumers
are cancelled here, and what came meanwhile is answered like any other call.
"""

from __future__ import annotations

import logging
from typing import Any

LOG = logging.getLogger(__name__)


def drain(server: Any) -> None:
    """Take no more calls from the broker, finish those that were taken, disconnect."""
    server.stop()
    try:
        for message in _cancelled(server.listener):
            server._on_incoming([message])
    except Exception:
        # Internals of the library, and a broker that may be gone.
        LOG.warning("Calls that come while this stops may be lost", exc_info=True)
    server.wait()


def _cancelled(listener: Any) -> list[Any]:
    """Cancel all consumers; the messages that came before that was confirmed."""
    poller = listener._poll_style_listener
    connection = getattr(poller, "conn", None)
    if connection is None:  # not a broker: the driver for tests
        return []
    # Not ``reset``, which would forget that the fanout queue must be deleted.
    with connection._connection_lock:
        for consumer, tag in connection._consumers.items():
            consumer.cancel(tag)
    found, poller.incoming = poller.incoming, []
    return list(found)
