"""``gantt-manage adopt``, ``release``, ``import placement``, as operators run them."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from gantt.cli.main import gantt
from gantt.cli.manage import manage
from gantt.cli.output import bars, waiting
from gantt.connection import open_gantt
from gantt.model.rows import ROW_TYPES
from gantt.store import head, schema
from tests.cli.conftest import Program
from tests.foreign import placement_on
from tests.guides.guide import shown
from tests.store.adoption import consumer, fill, run


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "placement.db"
    with placement_on(f"sqlite:///{path}") as placement:
        fill(placement)
    return path


@pytest.fixture
def url(filled: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(filled, tmp_path / 'books.db')}"


@pytest.fixture
def program() -> Program:
    return Program(manage, "")


def test_adopt_verify_release(program: Program, url: str) -> None:
    said = program.do("adopt", "--database", url, "--dry-run")
    assert "5 resource_providers" in said
    assert "can be adopted; nothing was changed" in said
    said = program.fail("--database", url, "db", "sync")
    assert f"`gantt-manage --database {url} adopt`" in said
    said = program.do("adopt", "--database", url)
    assert "Adopted; its log begins at revision 2" in said
    assert "already" in program.do("adopt", "--database", url)
    assert "No problems" in program.do("--database", url, "verify")
    said = program.do("release", "--database", url, "--dry-run")
    assert "can be handed back; nothing was changed" in said
    assert "Handed back" in program.do("release", "--database", url)
    assert "already been handed back" in program.do("release", "--database", url)
    assert "was handed back" in program.fail("--database", url, "verify")
    # The database may be named for the program as well, as for its other commands.
    said = program.do("--database", url, "adopt")
    assert "Adopted; its log begins at revision 6" in said


def test_adopt_reports_filled_in_data(program: Program, url: str) -> None:
    run(
        url,
        "UPDATE resource_providers SET generation = NULL WHERE id = 1",
        f"DELETE FROM consumers WHERE uuid = '{consumer(0)}'",
    )
    told = "1 generations and 0 roots of providers, 1 records of consumers"
    assert f"Would fill in data missing from old releases: {told}" in program.do(
        "adopt", "--database", url, "--dry-run"
    )
    assert f"Filled in data missing from old releases: {told}" in program.do(
        "adopt", "--database", url
    )


def test_adopt_creates_records_for_the_configured_owner(
    program: Program, url: str, tmp_path: Path
) -> None:
    run(url, f"DELETE FROM consumers WHERE uuid = '{consumer(0)}'")
    file = tmp_path / "placement.conf"
    file.write_text(
        f"[placement]\nincomplete_consumer_project_id = lost\n"
        f"[placement_database]\nconnection = {url}\n"
    )
    program.do("--config-file", str(file), "adopt")
    with open_gantt(url) as books:
        found = books.get_allocations(consumer(0))
    assert found is not None
    assert found.project_id == "lost"


def test_another_schema_is_refused_by_name(program: Program, url: str) -> None:
    run(url, "UPDATE alembic_version SET version_num = 'b5c396305c25'")
    said = program.fail("adopt", "--database", url)
    for part in ("b5c396305c25", "a082b8bb98d0", "placement-manage db sync"):
        assert part in said


def test_release_drops_tables_when_asked(program: Program, url: str) -> None:
    program.do("adopt", "--database", url)
    words = ("release", "--database", url, "--drop-tables")
    assert "Would drop" in program.do(*words, "--dry-run")
    assert "Dropped gantt_" in program.do(*words)
    assert "not Gantt's" in program.fail("release", "--database", url)


def typed(url: str, target: str) -> list[list[str]]:
    """The words of each ``gantt-manage`` of the guide, with these databases."""
    commands = [line for block in shown("replace-placement") for line in block.commands]
    ours = [one for one in commands if one.startswith("gantt-manage ")]
    here = [
        re.sub(r"mysql\S+|\bURL\b", url, one).replace("postgresql+psycopg://…", target)
        for one in ours
    ]
    return [shlex.split(one)[1:] for one in here]


def test_the_guide_is_followed(program: Program, url: str, tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path / 'new.db'}"
    *_, trial, copy = told = typed(url, target)
    for words in told[:-2]:
        program.do(*words)
    assert [one[0] for one in told[:2]] == ["adopt", "adopt"]
    assert told[-3][0] == "release"
    program.do(*trial)
    assert not (tmp_path / "new.db").exists()
    program.do(*copy)
    assert (tmp_path / "new.db").exists()


def test_import(program: Program, url: str, tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path / 'new.db'}"
    words = ("import", "placement", "--from", url, "--database", target)
    said = program.do(*words, "--dry-run")
    assert "Would copy" in said
    assert not (tmp_path / "new.db").exists()
    lines = program.do(*words).splitlines()
    assert lines[0].split()[:3] == ["table", "read", "written"]
    found = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert found["resource_providers"][:2] == ["5", "5"]
    assert found["resource_providers"][-1] == "same"
    assert "differ" not in "\n".join(lines)
    assert "is not empty" in program.fail(*words)
    assert "were replaced: " in program.do(*words, "--replace")
    assert "No problems" in program.do("--database", target, "verify")


class Terminal(io.StringIO):
    """Output to a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for file, is_drawn in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", file)
        with bars(is_shown=True) as show:
            show("traits", 1, 400)
            show("traits", 400, 400)
            show("inventories", 7, 7)
        drawn = file.getvalue()
        assert ("traits" in drawn and "400/400" in drawn) == is_drawn
        assert ("inventories" in drawn and "7/7" in drawn) == is_drawn
        # Rows per second, and the time left.
        assert bool(re.search(r"400/400 +[\d,]+/s +0:00:00", drawn)) == is_drawn


def test_waiting_is_told_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for file, is_drawn in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", file)
        with waiting("Comparing \x1b[31m"):
            pass
        drawn = file.getvalue()
        assert ("Comparing" in drawn and "0:00:0" in drawn) == is_drawn
        assert "\x1b[31m" not in drawn


def on_a_terminal(*words: str) -> str:
    """What ``gantt-manage`` draws there; what it answers goes elsewhere."""
    reader, terminal = pty.openpty()
    with ThreadPoolExecutor(1) as readers:
        drawn = readers.submit(_read_all, reader)
        try:
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "from gantt.cli.manage import main; main()",
                    *words,
                ],
                stdout=subprocess.DEVNULL,
                stderr=terminal,
                check=True,
                timeout=60,
                env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "120"},
            )
        finally:
            os.close(terminal)
    return drawn.result()


def _read_all(reader: int) -> str:
    """What arrives until the terminal is closed, which Linux tells by EIO."""
    found = b""
    with suppress(OSError):
        while part := os.read(reader, 65536):
            found += part
    os.close(reader)
    return found.decode()


def test_adopt_and_verify_draw_their_rate_and_the_time_left(url: str) -> None:
    drawn = on_a_terminal("adopt", "--database", url)
    assert re.search(r"rows checked .* (\d+)/\1 +[\d,]+/s +0:00:00", drawn), drawn
    drawn = on_a_terminal("--database", url, "verify")
    for what in ("rows read", "rows compared"):
        assert re.search(rf"{what} .* (\d+)/\1 +[\d,]+/s +0:00:00", drawn), drawn


def test_a_load_tells_all_rows(program: Program, url: str) -> None:
    """The last count is that of all tables, and none is told twice."""
    program.do("adopt", "--database", url)
    told: list[tuple[int, int]] = []
    with open_gantt(url, progress=lambda done, total: told.append((done, total))):
        pass
    with sqlite3.connect(url.removeprefix("sqlite:///")) as file:
        rows = sum(
            file.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ROW_TYPES
        )
    assert told[0] == (0, rows)
    assert told[-1] == (rows, rows)
    assert told == sorted(set(told))


def test_commands_require_a_database(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_GANTT_CONFIG_DIR", "/nonexistent")
    for words in (("adopt",), ("release",), ("import", "placement", "--from", "x")):
        assert "--database" in program.fail(*words)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE gantt_head SET format = 9", "format 9, this release .* format 3"),
        (f"UPDATE gantt_head SET format = {head.RELEASED}", "gantt-manage .*adopt"),
    ],
)
def test_serve_refuses_another_schema_version(
    tmp_path: Path, statement: str, said: str
) -> None:
    path = tmp_path / "gantt.db"
    schema.sync(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    words = ("serve", "--database", f"sqlite:///{path}", "--listen", "127.0.0.1:0")
    told = Program(gantt, "").fail(*words)
    assert re.search(said, told), told
