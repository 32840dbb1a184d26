"""What the tables add up to: how a start notices that somebody else wrote to them.

It stands apart because it looks at tables as a foreigner would, by aggregate SQL, and
so cannot share a mistake with the columns that it is compared with.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import bindparam, func, literal_column, select, update

from gantt.store.database import Database
from gantt.store.interface import Fingerprint
from gantt.store.session import Session
from gantt.store.tables import BOOKS, gantt_fingerprint, gantt_log


class Fingerprints:
    """Takes, keeps and reads fingerprints."""

    def __init__(self, database: Database) -> None:
        self._generations = [n for n, t in BOOKS.items() if "generation" in t.c]
        self._take = database.compile(
            # One statement, so that all parts belong to one snapshot.
            select(
                select(func.max(gantt_log.c.revision)).scalar_subquery(),
                *(
                    select(func.count()).select_from(table).scalar_subquery()
                    for table in BOOKS.values()
                ),
                *(
                    select(
                        func.coalesce(
                            func.sum(BOOKS[name].c.generation), literal_column("0")
                        )
                    ).scalar_subquery()
                    for name in self._generations
                ),
            )
        )
        self._batch = database.compile(
            select(gantt_log.c.batch).where(
                gantt_log.c.revision == bindparam("at_revision")
            )
        )
        self._read = database.compile(
            select(
                gantt_fingerprint.c.revision,
                gantt_fingerprint.c.batch,
                gantt_fingerprint.c.facts,
            )
        )
        names = ("revision", "batch", "facts")
        save = database.compile(
            update(gantt_fingerprint).values({n: bindparam("to_" + n) for n in names})
        )
        self._save = save.text
        self._save_values = save.picker(tuple("to_" + name for name in names))

    def take(self, session: Session) -> Fingerprint:
        """The fingerprint of the tables as they are."""
        revision, *numbers = session.one(self._take.text)
        batch = session.one(self._batch.text, (revision,)) if revision else None
        counts = dict(zip(BOOKS, map(int, numbers), strict=False))
        sums = map(int, numbers[len(BOOKS) :])
        return Fingerprint(
            revision=int(revision or 0),
            batch=batch[0] if batch else "",
            counts=counts,
            generations=dict(zip(self._generations, sums, strict=True)),
        )

    def saved(self, session: Session) -> Fingerprint | None:
        """What the last clean stop left, if it left anything."""
        row = session.one(self._read.text)
        if row is None or not row[2]:
            return None
        counts, generations = msgspec.json.decode(
            row[2], type=tuple[dict[str, int], dict[str, int]]
        )
        # What an older release did not count, it did not have.
        counts = dict.fromkeys(BOOKS, 0) | counts
        return Fingerprint(int(row[0]), row[1], counts, generations)

    def save(self, session: Session, fingerprint: Fingerprint) -> None:
        """Leave ``fingerprint`` for the next start; the caller commits."""
        facts = msgspec.json.encode((fingerprint.counts, fingerprint.generations))
        row = (fingerprint.revision, fingerprint.batch, facts.decode())
        session.execute(self._save, self._save_values(row))
