"""Facts of the fleet by what they are of: cells, agents and their group, operators'
words on hosts, and the switch to the books.

Apart from the services, which Nova has: nothing of Nova's is asked or counted here.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.model.bounds import MAX_WHOLE
from gantt.model.facts import BINARIES, STARTS, FactKind, labels_in, size_in
from gantt.model.rows import FactRow
from gantt.state.fleet_tables import FleetTable
from gantt.state.waiting_demands import DemandQueue


class Facts(FleetTable[FactRow]):
    """Facts by kind and subject, and by the host and binary as which they are told.
    ``labels``: of hosts, as operators gave them; ``starts``: how many each may start
    at once, 0: any number; ``relations``: of server groups, by uuid, as text;
    ``queue``: demands that wait; ``artifacts``: those that are registered, with their
    sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.by_subject: dict[tuple[str, str], FactRow] = {}
        self.by_place: dict[tuple[str, str], FactRow] = {}
        self.disabled_cells: frozenset[str] = frozenset()
        self.labels: dict[str, dict[str, str]] = {}
        self.starts: dict[str, int] = {}
        self.relations: dict[str, str] = {}
        self.queue = DemandQueue()
        self.artifacts: dict[str, int] = {}
        # Moves when a label comes, goes or changes.
        self.moves = 0

    def of(self, kind: FactKind, subject: str = "") -> FactRow | None:
        """What is known; None: nothing."""
        return self.by_subject.get((kind, subject))

    def of_kind(self, kind: FactKind) -> Iterator[FactRow]:
        """All of them, by ascending id."""
        return (row for row in self.rows() if row.kind == kind)

    def put(self, row: FactRow) -> None:
        self.by_id[row.id] = self.by_subject[row.kind, row.subject] = row
        self.by_place[row.subject, BINARIES[row.kind]] = row
        if row.kind == "cell":
            off = {row.subject} if row.disabled else set()
            self.disabled_cells = self.disabled_cells - {row.subject} | off
        elif row.kind == "labels":
            labels = self.labels[row.subject] = labels_in(row)
            self.starts.pop(row.subject, None)
            if labels.get(STARTS, "").isdecimal():
                # Told as a service, it may have more digits than an array holds.
                self.starts[row.subject] = min(int(labels[STARTS]), MAX_WHOLE)
            self.moves += 1
        elif row.kind == "relations":
            self.relations[row.subject] = row.reason or ""
        elif row.kind == "demand":
            self.queue.put(row)
        elif row.kind == "artifact":
            self.artifacts[row.subject] = size_in(row)

    def remove(self, key: int) -> FactRow:
        row = self.by_id.pop(key)
        del self.by_subject[row.kind, row.subject]
        del self.by_place[row.subject, BINARIES[row.kind]]
        if row.kind == "cell":
            self.disabled_cells -= {row.subject}
        elif row.kind == "labels":
            del self.labels[row.subject]
            self.starts.pop(row.subject, None)
            self.moves += 1
        elif row.kind == "relations":
            del self.relations[row.subject]
        elif row.kind == "demand":
            self.queue.remove(row.subject)
        elif row.kind == "artifact":
            del self.artifacts[row.subject]
        return row
