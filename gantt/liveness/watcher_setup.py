"""Watches the group of agents for an entry point, where its service is configured.

Separate so that tooz is loaded only then: it is in the extra ``coordination``,
with the libraries that it reaches each service by: ``redis``, ``pymemcache``,
``etcd3gw``, and ``kazoo`` for ZooKeeper.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gantt.engine.engine_protocol import Engine
from gantt.errors import needed_extra
from gantt.liveness.options import CoordinationOptions


@contextlib.contextmanager
def watching(options: CoordinationOptions, books: Engine) -> Iterator[None]:
    """Watch the group of agents meanwhile. Raises Refused."""
    if not options.backend_url:
        yield
        return
    with needed_extra("coordination", by="backend_url of [coordination]"):
        from gantt.liveness.watcher import Watcher
    watcher = Watcher(options, books)
    watcher.start()
    try:
        yield
    finally:
        watcher.close()
