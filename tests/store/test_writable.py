"""A file that takes no writes: ``unready`` says so."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gantt.connection import connect
from gantt.engine.gantt import Gantt
from tests.programs import captured

# Ends as a user whom the rights of files bind.
STORY = """
import os, sys
from pathlib import Path
from gantt.connection import connect

folder = Path(sys.argv[1])
file = folder / "gantt.db"
if os.getuid() == 0:
    with connect(f"sqlite:///{folder}/other.db", create=True) as books:
        books.unready()  # what is imported late is found
    os.chown(folder, 65534, 65534)
    os.setuid(65534)
with connect(f"sqlite:///{file}", create=True) as books:
    print(repr(books.unready()))
    file.chmod(0o400)
    print(repr(books.unready()))
    file.chmod(0o600)
    print(repr(books.unready()))
    for beside in folder.glob("gantt.db-*"):
        beside.unlink()
    folder.chmod(0o500)
    print(repr(books.unready()))
    folder.chmod(0o700)
"""
UNWRITABLE = "'the books cannot be written; the log says why'"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gantt.db"


@pytest.fixture
def books(file: Path) -> Iterator[Gantt]:
    with connect(f"sqlite:///{file}", create=True) as found:
        assert isinstance(found, Gantt)
        yield found


def test_a_writer_at_work_is_no_fault(books: Gantt, file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert books.unready() == ""


def test_what_cannot_be_opened_for_writing_any_more_is_told(
    books: Gantt, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without these, what is written would not be found after a restart."""
    assert books.unready() == ""
    for end in ("-wal", "-shm"):
        Path(f"{file}{end}").unlink()
    assert books.unready() == "the books cannot be written; the log says why"
    assert f"sqlite:///{file} takes no writes (" in caplog.text


def test_rights_of_the_file_and_its_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = _run(folder)
    assert told.stdout.split("\n")[:4] == ["''", UNWRITABLE, "''", UNWRITABLE], told


def _run(folder: str) -> subprocess.CompletedProcess[str]:
    return captured([sys.executable, "-c", STORY, folder])
