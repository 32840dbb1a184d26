"""A database of OpenStack Placement is taken over, served, and handed back.

Placement itself makes and fills it, and writes to it again afterwards.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

import gantt
from gantt import errors
from gantt.connection import open_gantt
from gantt.store import head, schema
from gantt.store.adoption.adopt import OURS, PLACEMENTS, RELEASED, adopt, release
from gantt.store.adoption.old_rows import Legacy, Owner
from gantt.store.tables import FORMAT, UPSTREAM_HEAD
from tests.databases import Databases
from tests.foreign import placement_on
from tests.kinds import KINDS
from tests.store.adoption import (
    claim,
    consumer,
    do,
    fill,
    gantt_on,
    generation,
    must_agree,
    provider,
    run,
    write,
)


@pytest.fixture
def old(filled: Path, tmp_path: Path) -> str:
    """The URL of a copy."""
    return f"sqlite:///{shutil.copy(filled, tmp_path / 'books.db')}"


# -- there and back, on every database ------------------------------------------------


@pytest.fixture(params=KINDS)
def empty(
    request: pytest.FixtureRequest, tmp_path: Path, databases: Databases
) -> Iterator[str]:
    """A database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'books.db'}"
    else:
        with databases.database(request.param, is_furnished=False) as url:
            yield url


@pytest.mark.slow
def test_adopt_release_and_adopt_again(empty: str, tmp_path: Path) -> None:
    with placement_on(empty) as placement:
        fill(placement)
        taken = adopt(empty)
        assert (taken.was, taken.mended) == (PLACEMENTS, Legacy())
        assert taken.counts["resource_providers"] == 5
        with gantt_on(empty, tmp_path) as ours:
            must_agree(ours, placement)
            write(ours, 5)
            # Placement keeps nothing in memory that these writes would belie.
            must_agree(ours, placement)
        assert release(empty).was == OURS
        must_stay_away(empty)
        write(placement, 6)
        assert run(empty, "SELECT version_num FROM alembic_version") == [
            (UPSTREAM_HEAD,)
        ]
    # It starts on it, too, and finds its tables at its own revision.
    with placement_on(empty) as placement:
        again = adopt(empty)
        assert again.was == RELEASED
        assert again.revision is not None
        assert taken.revision is not None
        assert again.revision > taken.revision
        with gantt_on(empty, tmp_path) as ours:
            must_agree(ours, placement)
            write(ours, 7)
            must_agree(ours, placement)
    with closing(gantt.connect(empty)) as books:
        assert books.verify().problems == ()


def must_stay_away(url: str) -> None:
    for use in (schema.check, schema.sync, gantt.connect):
        with pytest.raises(errors.Refused, match=r"handed back .*gantt-manage .*adopt"):
            use(url)


def test_a_running_engine_logs_a_release_once(
    old: str, caplog: pytest.LogCaptureFixture
) -> None:
    adopt(old)
    with closing(open_gantt(old)) as books:
        place = books.events().cursor
        release(old)
        for _ in range(3):
            assert books.unready()
            with pytest.raises(errors.StoreFailed, match="was handed back"):
                books.list_providers()
        told = [record.message for record in caplog.records]
        assert sum("was handed back" in one for one in told) > 1
        assert len(set(told)) == len(told)
        adopt(old)
        assert not books.unready()
        with pytest.raises(
            errors.Gone, match=r"A new log was begun at revision \d+ \(Adopt\)"
        ):
            books.events(place)
    assert "is back after" in caplog.text


# -- what is refused ------------------------------------------------------------------


def test_opening_a_placement_database_names_adopt(old: str) -> None:
    for use in (schema.check, schema.sync, gantt.connect):
        with pytest.raises(errors.Refused, match="gantt-manage .*adopt"):
            use(old)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE alembic_version SET version_num = '422ece571366'",
            rf"says 422ece571366, .* {UPSTREAM_HEAD} .*placement-manage db sync",
        ),
        (
            "UPDATE alembic_version SET version_num = 'feedfacefeed'",
            rf"says feedfacefeed, .* {UPSTREAM_HEAD} .*newer. Use a Gantt",
        ),
        ("DELETE FROM alembic_version", rf"says None, .*db stamp {UPSTREAM_HEAD}"),
        ("DROP TABLE allocations", "has no table allocations: restore"),
        (
            "UPDATE inventories SET resource_class_id = 77 WHERE id = 1",
            r"1 of inventories.resource_class_id\): correct",
        ),
    ],
)
def test_unknown_schema_revisions_are_refused(
    old: str, statement: str, said: str
) -> None:
    run(old, statement)
    for is_dry in (True, False):
        with pytest.raises(errors.Refused, match=said):
            adopt(old, is_dry=is_dry)
    assert run(old, "SELECT name FROM sqlite_master WHERE name LIKE 'gantt%'") == []


def test_databases_without_books_are_refused(tmp_path: Path, old: str) -> None:
    path = tmp_path / "none.db"
    with pytest.raises(errors.Refused, match="no database at"):
        adopt(f"sqlite:///{path}")
    assert not path.exists()
    path.touch()
    with pytest.raises(errors.Refused, match="no tables of OpenStack Placement"):
        adopt(f"sqlite:///{path}")
    with pytest.raises(errors.Refused, match="not Gantt's"):
        release(old)
    with pytest.raises(errors.Refused, match="memory:// has no tables"):
        adopt("memory://")


def test_a_database_released_by_a_newer_gantt_is_refused(old: str) -> None:
    adopt(old)
    release(old)
    run(old, "UPDATE gantt_alembic_version SET version_num = '0099_later'")
    with pytest.raises(errors.Refused, match=r"0099_later, .*newer Gantt"):
        adopt(old)


# -- once, twice, not at all ----------------------------------------------------------


def test_a_dry_run_reports_and_changes_nothing(old: str) -> None:
    run(old, "UPDATE resource_providers SET generation = NULL WHERE id = 1")
    before = _dump(old)
    told = adopt(old, is_dry=True)
    assert (told.was, told.revision) == (PLACEMENTS, None)
    assert told.mended == Legacy(no_generation=1)
    assert _dump(old) == before
    adopt(old)
    before = _dump(old)
    assert release(old, is_dry=True).was == OURS
    assert _dump(old) == before


def _dump(url: str) -> list[str]:
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        return list(connection.iterdump())


def test_adopt_and_release_are_idempotent(old: str) -> None:
    adopt(old)
    once = _dump(old)
    assert adopt(old).was == OURS
    assert _dump(old) == once
    release(old)
    once = _dump(old)
    assert release(old).was == RELEASED
    assert _dump(old) == once


def test_an_interrupted_adoption_is_resumed(old: str) -> None:
    """MariaDB keeps each CREATE TABLE, whatever comes after it."""
    run(
        old,
        "CREATE TABLE gantt_alembic_version (version_num VARCHAR(32) NOT NULL)",
        "INSERT INTO gantt_alembic_version VALUES ('0001_books')",
    )
    assert adopt(old).was == PLACEMENTS
    schema.check(old)


def test_dropping_tables_leaves_those_of_placement(old: str, filled: Path) -> None:
    before = _tables(f"sqlite:///{filled}")
    adopt(old)
    assert "gantt_head" in release(old, drop=True).dropped
    assert _tables(old) == before
    assert adopt(old).was == PLACEMENTS


def _tables(url: str) -> list[tuple[object, ...]]:
    return run(url, "SELECT name, sql FROM sqlite_master ORDER BY name")


# -- rows of old releases -------------------------------------------------------------

LEGACY = (
    "UPDATE resource_providers SET generation = NULL, root_provider_id = NULL",
    "UPDATE consumers SET consumer_type_id = NULL",
    f"DELETE FROM consumers WHERE uuid IN ('{consumer(0)}', '{consumer(1)}')",
    "UPDATE allocations SET created_at = NULL, updated_at = NULL",
)


@pytest.mark.slow
def test_incomplete_rows_are_repaired(old: str, tmp_path: Path) -> None:
    run(old, *LEGACY)
    assert adopt(old, owner=Owner("nobody's", "none")).mended == Legacy(5, 5, 2)
    with gantt_on(old, tmp_path) as ours:
        tree = do(ours, "GET", f"/resource_providers?in_tree={provider(2)}")
        roots = {each["root_provider_uuid"] for each in tree["resource_providers"]}
        assert (len(tree["resource_providers"]), roots) == (3, {provider(0)})
        found = do(ours, "GET", f"/allocations/{consumer(1)}")
        assert found["project_id"] == "nobody's"
        assert found["consumer_generation"] == 0
        typed = do(ours, "GET", f"/allocations/{consumer(2)}")
        assert typed["consumer_type"] == "unknown"
        assert generation(ours, provider(0)) == 0
        do(ours, "DELETE", f"/allocations/{consumer(1)}")
        with placement_on(old) as placement:
            must_agree(ours, placement)


def test_a_cycle_of_parents_is_refused(old: str) -> None:
    run(
        old,
        "UPDATE resource_providers SET root_provider_id = NULL",
        "UPDATE resource_providers SET parent_provider_id = 4 WHERE id = 4",
    )
    with pytest.raises(errors.Refused, match="1 providers .* form a cycle"):
        adopt(old)
    assert run(old, "SELECT name FROM sqlite_master WHERE name LIKE 'gantt%'") == []


# -- processes that run on ------------------------------------------------------------


@pytest.mark.slow
def test_a_running_engine_stops_after_a_release(
    old: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    adopt(old)
    with gantt_on(old, tmp_path) as ours, placement_on(old) as placement:
        must_agree(ours, placement)
        release(old)
        for answer in (
            ours("GET", "/resource_providers"),
            ours("PUT", "/traits/CUSTOM_LATE", version=39),
            claim(ours, 50, {provider(3): {"VCPU": 1}}),
        ):
            assert answer.status == 503, answer.text
            assert "cannot be reached or used now" in answer.text
            assert "gantt-manage" not in answer.text  # that is for operators
        told = [each for each in caplog.records if each.levelname == "CRITICAL"]
        assert len(told) == 1
        write(placement, 5)
        # Nothing of it came through in between; then it is Gantt's again.
        adopt(old)
        must_agree(ours, placement)
        write(ours, 6)
        must_agree(ours, placement)


def test_a_running_engine_stops_after_an_upgrade(
    old: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    adopt(old)
    with gantt_on(old, tmp_path) as ours:
        engine = create_engine(old)
        with engine.begin() as newer:
            head.begin_history(newer, head.UPGRADE, becomes=FORMAT + 1)
        engine.dispose()
        answer = ours("PUT", "/traits/CUSTOM_LATE", version=39)
        assert answer.status == 503
        assert "cannot be reached or used now" in answer.text
        said = f"in format {FORMAT + 1} now, this release reads and writes format"
        assert f"{said} {FORMAT}" in caplog.text
