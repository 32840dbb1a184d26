"""Facts leave the services: a database of the release before is brought up to date."""

from __future__ import annotations

import pytest

from gantt import errors
from gantt.engine.factory import open_gantt
from gantt.model import rows
from gantt.model.changes import Cursor
from gantt.model.hosts import Service
from gantt.placement import amount_source
from gantt.store import open_store, schema
from gantt.store.adoption.adopt import adopt, release
from gantt.store.database import database_at
from gantt.store.sql_store import SqlStore
from gantt.store.tables import FORMAT
from tests.databases import execute, migrate
from tests.kinds import SERVER_KINDS
from tests.store import books

BEFORE = "0012_answered"
NOW = "'2026-01-02 03:04:05'"
CELL = books.uuid_of(1)
# id, host, binary, disabled, forced down, last seen up, reason
TOLD = (
    (1, "h1", "nova-compute", False, False, 5, None),
    (2, CELL, "nova-cell", True, True, 6, None),
    (3, "h1", "gantt-agent", False, True, 7, None),
    (4, "h1", "gantt-operator", True, False, None, "memory is replaced"),
    (5, "gantt-liveness", "gantt-liveness", False, True, 8, None),
    (6, "", "gantt-scheduler", False, False, None, None),
    (7, "h1", "gantt-scheduler", False, False, 9, None),
)
FACTS = [
    (2, "cell", CELL, True, True, 6, None),
    (3, "agent", "h1", False, True, 7, None),
    (4, "operator", "h1", True, False, None, "memory is replaced"),
    (5, "liveness", "gantt-liveness", False, True, 8, None),
    (6, "switch", "", False, False, None, None),
]


def insert(*told: tuple[object, ...]) -> str:
    """SQL for services as the release before kept them."""

    def text(value: object) -> str:
        if value is None:
            return "NULL"
        return f"'{value}'" if isinstance(value, str) else str(value).lower()

    values = ", ".join(f"({', '.join(map(text, one))}, {NOW})" for one in told)
    return (
        "INSERT INTO gantt_services (id, host, `binary`, disabled, forced_down, "
        f"last_seen_up, disabled_reason, created_at) VALUES {values}"
    )


def previous(url: str, *more: str) -> None:
    """The tables of the release before, with what it kept: made so, or where there
    are some of this release, made of these."""
    migrate(url, BEFORE)
    with database_at(url) as database:
        quote = database.engine.dialect.identifier_preparer.quote
    statement = insert(*TOLD).replace("`binary`", quote("binary"))
    log = "INSERT INTO gantt_log VALUES (1, 'b1', 5, 'UpdateService', '', {})"
    empty = "decode('90', 'hex')" if url.startswith("postgresql") else "x'90'"
    older = "UPDATE gantt_head SET format = 1, epoch = 1"
    execute(url, older, statement, log.format(empty), *more)


def kept(store: SqlStore) -> list[tuple[object, ...]]:
    return [
        (one.id, one.kind, one.subject, one.disabled, one.away, one.at, one.reason)
        for one in books.contents(store)[rows.FACTS]
        if isinstance(one, rows.FactRow) and one.created_at == 1_767_323_045_000_000
    ]


def test_facts_of_the_release_before_are_moved_and_its_processes_stop(
    url: str,
) -> None:
    previous(url)
    for use in (open_store, schema.check):
        with pytest.raises(errors.Refused, match=rf"{BEFORE}, .*needs .*db sync"):
            use(url)
    assert execute(url, "SELECT format FROM gantt_head") == [(1,)]
    assert schema.sync(url) == schema.HEAD == schema.sync(url)
    # What a process of the release before reads with its next lock, and refuses.
    assert execute(url, "SELECT format, epoch FROM gantt_head") == [(FORMAT, 3)]
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert kept(store) == FACTS
    services = books.contents(store)[rows.SERVICES]
    assert [one.id for one in services if isinstance(one, rows.ServiceRow)] == [1, 7]
    # No cursor of the log before goes on in the new one; the format rose once more.
    assert store.cursor().revision == 5
    assert store.tail(Cursor(1, "b1")) is None
    with pytest.raises(errors.Gone, match=r"begun at revision 5 \(Upgrade\)"):
        store.history(Cursor(1, "b1"))
    store.close()


def test_services_are_listed_as_before(url: str) -> None:
    previous(url)
    schema.sync(url)
    with open_gantt(url) as engine:
        assert sorted(engine.list_services(), key=lambda one: one.binary) == [
            Service("h1", "gantt-agent", False, True, 7, *(None,) * 4),
            Service("gantt-liveness", "gantt-liveness", False, True, 8, *(None,) * 4),
            Service("h1", "gantt-operator", True, False, *(None,) * 4, TOLD[3][6]),
            Service("", "gantt-scheduler", False, False, *(None,) * 5),
            Service("h1", "gantt-scheduler", False, False, 9, *(None,) * 4),
            Service(CELL, "nova-cell", True, True, 6, *(None,) * 4),
            Service("h1", "nova-compute", False, False, 5, *(None,) * 4),
        ]
        assert engine.read(amount_source.stage) == "books"
        engine.update_service(Service("h2", "gantt-operator", disabled=True))
        engine.update_service(Service("h2", "nova-conductor"))
        made = engine.read(
            lambda state: [*state.fleet.facts.by_id, *state.fleet.services.by_id]
        )
        assert sorted(made) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_books_that_were_handed_back_are_taken_over_with_their_facts(url: str) -> None:
    previous(url, "UPDATE gantt_head SET format = 0")
    adopt(url)
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert kept(store) == FACTS
    store.close()
    assert release(url).counts["gantt_facts"] == 5


# Elsewhere all of a migration that breaks off is undone.
@pytest.mark.parametrize(
    "kind", [kind for kind in SERVER_KINDS if "maria" in str(kind)], indirect=True
)
def test_what_broke_off_is_repeated(url: str) -> None:
    schema.sync(url)
    execute(url, "UPDATE gantt_head SET format = 1")
    execute(url, f"UPDATE gantt_alembic_version SET version_num = '{BEFORE}'")
    execute(url, insert(*TOLD))
    schema.sync(url)
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert kept(store) == FACTS
    store.close()
