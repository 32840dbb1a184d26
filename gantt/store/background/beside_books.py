"""Transactions beside the books: no head lock, no log.

Separate from the tables that are written so, of which there are several.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, TypeVar

from gantt.errors import StoreFailed
from gantt.store.database import Bulk, Database
from gantt.store.outcomes import CommitOutcome, DataError
from gantt.store.session import Counter, Readers, Session, as_failure

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class BesideBooks:
    """``committer``: the lock of this process's committer."""

    def __init__(
        self,
        database: Database,
        readers: Readers,
        counter: Counter,
        committer: threading.Lock,
    ) -> None:
        self.database = database
        self.readers = readers
        self._counter = counter
        # Where only one transaction may write at a time, our own committer waits its
        # turn instead of retrying.
        self._turn = threading.Lock() if database.has_row_lock else committer

    def add(self, insert: Bulk, rows: Sequence[tuple[Any, ...]], what: str) -> int:
        """Insert these; one by one where the database cannot hold some, whose number is
        returned. ``what`` they are, for the log. Raises StoreFailed."""
        try:
            self.run(lambda session: session.send_rows(insert, rows))
        except DataError as error:
            if len(rows) > 1:
                return sum(self.add(insert, (one,), what) for one in rows)
            LOG.warning("%s cannot be kept: %s", what, error)
            return 1
        return 0

    def run(self, act: Callable[[Session], T]) -> T:
        """``act`` in a transaction of its own. Raises StoreFailed, DataError. If the
        connection breaks during COMMIT, a retry may add rows twice, which readers
        tolerate."""
        if not self._turn.acquire(timeout=self.database.options.lock_timeout_s):
            raise StoreFailed(
                f"The committer of {self.database.url} was not free in time."
            )
        try:
            self.readers.require_open()
            self.database.check_place()
            with closing(Session(self.database, self._counter)) as session:
                try:
                    session.start(self.database.begin_lightly)
                    done = act(session)
                    session.commit()
                    return done
                except BaseException:
                    session.rollback()
                    raise
        except DataError:
            raise
        except CommitOutcome as outcome:
            raise as_failure(outcome, self.database.url) from outcome
        finally:
            self._turn.release()
