"""``audit`` and ``repair`` of the library: what disagrees, and undoing it on request.

A repair is a command like any other; its record stands among those of decisions and
says what it undid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from gantt.engine.kept_answer import KeptAnswer
from gantt.engine.scheduling.decision_record import Repaired
from gantt.engine.scheduling.records import Records
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.engine.threads import Threads
from gantt.errors import Invalid
from gantt.model import commands as c
from gantt.model.audit import (
    GRACE_S,
    KINDS,
    LONGEST_GRACE_S,
    MOST_FINDINGS,
    Audit,
    AuditTerms,
    Finding,
    FindingPlace,
    Kind,
)
from gantt.model.paging import read
from gantt.placement.audit_queries import audit
from gantt.placement.fleet_queries import claim_project
from gantt.state.state import State

_US: Final = 1_000_000
_FRESH_TIMES: Final = 2.0
"""A list that is found unchanged is stored once in ``report_age_s``: it is fresh for so
many of these."""
DRIVER: Final = "audit"
"""Stands for the driver in the record of a repair."""


class Auditing(StateMethods):
    """Asks the columns, and repairs through the committer."""

    def __init__(self, state: StateAccess, records: Records, threads: Threads) -> None:
        super().__init__(state)
        self._kept = KeptAnswer[Audit](self._clock, threads)
        self._records = records
        self._audits = 0
        self._repairs = 0

    def audit(
        self,
        *,
        grace_s: float = GRACE_S,
        limit: int = 1000,
        kinds: Iterable[Kind] = (),
        host: str = "",
        after: str = "",
        max_age_s: float = 0.0,
    ) -> Audit:
        """See EngineProtocol."""
        place: FindingPlace | None = read(after, FindingPlace) if after else None
        terms = self._terms(grace_s, limit)
        terms = replace(terms, kinds=_kinds(kinds), host=host, after=place)
        if max_age_s > 0:
            return self._kept.get(
                terms, int(max_age_s * _US), lambda now: self._found(now, terms)
            )
        return self._found(self._clock.now(), terms)

    def _found(self, now: int, terms: AuditTerms) -> Audit:
        found = self._reader.survey(lambda state, rest: audit(state, now, terms, rest))
        self._audits += 1
        return found

    def repair(
        self,
        finding: Finding,
        *,
        grace_s: float = GRACE_S,
        kinds: Iterable[Kind] = (),
    ) -> Finding:
        """See GanttProtocol."""
        if not isinstance(finding, Finding):
            raise Invalid(
                f"A repair is of a Finding of the audit; got {type(finding).__name__}."
            )
        terms = replace(self._terms(grace_s, MOST_FINDINGS), kinds=_kinds(kinds))
        project = self._reader.read(_project, finding.instance_uuid)
        undone = self._committer.submit(c.Repair(finding, terms))
        self._repairs += 1
        uuid = undone.instance_uuid
        self._records.add_act(
            Repaired(
                self._committer.request_id,
                () if uuid is None else (uuid,),
                project,
                self._reader.revision,
                self._clock.now(),
                DRIVER,
                undone,
            )
        )
        return undone

    def counts(self) -> dict[str, float]:
        """How often it was asked and repaired; for metrics."""
        return {"audits": self._audits, "audit_repairs": self._repairs}

    def _terms(self, grace_s: float, limit: int) -> AuditTerms:
        """Raises Invalid."""
        if not 0 <= grace_s <= LONGEST_GRACE_S:
            raise Invalid(
                f"grace_s must be from 0 to {LONGEST_GRACE_S:g} seconds; got {grace_s}."
            )
        if not 1 <= limit <= MOST_FINDINGS:
            raise Invalid(f"limit must be from 1 to {MOST_FINDINGS}; got {limit}.")
        fresh_s = _FRESH_TIMES * self._checks.options.report_age_s
        return AuditTerms(int(fresh_s * _US), int(grace_s * _US), limit)


def _kinds(named: Iterable[Kind]) -> tuple[Kind, ...]:
    """Raises Invalid."""
    kinds = tuple(dict.fromkeys(named))
    unknown = [one for one in kinds if one not in KINDS]
    if unknown:
        raise Invalid(f"kinds must be of {', '.join(KINDS)}; got {unknown[0]!r}.")
    return kinds


def _project(state: State, instance_uuid: str | None) -> str | None:
    """Whose the instance is; None: not known."""
    if instance_uuid is None:
        return None
    consumer = state.consumers.find(instance_uuid)
    if consumer is not None:
        return state.projects.name_of_id(consumer.project_id)
    row = state.fleet.claims.by_instance.get(instance_uuid)
    return None if row is None else claim_project(state, row)
