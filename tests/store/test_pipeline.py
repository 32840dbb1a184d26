"""Statements sent to PostgreSQL in one piece: their results and failures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.adapt import Transformer

from gantt.store.database.psycopg_connection import Pipeline
from tests.databases import Databases, Postgres

ON_A_SERVER = pytest.mark.server("postgresql")
READ = "SELECT %s::bigint + 1, %s::text, '%%'"
FAIL = "SELECT 1 / %s::bigint"
INSERT = "INSERT INTO traits (id, name) SELECT * FROM unnest(%s::int[], %s::text[])"


@pytest.fixture
def connection(databases: Databases) -> Iterator[psycopg.Connection]:
    server = databases.server(Postgres.name)
    url = server.new()
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        yield connection
    server.drop(url)


@pytest.fixture
def pipeline(connection: psycopg.Connection) -> Pipeline:
    return Pipeline(connection)


def prepared(connection: psycopg.Connection) -> int:
    """How many statements the server keeps for the connection."""
    found = connection.execute(
        "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'gantt%'"
    ).fetchone()
    assert found is not None
    return int(found[0])


@ON_A_SERVER
def test_each_statement_has_its_own_result(
    connection: psycopg.Connection, pipeline: Pipeline
) -> None:
    for number in range(2):
        with pipeline:
            asked, made, again = (pipeline.cursor() for _ in range(3))
            asked.execute(READ, (41 + number, "a"))
            made.execute(INSERT, ("{900,901}", '{"CUSTOM_A","CUSTOM_B"}'))
            again.execute(READ, (None, None))
        assert asked.fetchall() == [(42 + number, "a", "%")]
        assert again.fetchall() == [(None, None, "%")]
        assert (made.rowcount, made.description) == (2, None)
        # It is one transaction, which ends as any does.
        connection.rollback()
    assert prepared(connection) == 2  # each text once


@ON_A_SERVER
def test_statements_after_a_failed_one_are_not_carried_out(
    connection: psycopg.Connection, pipeline: Pipeline
) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero), pipeline:
        pipeline.cursor().execute(INSERT, ("{900}", '{"CUSTOM_A"}'))
        pipeline.cursor().execute(FAIL, (0,))
        pipeline.cursor().execute(READ, (1, "a"))
    connection.rollback()
    assert prepared(connection) == 2  # but what was prepared before it is
    with pipeline:
        asked = pipeline.cursor()
        asked.execute(READ, (1, "a"))
        count = pipeline.cursor()
        count.execute("SELECT count(*) FROM traits WHERE id = %s", (900,))
    assert asked.fetchall() == [(2, "a", "%")]
    assert count.fetchall() == [(0,)]


@ON_A_SERVER
def test_a_deallocated_statement_is_prepared_again(
    connection: psycopg.Connection, pipeline: Pipeline
) -> None:
    def ask() -> list[tuple[object, ...]]:
        with pipeline:
            asked = pipeline.cursor()
            asked.execute(READ, (1, "a"))
        connection.rollback()
        return asked.fetchall()

    ask()
    connection.execute("DEALLOCATE ALL")
    connection.rollback()
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        ask()
    connection.rollback()
    assert ask() == [(2, "a", "%")]


@ON_A_SERVER
def test_nothing_is_prepared_without_a_threshold(
    connection: psycopg.Connection, pipeline: Pipeline
) -> None:
    connection.prepare_threshold = None
    with pipeline:
        asked = pipeline.cursor()
        asked.execute(READ, (1, "a"))
    assert asked.fetchall() == [(2, "a", "%")]
    assert prepared(connection) == 0


@ON_A_SERVER
def test_a_disconnect_is_an_operational_error(
    databases: Databases, connection: psycopg.Connection, pipeline: Pipeline
) -> None:
    number = connection.info.backend_pid
    server = databases.server(Postgres.name)
    server.execute(f"SELECT pg_terminate_backend({number}, 5000)")
    with pytest.raises(psycopg.OperationalError) as found, pipeline:
        pipeline.cursor().execute(READ, (1, "a"))
    assert found.value.sqlstate in (None, "57P01")
    assert connection.closed


@ON_A_SERVER
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_invalid_text_is_not_sent(pipeline: Pipeline, text: str) -> None:
    with pytest.raises(UnicodeError), pipeline:
        pipeline.cursor().execute(INSERT, ("{900}", f'{{"{text}"}}'))
    with pipeline:
        asked = pipeline.cursor()
        asked.execute(READ, (1, "a"))
    assert asked.fetchall() == [(2, "a", "%")]


LIBPQ = """
    consume_input enter_pipeline_mode exit_pipeline_mode flush get_error_message
    get_result is_busy pipeline_sync send_prepare send_query_params
    send_query_prepared socket transaction_status
"""


def test_psycopg_has_the_inner_functions_in_use() -> None:
    """Release notes do not announce changes to these: see docs/adr/0006."""
    for name in LIBPQ.split():
        assert hasattr(psycopg.pq.PGconn, name), name
    assert list(inspect.signature(psycopg.Connection.wait).parameters)[:2] == [
        "self",
        "gen",
    ]
    assert {"set_pgresult", "load_rows"} <= set(dir(Transformer))
    assert {"PIPELINE_SYNC", "FATAL_ERROR", "COMMAND_OK"} <= set(
        psycopg.pq.ExecStatus.__members__
    )
    assert callable(psycopg.errors.error_from_result)
