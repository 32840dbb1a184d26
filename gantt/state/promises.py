"""What is left of a host's cells and devices beside its pending claims.

Apart from the columns because claims are replayed in the order of their ids: what one
leaves is what the next is fitted to. A change replays only the claims from its place
on, and of one host alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from gantt.model.topology import Fit, FitLack, HostTopology
from gantt.topology.promised_topology import (
    CLOSED,
    PromisedTopology,
    Remaining,
    after,
    fitted,
    from_text,
    less,
)

UNREPORTED: Final = HostTopology()
_MOST_TEXTS: Final = 256


class Promises:
    """What one host promised: its ``report``, and what pending claims leave of it."""

    def __init__(self, report: HostTopology = UNREPORTED) -> None:
        self._reported = Remaining(report)
        # By ascending id of the claim: what it was promised, and what is left then.
        self._ids: list[int] = []
        self._pendings: list[PromisedTopology] = []
        self._lefts: list[Remaining] = []
        # The last question, as the same is asked again when it is claimed.
        self._asked: tuple[Remaining, PromisedTopology, Fit | FitLack] | None = None

    @property
    def report(self) -> HostTopology:
        """What the host reported."""
        return self._reported.host

    @property
    def left(self) -> Remaining:
        """What is left; another object whenever it may differ."""
        return self._before(len(self._ids))

    @property
    def is_free(self) -> bool:
        """Whether no claim is pending on it."""
        return not self._ids

    def pendings(self) -> Iterator[tuple[int, PromisedTopology]]:
        """(id of the claim, what it was promised), in the order of the ids."""
        return zip(self._ids, self._pendings, strict=True)

    def copy(self) -> Promises:
        """A copy, to be changed by itself."""
        found = Promises()
        found._reported, found._asked = self._reported, self._asked
        found._ids, found._pendings = self._ids.copy(), self._pendings.copy()
        found._lefts = self._lefts.copy()
        return found

    def take_report(self, report: HostTopology) -> None:
        """Fit all claims onto a new report."""
        self._reported = Remaining(report)
        self._replay(0)

    def put(self, claim_id: int, pending: PromisedTopology) -> None:
        """The claim, which is not pending here yet, is from now on."""
        place = bisect_left(self._ids, claim_id)
        self._ids.insert(place, claim_id)
        self._pendings.insert(place, pending)
        self._replay(place)

    def remove(self, claim_id: int) -> PromisedTopology:
        """The claim is not pending any more; what it was promised."""
        place = bisect_left(self._ids, claim_id)
        assert self._ids[place] == claim_id, "only what was put is removed"
        del self._ids[place]
        found = self._pendings.pop(place)
        self._replay(place)
        return found

    def fit(
        self, pending: PromisedTopology, claim_id: int | None = None
    ) -> Fit | FitLack:
        """What the instance of a new claim takes, or what lacks. ``claim_id``: that of
        the claim where it is known; claims with higher ids must fit beside it too."""
        place = len(self._ids)
        if claim_id is not None:
            place = bisect_left(self._ids, claim_id)
        found = self._fitted(self._before(place), pending)
        if place == len(self._ids) or isinstance(found, FitLack):
            return found
        left = after(self._before(place), pending, found)
        for later in self._pendings[place:]:
            left = less(left, later)
        return CLOSED if left.is_closed_to(pending.wanted) else found

    def _before(self, place: int) -> Remaining:
        return self._lefts[place - 1] if place else self._reported

    def _fitted(self, left: Remaining, pending: PromisedTopology) -> Fit | FitLack:
        asked = self._asked
        if asked is None or asked[0] is not left or asked[1] != pending:
            asked = self._asked = left, pending, fitted(left, pending)
        return asked[2]

    def _replay(self, place: int) -> None:
        del self._lefts[place:]
        for number in range(place, len(self._ids)):
            left = self._before(number)
            pending = self._pendings[number]
            self._lefts.append(after(left, pending, self._fitted(left, pending)))


class Pendings:
    """Reads the texts of claims: those of alike instances are equal."""

    def __init__(self) -> None:
        self._known: dict[str, PromisedTopology] = {}

    def read(self, text: str) -> PromisedTopology:
        """The value of a text: the same one for the same text, of the last few."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _MOST_TEXTS:
                self._known.clear()
            found = self._known[text] = from_text(text)
        return found
