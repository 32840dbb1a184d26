"""What the publisher needs of the books and of a topic.

Apart so that what is published can be tested without a broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gantt.model.watching import Events, Snapshot


class Fenced(Exception):
    """Another process has begun to publish these books."""


class ChangeLog(Protocol):
    """The engine, as far as its log is published."""

    @property
    def leads(self) -> bool:
        """Whether this process does what one process of a fleet does for all."""

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""

    def identity(self) -> str:
        """A uuid of the books that no others have. Raises StoreFailed."""

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """A page of events after ``since``. Raises Gone, StoreFailed."""

    def snapshot(self) -> Snapshot:
        """All rows at one revision. Raises StoreFailed."""


class ChangeTopic(Protocol):
    """A topic with transactions, used by one thread. All methods raise Unavailable,
    Fenced, and Refused where the topic must be set otherwise; what was published is not
    known then, and ``open`` tells."""

    def open(self, identity: str) -> bytes | None:
        """Be the only one that publishes the books ``identity``, and end what others
        have begun; the last message that readers of committed messages see. None: none
        was ever there; b"": it is no longer kept."""

    def publish(self, messages: Sequence[bytes]) -> None:
        """All of them in one transaction, after those before."""

    def close(self) -> None:
        """Give up the connections; raises nothing."""
