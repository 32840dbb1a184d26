"""From a URL to a Gantt: in this process, or somewhere else over HTTP.

The one place that knows both kinds; everything else holds a GanttProtocol.
"""

from __future__ import annotations

from gantt.engine.opening import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.protocol import GanttProtocol

__all__ = ["connect", "open_gantt"]


def connect(
    url: str, *, options: EngineOptions = EngineOptions(), token: str | None = None
) -> GanttProtocol:
    """The books at ``url``.

    ``memory://``: in this process and gone with it. An SQLAlchemy URL such as
    ``sqlite:////var/lib/gantt/gantt.db``: in that database. ``http://host:8778``: those
    of a running service (Gantt or OpenStack Placement), asked with ``token``
    (None: "admin", as ``--auth noauth2`` wants it).

    Raises Refused when the database must not be used as it is, StoreFailed when it
    cannot be reached.
    """
    if url.startswith(("http://", "https://")):
        from gantt.client.remote import RemoteGantt

        return RemoteGantt(url, token=token or "admin")
    return open_gantt(url, options)
