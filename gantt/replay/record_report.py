"""What became of recorded decisions when they were made again, as one frozen value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from gantt.replay.redecision_results import Played, Redecided
from gantt.replay.run import Decided

_MOST_EXAMPLES = 10


class Differing(Struct, frozen=True):
    """A decision that is not as recorded. ``left_out``: what of its request the record
    does not have."""

    process: str
    number: int
    revision: int
    request_id: str
    differs_in: tuple[str, ...]
    recorded: tuple[str, ...]
    again: tuple[str, ...]
    recorded_failure: str | None
    failure: str | None
    left_out: tuple[str, ...]


class RecordReport(Struct, frozen=True, kw_only=True):
    """Counts are of decisions; ``placed``, ``refused``: as made again. ``differing``:
    by what is not the same. ``unrepeated``: that could not be made again, and
    ``dropped``: that the service left out, by the reason. ``early``, ``missing``: files
    that end early, or are not there. ``claims``: instances placed by the service;
    ``lost``: decisions of it that concurrent claims made void."""

    processes: int
    files: int
    decisions: int
    again: int
    same: int
    differing: dict[str, int]
    placed: int
    refused: int
    first_revision: int
    last_revision: int
    changes: int
    claims: int
    lost: int
    unrepeated: dict[str, int]
    dropped: dict[str, int]
    early: list[str]
    missing: list[str]
    examples: list[Differing]

    @property
    def is_same(self) -> bool:
        """Whether decisions were made again, and all of them are as recorded."""
        return 0 < self.same == self.again


class RecordTally:
    """Counts decisions as they pass."""

    def __init__(self, processes: int, played: Played) -> None:
        self._processes, self._played = processes, played
        self._again = self._same = self._placed = 0
        self._differing: Counter[str] = Counter()
        self._examples: list[Differing] = []
        self._revisions: list[int] = []

    def decided(self, found: Iterable[Redecided]) -> Iterator[Decided]:
        """Each as a replay's decision, in order."""
        for one in found:
            self._add(one)
            yield Decided(
                self._again - 1,
                one.now,
                one.request.names,
                one.hosts,
                one.again.failure or "",
            )

    def _add(self, one: Redecided) -> None:
        self._again += 1
        self._placed += one.again.failure is None
        first = self._revisions[0] if self._revisions else one.revision
        self._revisions = [first, max(one.revision, *self._revisions[1:], first)]
        differs_in = one.differs_in
        self._same += not differs_in
        self._differing.update(differs_in)
        if differs_in and len(self._examples) < _MOST_EXAMPLES:
            self._examples.append(_differing(one, differs_in))

    def report(self) -> RecordReport:
        """When all have passed."""
        played = self._played
        first, last = self._revisions or (0, 0)
        return RecordReport(
            processes=self._processes,
            files=played.files,
            decisions=played.decisions,
            again=self._again,
            same=self._same,
            differing=dict(self._differing.most_common()),
            placed=self._placed,
            refused=self._again - self._placed,
            first_revision=first,
            last_revision=last,
            changes=played.changes,
            claims=played.claims,
            lost=played.lost,
            unrepeated=dict(played.unrepeated.most_common()),
            dropped=dict(played.dropped.most_common()),
            early=played.early,
            missing=played.missing,
            examples=self._examples,
        )


def _differing(one: Redecided, differs_in: tuple[str, ...]) -> Differing:
    return Differing(
        one.process,
        one.number,
        one.revision,
        one.request.request_id,
        differs_in,
        one.recorded_hosts,
        one.hosts,
        one.recorded.failure,
        one.again.failure,
        one.left_out,
    )
