"""This scheduler as Nova's services see it: a row in ``services`` that heartbeats.

It makes the scheduler visible in ``openstack compute service list``, and a candidate
for the turn to map new hosts (``discovery``). Column names are facts of Nova 34.0.0.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from msgspec.structs import replace

from gantt.conf import FeedOptions, RpcOptions
from gantt.errors import GanttError
from gantt.openstack.discovery import Discovery
from gantt.openstack.feed.cell_mappings import with_user
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.row_times import UtcTime

LOG = logging.getLogger(__name__)

BINARY: Final = "nova-scheduler"
TOPIC: Final = "scheduler"
# That of Nova 34.0.0, for a cloud whose other services have no rows yet.
VERSION: Final = 74

_SERVICES: Final = sa.Table(
    "services",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    *(sa.Column(name, sa.String(255)) for name in ("uuid", "host", "binary", "topic")),
    *(sa.Column(name, sa.Integer) for name in ("report_count", "version", "deleted")),
    *(sa.Column(name, sa.Boolean) for name in ("disabled", "forced_down")),
    *(
        sa.Column(name, UtcTime)
        for name in ("created_at", "updated_at", "last_seen_up")
    ),
)
_T: Final = _SERVICES.c


class NovaServiceRow:
    """The row of the scheduler ``host`` in the database of ``[database]``."""

    def __init__(self, database: NovaDatabase, host: str, down_s: float) -> None:
        """``down_s``: seconds after its last heartbeat that a service is down."""
        self._database = database
        self._host = host
        self._down = timedelta(seconds=down_s)
        self._version = VERSION

    def begin(self, now: datetime) -> None:
        """Add the row if there is none, as new as the other services are. Raises
        Refused, StoreFailed."""
        found = self._database.rows(
            sa.select(sa.func.max(_T.version)).where(
                _T.deleted == 0, _T.binary != BINARY
            )
        )
        self._version = found[0][0] or VERSION
        self._database.write(
            sa.insert(_SERVICES).values(
                uuid=str(uuid4()),
                host=self._host,
                binary=BINARY,
                topic=TOPIC,
                report_count=0,
                version=self._version,
                disabled=False,
                forced_down=False,
                created_at=now,
                deleted=0,
            )
        )  # writes nothing if there is one: host, binary and deleted are unique

    def beat(self, now: datetime) -> None:
        """Say that the scheduler is up. Raises Refused, StoreFailed."""
        written = self._database.write(
            sa.update(_SERVICES)
            .where(_T.host == self._host, _T.binary == BINARY, _T.deleted == 0)
            .values(
                report_count=_T.report_count + 1,
                last_seen_up=now,
                updated_at=now,
                version=self._version,
            )
        )
        if not written:  # deleted by an operator
            self.begin(now)

    def is_first(self, now: datetime) -> bool:
        """Whether it is the first by name of the schedulers that are up. Raises
        Refused, StoreFailed."""
        rows = self._database.rows(
            sa.select(_T.host, _T.last_seen_up, _T.created_at).where(
                _T.binary == BINARY, _T.deleted == 0, _T.forced_down.is_not(True)
            )
        )
        up = [
            host
            for host, seen, created in rows
            if isinstance(at := seen or created, datetime)
            and abs(now - at) <= self._down
        ]
        return min(up, default="") == self._host


class Presence:
    """A thread that heartbeats and, if it is this scheduler's turn, maps new hosts."""

    def __init__(
        self,
        options: RpcOptions,
        feed: FeedOptions,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """``feed``: where Nova's databases are. Raises Refused."""
        as_writer = with_writer(feed, options)
        self._now = now or self._database_now
        self._database = NovaDatabase(
            "the database of [database]",
            with_user(feed.database_url, as_writer),
            feed.feed_timeout,
            writes=True,
        )
        self.row = NovaServiceRow(self._database, options.host, feed.service_down_time)
        self.discovery = Discovery(as_writer)
        self._beat_s = float(options.report_interval)
        interval = options.discover_hosts_in_cells_interval
        self._discover_s = float(interval or 60) if interval >= 0 else None
        self._stop = threading.Event()
        self._told: dict[str, str] = {}
        self._beats = self._failures = 0
        self._thread = threading.Thread(
            target=self._run, name="gantt-presence", daemon=True
        )

    def start(self) -> None:
        """Heartbeat from now on; a failure is logged, and tried again."""
        self._try("heartbeat", lambda: self.row.begin(self._now()))
        self._thread.start()

    def stop(self) -> None:
        """Stop; the row stays, and is down once its last heartbeat is old."""
        self._stop.set()
        self._thread.join()
        self.discovery.close()
        self._database.close()

    def _database_now(self) -> datetime:
        """The database's time, as Nova writes times: other schedulers, with clocks of
        their own, judge by them who is up. Raises Refused, StoreFailed."""
        return self._database.now().replace(microsecond=0)

    def counts(self) -> dict[str, float]:
        """What was done so far, by name."""
        return {
            "presence_beats": self._beats,
            "presence_failures": self._failures,
            "presence_hosts_mapped": self.discovery.mapped,
            "presence_turns_cut": self.discovery.cut,
        }

    def _run(self) -> None:
        discover_at = time.monotonic() + (self._discover_s or 0)
        while True:
            self._beats += self._try("heartbeat", lambda: self.row.beat(self._now()))
            if self._discover_s is not None and time.monotonic() >= discover_at:
                discover_at = time.monotonic() + self._discover_s
                self._try("host discovery", self._discover)
            until = self._beat_s
            if self._discover_s is not None:
                until = min(until, max(0.0, discover_at - time.monotonic()))
            if self._stop.wait(until):
                return

    def _discover(self) -> None:
        if self.row.is_first(self._now()):
            self.discovery.map_hosts(self._now())

    def _try(self, what: str, act: Callable[[], None]) -> bool:
        """Whether it could be done; the same kind of failure is logged once."""
        try:
            act()
        except GanttError as error:
            if self._is_new_failure(what, error.code):
                LOG.error("%s: %s", what, error.message)
            return False
        except Exception as error:  # the thread must go on
            if self._is_new_failure(what, type(error).__name__):
                LOG.exception("%s: this is a mistake of Gantt", what)
            return False
        if self._told.pop(what, None):
            LOG.info("%s: it works again", what)
        return True

    def _is_new_failure(self, what: str, kind: str) -> bool:
        """Count it; whether the last one was of another kind, or none."""
        self._failures += 1
        before, self._told[what] = self._told.get(what), kind
        return before != kind


def with_writer(feed: FeedOptions, options: RpcOptions) -> FeedOptions:
    """``feed`` with the user that may write."""
    return replace(
        feed, feed_user=options.write_user, feed_password=options.write_password
    )
