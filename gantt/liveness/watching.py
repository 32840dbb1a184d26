"""Starts what an entry point needs for liveness, where a service for it is configured.

Separate so that tooz is loaded only then: it is in the extra ``coordination``,
with the libraries that it reaches each service by: ``redis``, ``pymemcache``,
``etcd3gw``, and ``kazoo`` for ZooKeeper.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gantt.engine.protocol import Engine
from gantt.errors import Refused, how_to_install
from gantt.liveness.options import CoordinationOptions


@contextlib.contextmanager
def watching(options: CoordinationOptions, books: Engine) -> Iterator[None]:
    """Watch the group of agents meanwhile. Raises Refused."""
    if not options.backend_url:
        yield
        return
    with _extra():
        from gantt.liveness.keeping import Watcher
    watcher = Watcher(options, books)
    watcher.start()
    try:
        yield
    finally:
        watcher.close()


@contextlib.contextmanager
def member(options: CoordinationOptions, host: str) -> Iterator[None]:
    """Keep ``host`` a member of the group meanwhile. Raises Refused."""
    if not options.backend_url:
        yield
        return
    with _extra():
        from gantt.liveness.keeping import Membership
    membership = Membership(options, host)
    membership.start()
    try:
        yield
    finally:
        membership.close()


@contextlib.contextmanager
def _extra() -> Iterator[None]:
    """Raises Refused where what is imported within is not installed."""
    try:
        yield
    except ImportError as error:
        raise Refused(
            f"backend_url of [coordination] is set, but {error.name} is not installed: "
            f"{how_to_install('coordination')}; or leave it unset."
        ) from None
