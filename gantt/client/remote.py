"""The library over HTTP: the same protocol as the in-process ``Gantt``.

It uses Placement's API for the books, so that it works with OpenStack Placement as
well, and Gantt's own API for scheduling. Separate from the engine, which holds a copy
of the books.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Self

from gantt.client.exchange import Exchange, Propagate
from gantt.client.remote_allocations import RemoteAllocations
from gantt.client.remote_providers import RemoteNames, RemoteProviders
from gantt.client.remote_scheduling import RemoteScheduling
from gantt.client.transport import transport_to
from gantt.model.addresses import without_secrets

if TYPE_CHECKING:
    from gantt.model.protocol import GanttProtocol


class RemoteGantt(RemoteProviders, RemoteNames, RemoteAllocations, RemoteScheduling):
    """The books of a service at ``url``, as GanttProtocol; safe for many threads.

    ``token`` is sent as X-Auth-Token, unless a keystoneauth ``session`` authenticates.
    ``timeout`` is in seconds, for connecting and for each wait for an answer.
    ``propagate``: headers to send along, such as those of a trace.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "admin",  # noqa: S107 - the name that noauth2 lets in
        session: Any = None,
        timeout: float = 60.0,
        propagate: Propagate = dict,
    ) -> None:
        self.url = without_secrets(url)
        self._wire = Exchange(
            transport_to(url, token=token, session=session, timeout_s=timeout),
            propagate,
        )

    def metrics(self) -> str:
        """The text of ``/metrics``: of the service, not of the books. Raises
        Unavailable, NotFound."""
        reply = self._wire.ask("GET", "/metrics")
        return reply.body.decode("utf-8", "replace")

    def save_snapshot(self, into: BinaryIO) -> None:
        """Write all rows of the books and the fleet at one revision to a file, as lines
        of a record, while they arrive. Raises Forbidden, Unavailable."""
        self._wire.ask("GET", "/gantt/snapshot", into=into)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._wire.close()


if TYPE_CHECKING:

    def _conforms(remote: RemoteGantt) -> GanttProtocol:
        return remote  # checked by mypy: no method is missing
