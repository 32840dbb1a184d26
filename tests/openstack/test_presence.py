"""The row in ``services`` and the mapping of hosts, in databases that Nova's own
migrations made."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gantt.conf import FeedOptions, RpcOptions
from gantt.errors import GanttError
from gantt.openstack.presence import VERSION, Presence
from tests.openstack.feed.nova_databases import (
    CELL0,
    ApiDatabase,
    CellDatabase,
    NovaDatabase,
    now,
)
from tests.openstack.feed.test_cells import UNUSABLE
from tests.waiting import until

NOW = now()


class Nova:
    """An API database, cell0 and one cell, which is also that of ``[database]``."""

    def __init__(self, api: str, cell: str) -> None:
        self.api, self.cell = ApiDatabase(api), CellDatabase(cell)
        self.api.map_cell("cell0", "sqlite:////nowhere", uuid=CELL0)
        self.number, self.uuid = self.api.map_cell("cell1", cell)

    def presence(self, host: str, user: str = "writer", **options: Any) -> Presence:
        return Presence(
            RpcOptions(host=host, write_user=user, write_password="pw", **options),
            FeedOptions(api_url=self.api.url, database_url=self.cell.url),
            lambda: NOW,
        )

    def close(self) -> None:
        self.api.close()
        self.cell.close()


def rows(database: NovaDatabase, statement: str) -> list[tuple[Any, ...]]:
    with database.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(statement))]


SERVICES = (
    "SELECT host, topic, report_count, version, disabled, forced_down, last_seen_up "
    "FROM services WHERE binary = 'nova-scheduler' AND deleted = 0"
)


@pytest.fixture
def nova(tmp_path: Path, schema: Path) -> Iterator[Nova]:
    for name in ("api", "cell"):
        shutil.copy(schema / f"{name}.db", tmp_path)
    found = Nova(f"sqlite:///{tmp_path}/api.db", f"sqlite:///{tmp_path}/cell.db")
    yield found
    found.close()


def test_the_row_is_added_once_and_heartbeats(nova: Nova) -> None:
    nova.cell.service("c1", version=70)
    for _ in range(2):  # the second time as after a restart
        row = nova.presence("one").row
        row.begin(NOW)
        row.beat(NOW)
    ((host, topic, count, version, disabled, down, seen),) = rows(nova.cell, SERVICES)
    assert (host, topic, count, version) == ("one", "scheduler", 2, 70)
    assert not disabled and not down
    assert str(NOW) in str(seen)


def test_a_row_that_was_deleted_comes_back(nova: Nova) -> None:
    row = nova.presence("one").row
    row.begin(NOW)
    nova.cell.soft_delete("services", 1)
    row.beat(NOW)
    row.beat(NOW)
    assert [one[:4] for one in rows(nova.cell, SERVICES)] == [
        ("one", "scheduler", 1, VERSION)
    ]


def test_the_first_by_name_that_is_up_has_the_turn(nova: Nova) -> None:
    first, second = nova.presence("a").row, nova.presence("b").row
    assert not first.is_first(NOW)  # before any heartbeat
    for row in (first, second):
        row.begin(NOW)
        row.beat(NOW)
    assert first.is_first(NOW) and not second.is_first(NOW)
    later = NOW + timedelta(seconds=100)
    second.beat(later)
    assert second.is_first(later) and not first.is_first(later)


def test_new_hosts_are_mapped_to_their_cell(nova: Nova) -> None:
    nova.cell.host("old", mapped=1)
    nova.cell.host("new", mapped=0)
    nova.cell.host("known", mapped=0)
    nova.api.add("host_mappings", host="known", cell_id=nova.number)
    presence = nova.presence("one", discover_hosts_in_cells_interval=0)
    for _ in range(2):
        presence.discovery.map_hosts(NOW)
    mapped = rows(nova.api, "SELECT host, cell_id FROM host_mappings ORDER BY host")
    assert mapped == [("known", nova.number), ("new", nova.number)]
    assert rows(nova.cell, "SELECT COUNT(*) FROM compute_nodes WHERE mapped < 1") == [
        (0,)
    ]
    assert presence.discovery.mapped == 1


def test_a_search_that_reaches_its_limit_is_counted_and_goes_on(
    nova: Nova, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.openstack.discovery.MOST", 2)
    for name in ("a", "b", "c"):
        nova.cell.host(name, mapped=0)
    presence = nova.presence("one", discover_hosts_in_cells_interval=0)
    for mapped in (2, 3):
        presence.discovery.map_hosts(NOW)
        assert presence.counts()["presence_hosts_mapped"] == mapped
        assert presence.counts()["presence_turns_cut"] == 1


def test_a_cell_that_cannot_be_read_does_not_keep_the_others(
    nova: Nova, caplog: pytest.LogCaptureFixture
) -> None:
    nova.api.map_cell("gone", "sqlite:////nowhere/cell.db")
    nova.cell.host("new", mapped=0)
    presence = nova.presence("one", discover_hosts_in_cells_interval=1)
    presence.start()
    try:
        until(lambda: presence.counts()["presence_hosts_mapped"] == 1)
        until(lambda: presence.counts()["presence_failures"] > 1)
    finally:
        presence.stop()
    assert caplog.text.count("cell gone") == 1
    assert len(rows(nova.cell, SERVICES)) == 1


def test_an_unexpected_failure_does_not_end_the_heartbeat(
    nova: Nova, caplog: pytest.LogCaptureFixture
) -> None:
    presence = nova.presence("one", report_interval=0.05)
    beat, failures = presence.row.beat, 3

    def fail_then_beat(now: datetime) -> None:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise RuntimeError("unexpected")
        beat(now)

    presence.row.beat = fail_then_beat  # type: ignore[method-assign]
    presence.start()
    try:
        until(lambda: presence.counts()["presence_beats"] > 0)
    finally:
        presence.stop()
    assert presence.counts()["presence_failures"] == 3
    assert caplog.text.count("heartbeat: this is a mistake of Gantt") == 1
    assert "RuntimeError: unexpected" in caplog.text


@pytest.mark.parametrize("url", UNUSABLE)
def test_a_url_that_cannot_be_used_does_not_keep_the_others(
    nova: Nova, url: str, tmp_path: Path
) -> None:
    nova.api.map_cell("odd", url)
    later = CellDatabase(
        f"sqlite:///{shutil.copy(tmp_path / 'cell.db', tmp_path / 'l.db')}"
    )
    nova.api.map_cell("later", later.url)
    later.host("new", mapped=0)
    presence = nova.presence("one")
    with pytest.raises(GanttError, match="cell odd"):
        presence.discovery.map_hosts(NOW)
    assert presence.discovery.mapped == 1
    later.close()


# -- with exactly the documented rights ------------------------------------------------

GRANTS = Path("docs/how-to/replace-nova-scheduler.md")


def documented_grants() -> list[str]:
    """The statements of the how-to for the user that writes."""
    text = GRANTS.read_text()
    block = next(
        block for block in text.split("```sql\n")[1:] if "'gantt_writer'" in block
    )
    return [one.strip() for one in block.partition("```")[0].split(";") if one.strip()]


@contextmanager
def _on_mariadb(databases: Any) -> Iterator[Nova]:
    with ExitStack() as stack:
        urls = [
            stack.enter_context(databases.database("mariadb", is_furnished=False))
            for _ in range(2)
        ]
        _make_tables(*urls)
        nova = Nova(*urls)
        stack.callback(nova.close)
        yield nova


@pytest.mark.server("mariadb")
def test_the_documented_rights_are_enough_and_none_can_be_left_out(
    databases: Any,
) -> None:
    server = databases.server("mariadb")
    with _on_mariadb(databases) as nova, ExitStack() as stack:
        urls = nova.api.url, nova.cell.url
        names = [str(sa.make_url(url).database) for url in urls]
        create, *grants = (
            one.replace("`nova_api`", f"`{names[0]}`")
            .replace("`nova_cell1`", f"`{names[1]}`")
            .replace("'secret'", "'pw'")
            .replace("%", "%%")
            for one in documented_grants()
        )
        user = "'gantt_writer'@'%%'"
        server.execute(create)
        stack.callback(server.execute, f"DROP USER {user}")
        for missing in (None, *grants):
            for one in grants:
                server.execute(one)
            if missing is not None:
                server.execute(
                    missing.replace("GRANT", "REVOKE").replace(" TO ", " FROM ")
                )
            said = _everything(nova)
            assert (said == "") == (missing is None), missing
            if missing is not None:
                assert missing.partition(" TO ")[0] in said


@pytest.mark.server("mariadb")
def test_heartbeats_and_searches_go_on_when_the_database_answers_again(
    databases: Any,
) -> None:
    server = databases.server("mariadb")
    with _on_mariadb(databases) as nova:
        feed = FeedOptions(
            api_url=nova.api.url, database_url=nova.cell.url, feed_timeout=1.0
        )
        given = {"report_interval": 0.1, "discover_hosts_in_cells_interval": 1}
        user = sa.make_url(nova.cell.url).username or ""
        password = sa.make_url(nova.cell.url).password or ""
        writer = {"write_user": user, "write_password": str(password)}
        options = RpcOptions(host="one", **writer, **given)  # type: ignore[arg-type]
        presence = Presence(options, feed)
        presence.start()
        try:
            until(lambda: presence.counts()["presence_beats"] > 0)
            server.stand_still()
            try:
                until(lambda: presence.counts()["presence_failures"] > 1)
            finally:
                server.go_on()
            before = presence.counts()["presence_beats"]
            nova.cell.host("new", mapped=0)
            until(lambda: presence.counts()["presence_beats"] > before)
            until(lambda: presence.counts()["presence_hosts_mapped"] == 1)
        finally:
            presence.stop()


def _make_tables(api: str, cell: str) -> None:
    """Those that are written, as Nova's models have them: migrations take longer."""
    from nova.db.api import models as api_models
    from nova.db.main import models as cell_models

    for url, models, names in (
        (api, api_models, ("cell_mappings", "host_mappings")),
        (cell, cell_models, ("services", "compute_nodes")),
    ):
        metadata = models.BASE.metadata
        engine = sa.create_engine(url)
        metadata.create_all(engine, tables=[metadata.tables[one] for one in names])
        engine.dispose()


def _everything(nova: Nova) -> str:
    """All that is ever written, as the writer; what it could not do."""
    number = nova.cell.host(f"host{nova.cell.count('compute_nodes')}", mapped=0)
    nova.cell.soft_delete("services", nova.cell.count("services"))
    presence = nova.presence("one", user="gantt_writer")
    try:
        presence.row.begin(NOW)
        presence.row.beat(NOW)
        assert presence.row.is_first(NOW)
        presence.discovery.map_hosts(NOW)
    except Exception as error:
        return str(error)
    finally:
        presence.discovery.close()
        nova.cell.change("compute_nodes", number, mapped=1)
    return ""
