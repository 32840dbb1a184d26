"""What is pending and what is kept has limits; the database may be away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions, ShadowOptions
from gantt.errors import StoreFailed
from gantt.model.hosts import Service
from gantt.model.shadow import ShadowQuery
from gantt.store import Store, open_store
from gantt.store.interface import (
    SHADOWS,
    RecordPage,
    ShadowRow,
    SideKind,
    SideTable,
    StoreOptions,
    Trimmed,
)
from tests.engine.shadow.observed import (
    QUICK,
    claim,
    new,
    observe,
    opened,
    settled,
)
from tests.engine.test_scheduling import report
from tests.waiting import until


def test_requests_beyond_the_limit_are_dropped_the_oldest_first() -> None:
    with opened("memory://", ShadowOptions(shadow_pending=2)) as engine:
        report(engine, "big")
        first, *others = uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(engine, uuid)
        for uuid in uuids:
            claim(engine, uuid, "big")
            observe(engine, uuid, "end")
        assert [settled(engine, uuid).verdict for uuid in others] == ["same", "same"]
        assert engine.shadow_records(instance_uuid=first) == ()
        assert engine.counts()["shadow_abandoned"] == 1


def test_names_of_hosts_are_limited_too() -> None:
    with opened("memory://", ShadowOptions(shadow_pending_hosts=3)) as engine:
        report(engine, "a")
        report(engine, "b")
        for _ in range(3):
            observe(engine, new())
        counts = engine.counts()
        assert (counts["shadow_pending"], counts["shadow_abandoned"]) == (1, 2)


def test_record_keeps_so_many_hosts() -> None:
    options = ShadowOptions(shadow_settle_s=0.2, shadow_hosts=1, shadow_scored=2)
    with opened("memory://", options) as engine:
        for number in range(4):
            report(engine, f"h{number}", memory_mb=8192 + number)
        for host in ("h0", "h1"):
            engine.update_service(Service(host, "nova-compute", disabled=True))
        uuid = new()
        observe(engine, uuid)
        claim(engine, uuid, "h2")
        found = settled(engine, uuid)
        assert [one.host for one in found.ranked] == ["h3"]
        assert len(found.refused_hosts) == 1
        assert (found.verdict, found.rank) == ("ranked", 2)


def test_any_process_answers_and_old_records_are_trimmed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    options = ShadowOptions(shadow_settle_s=0.2, shadow_records=2)
    with opened(url, options) as one, opened(url, options) as two:
        report(one, "big")
        uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(one, uuid)
            claim(two, uuid, "big")  # another process is the cloud's Placement
            observe(one, uuid, "end")
            assert settled(two, uuid).verdict == "same"
        assert two.shadow_report().verdicts == one.shadow_report().verdicts
        dropped = sum(dict(trims(engine)).get("trim_shadow", 0) for engine in (one,))
        assert dropped == 1
        assert len(two.shadow_records()) == 2
    with opened(url, options) as again:
        assert [r.verdict for r in again.shadow_records()] == ["same", "same"]


def trims(engine: Gantt) -> list[tuple[str, int]]:
    """What the leader's tasks of the shadow do."""
    return [(one.name, one.run()) for one in engine._shadow.leader_tasks()]


def test_records_wait_while_the_database_is_away(tmp_path: Path) -> None:
    inner = open_store(f"sqlite:///{tmp_path}/gantt.db", StoreOptions(create=True))
    table = Failing(inner.beside(SHADOWS))
    store = Shared(inner, table)
    options = EngineOptions(shadow=replace(QUICK, shadow_backlog=2))
    with Gantt(store, options, standard_names=standard_names()) as engine:
        report(engine, "big")
        table.is_away = True
        uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(engine, uuid)
            claim(engine, uuid, "big")
            observe(engine, uuid, "end")
        until(lambda: engine.counts()["shadow_same"] == 3)
        until(lambda: engine.counts()["shadow_dropped"] == 1)
        assert len(engine.shadow_records()) == 2  # its own are found all the same
        table.is_away = False
        until(lambda: engine.counts()["shadow_waiting"] == 0)
        assert {one.instance_uuid for one in engine.shadow_records()} == set(uuids[1:])


class Failing:
    """The table of a database that is away as a test says."""

    def __init__(self, inner: SideTable[ShadowRow, ShadowQuery, int] | None) -> None:
        assert inner is not None
        self._inner = inner
        self.is_away = False

    def append(self, rows: Sequence[ShadowRow]) -> int:
        self._check()
        return self._inner.append(rows)

    def page(self, asked: ShadowQuery) -> RecordPage[ShadowRow]:
        self._check()
        return self._inner.page(asked)

    def trim(self, drop: int) -> Trimmed:
        self._check()
        return self._inner.trim(drop)

    def _check(self) -> None:
        if self.is_away:
            raise StoreFailed("away")


class Shared:
    """A store with another table of records."""

    def __init__(self, inner: Store, shadows: Failing) -> None:
        self._inner, self._shadows = inner, shadows

    def beside(self, kind: SideKind[Any, Any, Any]) -> Any:
        return self._shadows if kind == SHADOWS else self._inner.beside(kind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
