"""What can become of a batch other than being durable, between store and engine.

They stand apart from ``gantt.errors`` because no client ever hears of them: the
committer settles each one by itself (plan again, replay one by one, look for the batch,
reload).
"""

from __future__ import annotations

from gantt.errors import StoreFailed


class Outcome(Exception):
    """Why a batch is not known to be durable."""


class DefiniteAbort(Outcome):
    """Nothing of the batch was kept; the same batch may succeed when tried again."""


class DataError(Outcome):
    """Nothing was kept: this database cannot hold a value of the batch."""


class UnknownOutcome(Outcome):
    """COMMIT failed without an answer: ask ``Store.has_batch`` whether it was kept; it
    may be that nobody can tell.

    ``failure``: what to tell the callers if it was not, and trying again is no use.
    """

    def __init__(self, text: str, failure: StoreFailed | None = None) -> None:
        super().__init__(text)
        self.failure = failure


class ForeignWrite(Outcome):
    """Nothing was kept: the tables are not as the log says; reload and alarm."""
