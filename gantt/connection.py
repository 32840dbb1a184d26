"""From a URL to a Gantt: in this process, or somewhere else over HTTP.

The one place that knows both kinds; everything else holds a GanttProtocol. The engine
is loaded where one is opened: who speaks HTTP alone needs neither numpy nor SQLAlchemy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gantt.errors import Invalid, Refused, needed_wheel
from gantt.model.addresses import without_secrets
from gantt.model.protocol import GanttProtocol

if TYPE_CHECKING:
    from gantt.engine.gantt import Gantt
    from gantt.engine.options import EngineOptions
    from gantt.engine.scheduling.remote_books import RemoteBooks
    from gantt.store import Progress

Propagate = Callable[[], Mapping[str, str]]

__all__ = ["connect", "open_gantt", "remote_books"]


def connect(
    url: str,
    *,
    options: EngineOptions | None = None,
    token: str | None = None,
    create: bool = False,
) -> GanttProtocol:
    """The books at ``url``.

    ``memory://``: in this process and gone with it. An SQLAlchemy URL such as
    ``sqlite:////var/lib/gantt/gantt.db``: in that database. ``http://host:8778``: those
    of a running service (Gantt or OpenStack Placement), asked with ``token``
    (None: "admin", as ``--auth noauth2`` wants it).

    ``options``: of an engine in this process; None: its defaults. ``create``: make the
    tables of a database, and the file of an SQLite one, if they are missing, and bring
    them up to date; without it a mistyped URL makes nothing.

    Raises Refused when the database must not be used as it is, StoreFailed when it
    cannot be reached.
    """
    if url.startswith(("http://", "https://")):
        from gantt.client.remote import RemoteGantt

        return RemoteGantt(url, token=token or "admin")
    options = options or _default_options(url)
    if create:
        options = replace(options, store=replace(options.store, create=True))
    return open_gantt(url, options)


def open_gantt(
    url: str,
    options: EngineOptions | None = None,
    *,
    session: Any = None,
    propagate: Propagate = dict,
    progress: Progress | None = None,
) -> Gantt:
    """The engine over the books at ``url``, with the remote Placement that its
    scheduler's options name, if any; a keystoneauth ``session`` signs in there, and
    ``propagate`` gives headers to send along, such as those of a trace. ``progress`` is
    told how many rows of the tables were loaded, and of how many.

    Raises Refused, StoreFailed.
    """
    options = options or _default_options(url)
    from gantt.engine import factory

    remote = remote_books(options, session=session, propagate=propagate)
    return factory.open_gantt(url, options, remote=remote, progress=progress)


def _default_options(url: str) -> EngineOptions:
    """Raises Refused where no engine is installed."""
    with needed_wheel("gantt-scheduler", by=f"A Gantt at {without_secrets(url)}"):
        from gantt.engine.options import EngineOptions
    return EngineOptions()


def remote_books(
    options: EngineOptions, *, session: Any = None, propagate: Propagate = dict
) -> RemoteBooks | None:
    """The Placement that ``options`` name; None: the books of the engine itself. Raises
    Refused where it cannot be asked."""
    scheduler = options.scheduler
    if scheduler.placement == "embedded":
        return None
    from gantt.client.placement_books import CATALOGUE, PlacementBooks

    if scheduler.placement == CATALOGUE and session is None:
        raise Refused(
            f"placement of [scheduler] is {CATALOGUE}, but no "
            "authentication is configured: set auth_type and its options "
            "in [placement], or give a URL."
        )
    try:
        return PlacementBooks(
            scheduler.placement,
            token=scheduler.placement_token,
            session=session,
            timeout_s=scheduler.placement_timeout_s,
            propagate=propagate,
        )
    except Invalid as error:
        raise Refused(f"placement of [scheduler]: {error}") from None
