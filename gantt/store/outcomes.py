"""How a batch can fail to become durable, between store and engine.

Apart from ``gantt.errors`` because no client ever sees them: the committer settles each
(plan again, replay one by one, look for the batch, reload).
"""

from __future__ import annotations

from gantt.errors import StoreFailed


class CommitOutcome(Exception):
    """Why a batch is not known to be durable."""


class DefiniteAbort(CommitOutcome):
    """Nothing of the batch was stored; the same batch may succeed when retried."""


class DataError(CommitOutcome):
    """Nothing was stored: this database cannot hold a value of the batch."""


class UnknownOutcome(CommitOutcome):
    """COMMIT failed without an answer: ``Store.has_batch`` says whether it was stored,
    if that can still be determined.

    ``failure``: the error for callers if it was not and a retry is useless.
    """

    def __init__(self, text: str, failure: StoreFailed | None = None) -> None:
        super().__init__(text)
        self.failure = failure


class ForeignWrite(CommitOutcome):
    """Nothing was stored: the tables are not as the log says; reload and alarm."""
