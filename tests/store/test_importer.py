"""Copies of books between databases, also across dialects."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import gantt
from gantt import errors
from gantt.client import SchedulerClient
from gantt.model.commands import Inventory
from gantt.store import open_store, schema
from gantt.store.adoption.adopt import adopt
from gantt.store.adoption.importer import import_books
from gantt.store.adoption.old_rows import Legacy
from tests.databases import Databases, execute
from tests.foreign import placement_on
from tests.kinds import SERVER_KINDS
from tests.store import books
from tests.store.adoption import consumer, gantt_on, must_agree, run, write

# Of the books before.
RECORDS = (
    "INSERT INTO gantt_usage_history VALUES (300, 0, 'VCPU', 1, 4.0, 1.0, 1.0, 1.0)",
    "INSERT INTO gantt_zone_usage VALUES (300, 0, 'z', 'VCPU', 1, 4.0, 1.0, 1.0, 1.0)",
    "INSERT INTO gantt_decisions (process, number, at, request_id, is_refused,"
    " instances, instance_uuids, record) VALUES ('p', 1, 1, 'r', 0, 1, '', '')",
    "INSERT INTO gantt_shadow (at, request_id, verdict, record)"
    " VALUES (1, 'r', 'same', '')",
)
STATS = {"vcpus": 4, "vcpus_used": 1, "memory_mb": 1024, "memory_mb_used": 0}


@pytest.fixture
def old(filled: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(filled, tmp_path / 'old.db')}"


@pytest.fixture
def new(tmp_path: Path) -> str:
    """A file that is not there yet."""
    return f"sqlite:///{tmp_path / 'new.db'}"


@pytest.fixture(params=SERVER_KINDS)
def server(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """An empty database of a server."""
    with databases.database(request.param, is_furnished=False) as url:
        yield url


def test_a_copy_to_a_server_and_back_is_equal(
    old: str, new: str, server: str, tmp_path: Path
) -> None:
    import_books(old, server)
    with placement_on(old) as placement, gantt_on(server, tmp_path) as ours:
        must_agree(ours, placement)
        # Sequences return unused ids.
        write(ours, 5)
        import_books(server, new)
        with gantt_on(new, tmp_path) as again:
            must_agree(again, ours)
    for url in (server, new):
        with closing(gantt.connect(url)) as found:
            assert found.verify().problems == ()


def test_a_copy_is_reported_and_compared(old: str, new: str) -> None:
    seen: list[tuple[str, int, int]] = []
    done = import_books(old, new, progress=lambda *each: seen.append(each))
    assert done.counts["resource_providers"] == 5
    assert done.counts.keys() == done.compared.keys()
    assert all(one.agrees_with(other) for one, other in done.compared.values())
    assert ("resource_providers", 5, 5) in seen
    assert done.compared["inventories"][1].columns["total"] > 500
    schema.check(new)
    # It is no adoption: the source belongs to whom it belonged to.
    with pytest.raises(errors.Refused, match="gantt-manage .*adopt"):
        schema.check(old)


def test_a_dry_run_creates_nothing(old: str, new: str, tmp_path: Path) -> None:
    told = import_books(old, new, is_dry=True)
    assert (told.counts["resource_providers"], told.revision) == (5, None)
    assert not (tmp_path / "new.db").exists()


def test_a_target_is_only_replaced_on_request(old: str, new: str) -> None:
    with closing(gantt.connect(new, create=True)) as found:
        found.create_provider("in the way")
        execute(new, *RECORDS)
        for is_dry in (True, False):
            with pytest.raises(errors.Refused, match=r"1 resource_prov.* --replace"):
                import_books(old, new, is_dry=is_dry)
        assert import_books(old, new, replace=True).replaced["resource_providers"] == 1
        for table in ("usage_history", "zone_usage", "decisions", "shadow"):
            assert execute(new, f"SELECT count(*) FROM gantt_{table}") == [(0,)]
        # A process that still runs finds other books and loads them.
        found.create_provider("after")
        names = {each.name for each in found.list_providers()}
        assert {"host-0", "after"} <= names
        assert "in the way" not in names


def test_standard_names_do_not_make_a_target_full(old: str, new: str) -> None:
    gantt.connect(new, create=True).close()
    import_books(old, new)


def test_the_fleet_is_copied_from_a_gantt_database(new: str, tmp_path: Path) -> None:
    source = f"sqlite:///{tmp_path / 'gantt.db'}"
    with closing(gantt.connect(source, create=True)) as found:
        uuid = found.create_provider("host").uuid
        found.set_inventories(uuid, {"VCPU": Inventory(total=4)})
        SchedulerClient(found).update_resource_stats(None, ("host", "node"), STATS)
    import_books(source, new)
    stores = [open_store(url) for url in (source, new)]
    assert books.contents(stores[0]) == books.contents(stores[1])
    for each in stores:
        each.close()


def test_incomplete_rows_are_repaired_in_the_copy(old: str, new: str) -> None:
    run(
        old,
        "UPDATE resource_providers SET generation = NULL, root_provider_id = NULL",
        f"DELETE FROM consumers WHERE uuid = '{consumer(0)}'",
    )
    assert import_books(old, new).mended == Legacy(5, 5, 1)
    assert run(old, "SELECT count(root_provider_id) FROM resource_providers") == [(0,)]
    with closing(gantt.connect(new)) as found:
        assert found.verify().problems == ()


def test_children_may_precede_their_parents(old: str, new: str) -> None:
    run(
        old,
        "UPDATE resource_providers SET parent_provider_id = 5, root_provider_id = 5 "
        "WHERE id = 4",
    )
    import_books(old, new)
    with closing(gantt.connect(new)) as found:
        assert found.verify().problems == ()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE alembic_version SET version_num = '422ece571366'",
            "says 422ece571366",
        ),
        ("UPDATE consumers SET user_id = 99 WHERE id = 1", "1 of consumers.user_id"),
        (
            "UPDATE resource_providers SET root_provider_id = NULL, "
            "parent_provider_id = id WHERE id = 4",
            "form a cycle",
        ),
    ],
)
def test_a_failed_copy_leaves_the_target_unchanged(
    old: str, new: str, statement: str, said: str
) -> None:
    run(old, statement)
    with pytest.raises(errors.Refused, match=said):
        import_books(old, new)
    if Path(new.removeprefix("sqlite:///")).exists():
        assert run(new, "SELECT count(*) FROM traits") == [(0,)]


def test_invalid_sources_and_targets_are_refused(
    old: str, new: str, tmp_path: Path
) -> None:
    with pytest.raises(errors.Refused, match="to itself"):
        import_books(old, old)
    with pytest.raises(errors.Refused, match="no database at"):
        import_books(new, old)
    placements = f"sqlite:///{shutil.copy(tmp_path / 'old.db', tmp_path / 'p.db')}"
    with pytest.raises(errors.Refused, match="gantt-manage .*adopt"):
        import_books(old, placements, replace=True)
    adopt(placements)
    import_books(old, placements, replace=True)


@pytest.mark.server("mariadb")
def test_names_that_the_target_considers_equal_are_refused(
    old: str, databases: Databases
) -> None:
    run(old, "INSERT INTO traits (name) VALUES ('CUSTOM_gold')")
    with databases.database("mariadb") as url:
        with pytest.raises(errors.Refused, match=r"CUSTOM_.*capitals"):
            import_books(old, url)
        assert run(url, "SELECT count(*) FROM traits") == [(0,)]
