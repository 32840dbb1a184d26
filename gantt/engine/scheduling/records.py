"""The latest decisions of this process in a ring buffer, and a log line for each.

They are stored even during an outage of the database; ``sharing`` finds those of other
processes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest

from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.observer import NoObserver, Observer, StageTime
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.recording.kept_request import kept_request
from gantt.engine.scheduling.background_writer import Noted, Ring
from gantt.engine.scheduling.decision_record import Recorded, Repaired, TakenOver
from gantt.engine.scheduling.shared_records import DecisionTable, SharedRecords, page_of
from gantt.engine.threads import LeaderTask, Threads
from gantt.model.log_context import request_context
from gantt.model.names import canonical
from gantt.model.paging import PAGE, followed, read
from gantt.model.printable import counted
from gantt.model.selection import (
    Asked,
    Capacity,
    Decision,
    DecisionPage,
    DecisionPlace,
    KeptRequest,
    Why,
)
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import ADVISING

LOG = logging.getLogger(__name__)


class Records:
    """The last ``limit`` decisions of this process, as ``Ring`` counts them, with
    requests of up to ``request_bytes``; thread safe. ``sharing``: those of other
    processes; None: there is no table."""

    def __init__(self, limit: int, request_bytes: int = 0) -> None:
        self._limit = max(1, limit)
        self._request_bytes = request_bytes
        self._ring: Ring[Recorded] = Ring(self._limit)
        self._number = 0
        self._lock = threading.Lock()
        self.decided = 0
        self.refused = 0
        self.failed = 0
        self.cut = 0
        self.too_long = 0
        self.observer: Observer = NoObserver()
        self.sharing: SharedRecords | None = None
        # Records of advice, which take no place of these; found beside them.
        self.advice: Records | None = None
        # The names of instances, of those that are known; of a project: its own.
        self.names: Callable[[list[str], str | None], Mapping[str, str]]
        self.names = lambda _uuids, _project: {}

    def __len__(self) -> int:
        return len(self._ring)

    def counts(self) -> dict[str, float]:
        """What was decided so far, and how many decisions are kept."""
        return {
            "decisions": self.decided,
            "no_valid_host": self.refused,
            "plugin_failures": self.failed,
            "changes_cut": self.cut,
            "requests_unkept": self.too_long,
            "decisions_kept": len(self._ring),
            "decisions_limit": self._limit,
            **({} if self.advice is None else {"advice_kept": len(self.advice)}),
            **({} if self.sharing is None else self.sharing.counts()),
        }

    def add(
        self,
        record: Decision,
        board: Scoreboard | None = None,
        *,
        is_decided: bool = True,
        stages: Sequence[StageTime] = (),
        user_id: str | None = None,
    ) -> None:
        """Keep ``record`` and log it; ``board``: its scores, formatted on request;
        ``user_id``: who asked, for the log alone.

        Dry runs are kept and logged, but neither counted nor measured, except for a
        search for a change that was cut. A request that failed in a plug-in
        (``is_decided`` False) is stored and counted separately; its caller logs it."""
        if not is_decided:
            self.failed += 1
        elif not record.is_dry_run:
            if record.failure is None:
                self.decided += 1
            else:
                self.refused += 1
            self.observer.decided(record, stages)
        self.note_change(record.why)
        # A dry run may name no instance and choose hosts all the same.
        instances = max(len(record.instance_uuids), len(record.chosen))
        self._note(record, board, instances)
        if is_decided and LOG.isEnabledFor(logging.INFO):
            line, context = _line(record, instances), _context(record, user_id)
            LOG.info("%s", line, extra={"context": context})

    def kept(
        self, request: ScheduleRequest, filters_off: tuple[str, ...] = ()
    ) -> KeptRequest | None:
        """What a record keeps of ``request``; None: it is too long."""
        found = kept_request(request, self._request_bytes, filters_off)
        self.too_long += found is None and self._request_bytes > 0
        return found

    def add_act(self, act: Repaired | TakenOver) -> None:
        """Keep the record of a repair, or of a takeover of a host, and log it; it is
        counted where it was done."""
        self._note(act, None, 1)
        name = act.request_id or "-"
        if isinstance(act, Repaired):
            undone = act.undone
            LOG.warning(
                "%s: repaired %s of %s on host %s: %s",
                name,
                undone.kind,
                undone.instance_uuid or undone.resource_class,
                undone.host or "-",
                undone.repair,
            )
            return
        done = act.done
        LOG.warning(
            "%s: host %s, node %s took over what host %s, node %s had: provider %s, "
            "%s with allocations",
            name,
            done.new_host,
            done.new_node,
            done.host,
            done.node,
            done.provider_uuid or "-",
            counted(len(done.allocations), "instance"),
        )

    def note_change(self, found: Why | Capacity | None) -> None:
        """Count a search for a change that ended at its limit."""
        self.cut += found is not None and found.is_truncated

    def _note(
        self, record: Recorded, board: Scoreboard | None, instances: int
    ) -> Noted[Recorded]:
        is_refused = isinstance(record, Decision) and record.failure is not None
        with self._lock:
            self._number += 1
            noted = Noted(self._number, record, board, instances, is_refused)
            self._ring.add(noted)
        if self.sharing is not None and self.sharing.is_on:
            self.sharing.note(noted)
        return noted

    def observe(self, observer: Observer) -> None:
        """Report each decision to ``observer`` from now on."""
        self.observer = observer

    def share(
        self,
        table: DecisionTable | None,
        process: str,
        options: SchedulerOptions,
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        """From now on through ``table``, if there is one; see ``SharedRecords``."""
        if table is not None:
            self.sharing = SharedRecords(
                table, process, options, clock, threads, is_away
            )

    def leader_tasks(self) -> Iterator[LeaderTask]:
        """What the leader does for all processes."""
        for name, one in (("trim", self), ("trim_advice", self.advice)):
            if one is not None and one.sharing is not None:
                yield one.sharing.leader_task(name)

    def close(self) -> None:
        """Write records that other processes cannot find yet."""
        if self.advice is not None:
            self.advice.close()
        if self.sharing is not None:
            self.sharing.close()

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        project_id: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        asked = Asked(request_id, instance_uuid, project_id)

        def page(after: str, most: int) -> tuple[tuple[Decision, ...], str]:
            found = self.decision_page(replace(asked, limit=most), after)
            return found.decisions, found.next

        return followed(page, limit)

    def decision_page(self, asked: Asked, after: str = "") -> DecisionPage:
        """Those of this process, or of all if they are shared, the latest first: at
        most PAGE of them. ``after``: the ``next`` of the page before. Raises
        Invalid."""
        place: DecisionPlace | None = read(after, DecisionPlace) if after else None
        uuid = asked.instance_uuid
        asked = replace(
            asked,
            instance_uuid=None if uuid is None else canonical(uuid),
            limit=max(0, min(asked.limit, PAGE)),
            after=place,
        )
        if self.sharing is None or not self.sharing.is_on:
            return self._named(page_of(self._own(asked), asked), asked.project_id)
        return self._named(self.sharing.page(asked, self._own), asked.project_id)

    def _named(self, page: DecisionPage, project: str | None) -> DecisionPage:
        """Also with the names of its instances, as they are now: where it is of one
        project, of those of that alone, as a request may name others."""
        uuids = [uuid for one in page.decisions for uuid in one.instance_uuids]
        known = self.names(uuids, project)
        if not known:
            return page
        shown = (
            replace(one, names={u: known[u] for u in one.instance_uuids if u in known})
            for one in page.decisions
        )
        return replace(page, decisions=tuple(shown))

    def _own(
        self, asked: Asked, process: str = ""
    ) -> dict[DecisionPlace, Noted[Recorded]]:
        """Those of this process: the latest that precede a place, and one more than is
        asked for."""
        with self._lock:
            kept = self._ring.in_order()
        found = {
            (one.record.at, one.number, process): one
            for one in kept
            if asked.means(one.record)
        }
        if self.advice is not None:
            found.update(self.advice._own(asked, process + ADVISING))
        places = found if asked.after is None else [p for p in found if p < asked.after]
        return {one: found[one] for one in nlargest(asked.limit + 1, places)}


def _line(record: Decision, instances: int) -> str:
    """The request, what it asked for, its outcome, from how many hosts, and at which
    revision."""
    dry = "dry run, " if record.is_dry_run else ""
    asked = f"{record.request_id or '-'}: {dry}{counted(instances, 'instance')}"
    if record.instance_uuids:
        named = ", ".join(record.instance_uuids[:3])
        asked += f" ({named}{_more(len(record.instance_uuids) - 3)})"
    if record.project_id is not None:
        asked += f" of project {record.project_id}"
    of = counted(record.hosts, "host")
    if record.failure is not None:
        said, last = [f"{asked}, {of}: {record.failure}"], record.emptied_by
        if last is not None:
            said.append(f"{last.name} left none of {counted(last.before, 'host')}.")
        reasons = () if record.why is None else record.why.lines
        return " ".join((*said, *map(str.strip, reasons)))
    hosts = ", ".join(one[0].service_host for one in record.chosen[:3])
    took = sum(record.timings.values()) * 1000
    return (
        f"{asked} on {hosts}{_more(len(record.chosen) - 3)} of {of}, "
        f"{counted(record.attempts, 'attempt')}, revision {record.revision}, "
        f"{took:.1f} ms"
    )


def _context(record: Decision, user_id: str | None) -> dict[str, str | None]:
    """What its line has as fields."""
    named = record.request_id, user_id, record.project_id, record.instance_uuids
    is_refused = record.failure is not None
    return {
        **request_context(*named),
        "reason": record.reason if is_refused else None,
        "change": record.why.change if is_refused and record.why else None,
    }


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""
