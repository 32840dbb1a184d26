"""SQL only: keeps rows and the log of Changes; knows nothing of columns."""

from __future__ import annotations

from gantt.store.interface import (
    Fingerprint,
    Progress,
    Store,
    StoreOptions,
    Transaction,
)
from gantt.store.memory_store import MemoryStore

__all__ = [
    "Fingerprint",
    "Progress",
    "Store",
    "StoreOptions",
    "Transaction",
    "open_store",
]


def open_store(
    url: str, options: StoreOptions | None = None, progress: Progress | None = None
) -> Store:
    """The store at ``url``: ``memory://`` or an SQLAlchemy URL. ``progress`` is told
    while tables are loaded.

    Raises errors.Refused with what is wrong and what to do about it.
    """
    options = options or StoreOptions()
    if url == "memory://":
        return MemoryStore(options)
    from gantt.store.sql_store import SqlStore

    return SqlStore.open(url, options, progress)
