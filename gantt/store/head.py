"""The head row, which says whether this release may write here, and new histories.

Apart because the row outlives every process: one that still runs after the database
was handed back or upgraded finds that out here. Whenever the row changes, a new log
begins after a gap behind the last revision: no cursor continues into it, so that
processes load everything again, and read the row.
"""

from __future__ import annotations

import logging
import threading
import uuid
from datetime import UTC, datetime

from sqlalchemy import (
    Connection,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from gantt import errors
from gantt.store.database import Database
from gantt.store.session import Session, StatementResult
from gantt.store.tables import FORMAT, gantt_fingerprint, gantt_head, gantt_log
from gantt.store.time_columns import to_micros

LOG = logging.getLogger(__name__)
# The format of books that were handed back to Placement.
RELEASED = 0
# Kinds of the first revision of a history: nothing before it leads there.
ADOPT, RELEASE, IMPORT = "Adopt", "Release", "Import"
UPGRADE = "Upgrade"
BEGINNINGS = frozenset({ADOPT, RELEASE, IMPORT, UPGRADE})
# An empty list, as ``changelog.codec`` encodes it.
NO_CHANGES = b"\x90"
# From the last revision of the log before, which therefore does not lead to it.
_GAP = 2


def refusal(found: int | None, where: str) -> str | None:
    """Why a running process must not use a database in the format ``found``."""
    if found == FORMAT:
        return None
    if found is None:
        return f"The database {where} has lost the row of gantt_head."
    if found == RELEASED:
        return (
            f"The database {where} was handed back to OpenStack Placement "
            "(`gantt-manage release`): it is no longer read or "
            "written. Stop this process, or take the database back with `gantt-manage "
            "adopt`."
        )
    return (
        f"The database {where} is in format {found} now, this release reads and "
        f"writes format {FORMAT}: another version of Gantt took it over. Restart "
        "with that version."
    )


class HeadRow:
    """The head row on connections of the store."""

    def __init__(self, database: Database) -> None:
        self._url = database.url
        head = select(gantt_head.c.format)
        head = head.where(gantt_head.c.id == literal_column("1"))
        self._read = database.compile(head).text
        self._lock = database.compile(head.with_for_update()).text
        identity = select(gantt_head.c.identity)
        identity = identity.where(gantt_head.c.id == literal_column("1"))
        self._identity = database.compile(identity).text
        self._is_logged = False
        self._logging = threading.Lock()

    def read(self, session: Session) -> None:
        """Raises StoreFailed unless this release may use the books."""
        self.judge(session.one(self._read))

    def identity(self, session: Session) -> str:
        """Which books these are. Raises StoreFailed."""
        row = session.one(self._identity)
        if row is None:
            raise errors.StoreFailed(refusal(None, self._url) or "")
        return str(row[0])

    def lock(self, session: Session) -> StatementResult:
        """Request the lock, held until the transaction ends; ``judge`` the answer."""
        return session.send(self._lock)

    def judge(self, row: tuple[int] | None) -> None:
        """Takes the row that ``lock`` found, as ``read`` takes the one that it
        reads."""
        reason = refusal(row[0] if row else None, self._url)
        with self._logging:  # many threads come here, one logs
            if reason is not None and not self._is_logged:
                LOG.critical("%s", reason)
            self._is_logged = reason is not None
        if reason is not None:
            raise errors.StoreFailed(reason)


def lock(connection: Connection) -> int | None:
    """Wait until no committer writes, and exclude them; the format, None without the
    row."""
    row = select(gantt_head.c.format).where(gantt_head.c.id == 1).with_for_update()
    found = connection.execute(row).scalar()
    return None if found is None else int(found)


def begin_history(connection: Connection, kind: str, *, becomes: int = FORMAT) -> int:
    """Begin a new log under a new epoch; the revision at which it begins.

    ``becomes``: the format, which says which release may write from now on.
    The caller holds the lock and commits.
    """
    ends = func.max(gantt_log.c.revision), func.max(gantt_log.c.at)
    last, stamp = connection.execute(select(*ends)).one()
    revision = int(last or 0) + _GAP
    connection.execute(delete(gantt_log))
    connection.execute(
        insert(gantt_log).values(
            revision=revision,
            batch=str(uuid.uuid4()),
            at=max(int(stamp or 0), to_micros(datetime.now(UTC)) or 0),
            kind=kind,
            request_id="",
            changes=NO_CHANGES,
        )
    )
    connection.execute(
        update(gantt_head)
        .where(gantt_head.c.id == 1)
        .values(format=becomes, epoch=gantt_head.c.epoch + 1, compacted_to=revision - 1)
    )
    # The fingerprint of the last clean stop no longer applies.
    connection.execute(update(gantt_fingerprint).values(revision=0, batch="", facts=""))
    return revision
