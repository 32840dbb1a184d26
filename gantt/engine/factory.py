"""Opens an engine for a database URL.

Separate from ``gantt.connection``, which also opens clients over HTTP: packages below
it open engines too.
"""

from __future__ import annotations

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.model.commands import SyncNames
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.plugins.policy import policy_of
from gantt.store import Progress, open_store


def open_gantt(
    url: str,
    options: EngineOptions = EngineOptions(),
    *,
    remote: RemoteBooks | None = None,
    progress: Progress | None = None,
) -> Gantt:
    """The books at ``url``: ``memory://`` or an SQLAlchemy URL. ``remote``: the
    Placement that decides amounts, where the scheduler's options name one.
    ``progress``: is told while the tables are loaded, now or later.

    Raises Refused when the database must not be used as it is, StoreFailed when it
    cannot be reached.
    """
    store = open_store(url, options.store, progress)
    try:
        names = standard_names()
        return Gantt(store, options, standard_names=names, remote=remote)
    except BaseException:
        store.close()
        raise


def check_options(options: EngineOptions) -> None:
    """Raises Refused when an option names a driver, filter or weigher that does not
    exist, or that cannot be made."""
    driver_of(policy_of(options.scheduler))


def standard_names() -> SyncNames:
    """The names that every Placement knows, from the libraries that define them."""
    import os_resource_classes
    import os_traits

    return SyncNames(
        tuple(os_resource_classes.STANDARDS), tuple(sorted(os_traits.get_traits()))
    )
