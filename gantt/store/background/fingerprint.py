"""Sums over the tables, by which a start detects writes of other programs.

Apart from the columns that they are compared with: aggregate SQL cannot share a bug
with them.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import bindparam, func, literal_column, select, update

from gantt.store.database import Database
from gantt.store.interface import Fingerprint
from gantt.store.session import Session
from gantt.store.tables import BOOKS, gantt_fingerprint, gantt_log


class Fingerprints:
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
        self._save = database.compile(
            update(gantt_fingerprint).values({n: bindparam("to_" + n) for n in names})
        )

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
        """The fingerprint of the last clean stop, if any."""
        row = session.one(self._read.text)
        if row is None or not row[2]:
            return None
        counts, generations = msgspec.json.decode(
            row[2], type=tuple[dict[str, int], dict[str, int]]
        )
        # Tables that an older release did not count were empty.
        counts = dict.fromkeys(BOOKS, 0) | counts
        return Fingerprint(int(row[0]), row[1], counts, generations)

    def save(self, session: Session, fingerprint: Fingerprint) -> None:
        """Save ``fingerprint`` for the next start; the caller commits."""
        facts = msgspec.json.encode((fingerprint.counts, fingerprint.generations))
        values = self._save.values(
            to_revision=fingerprint.revision,
            to_batch=fingerprint.batch,
            to_facts=facts.decode(),
        )
        session.execute(self._save.text, values)
