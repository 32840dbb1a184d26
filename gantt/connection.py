"""From a URL to a Gantt: in this process, or somewhere else over HTTP.

The one place that knows both kinds; everything else holds a GanttProtocol.
"""

from __future__ import annotations

from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import SyncNames
from gantt.model.protocol import GanttProtocol
from gantt.store import open_store


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


def open_gantt(url: str, options: EngineOptions = EngineOptions()) -> Gantt:
    """As ``connect``, for the URLs that lead to an engine in this process."""
    is_file = url.startswith("sqlite:")
    store_options = replace(
        options.store, create=options.store.create or (options.create and is_file)
    )
    store = open_store(url, store_options)
    try:
        return Gantt(store, options, standard_names=standard_names())
    except BaseException:
        store.close()
        raise


def standard_names() -> SyncNames:
    """The names that every Placement knows, from the libraries that define them."""
    import os_resource_classes
    import os_traits

    return SyncNames(
        tuple(os_resource_classes.STANDARDS), tuple(sorted(os_traits.get_traits()))
    )
