"""``adopt_host`` of the library: a known host came back under another name or uuid.

Separate from ``Fleet``, whose methods say what hosts report: this is what an operator
knows. It is shown first, and its record stands among those of decisions.
"""

from __future__ import annotations

from typing import Final

from gantt.engine.scheduling.decision_record import TakenOver
from gantt.engine.scheduling.records import Records
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.model import commands as c
from gantt.model.forms import scalars
from gantt.model.takeover import Takeover
from gantt.placement.rules import plan
from gantt.state.state import State

DRIVER: Final = "adopt"
"""Stands for the driver in the record of a takeover."""


class Takeovers(StateMethods):
    """Asks the columns what would move, and moves it through the committer."""

    def __init__(self, state: StateAccess, records: Records) -> None:
        super().__init__(state)
        self._records = records
        self._done = 0

    def adopt_host(
        self,
        host: str,
        new_host: str = "",
        *,
        node: str = "",
        new_node: str = "",
        uuid: str | None = None,
        dry_run: bool = False,
    ) -> Takeover:
        """See GanttProtocol."""
        command = c.AdoptHost(
            scalars.name("host", host),
            scalars.name("node", node) if node else "",
            scalars.name("new_host", new_host) if new_host else "",
            scalars.name("new_node", new_node) if new_node else "",
            None if uuid is None else scalars.uuid("uuid", uuid),
            int(self._checks.options.service_down_time * 1_000_000),
            self._checks.writes_books,
        )
        if dry_run:
            return self._reader.read(_preview, command, self._clock.now())
        done = self._committer.submit(command)
        self._done += 1
        self._note(done)
        return done

    def counts(self) -> dict[str, float]:
        """How often it was done; for metrics."""
        return {"hosts_adopted": self._done}

    def _note(self, done: Takeover) -> None:
        uuids = sorted({*done.allocations, *done.claims, *done.instances})
        self._records.add_act(
            TakenOver(
                self._committer.request_id,
                tuple(uuids),
                self._reader.revision,
                self._clock.now(),
                DRIVER,
                done,
            )
        )


def _preview(state: State, command: c.AdoptHost, now: int) -> Takeover:
    found = plan(state, command, now).answer
    assert isinstance(found, Takeover), "the rule answers what moves"
    return found
