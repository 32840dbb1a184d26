"""``log_file`` and ``log_dir``: which file, moved files, and files that cannot be."""

from __future__ import annotations

import logging
import logging.config
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantt.conf import LogOptions
from gantt.observe.log_file import LogFile, begin_logging, path_of
from gantt.observe.logs import flush_logs
from tests.configured import settings_of
from tests.conftest import encodable

Begin = Callable[[LogOptions], None]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Begins to log, as a process does that has not yet."""

    def act(options: LogOptions) -> None:
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        begin_logging(options, "gantt", tells=True)

    level = logging.getLogger().level
    yield act
    flush_logs()
    logging.getLogger().setLevel(level)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("log_dir = /var/log/x", "/var/log/x/gantt.log"),
        ("logdir = /var/log/x", "/var/log/x/gantt.log"),
        ("log_dir = /var/log/x\nlog_file = a.log", "/var/log/x/a.log"),
        ("log_dir = /var/log/x\nlog_file = /b.log", "/b.log"),
        ("logfile = /b.log", "/b.log"),
        ("log-file = /b.log", None),  # not a name in files
    ],
)
def test_which_file(tmp_path: Path, text: str, expected: str | None) -> None:
    found = path_of(settings_of(tmp_path, f"[DEFAULT]\n{text}\n").log, "gantt")
    assert found == (None if expected is None else Path(expected))


def test_lines_go_to_the_file(
    begin: Begin, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    begin(LogOptions(log_dir=str(tmp_path)))
    logging.getLogger("gantt.sample").warning("one \udc80")
    flush_logs()
    assert "gantt.sample one" in (tmp_path / "gantt.log").read_text(encoding="utf-8")
    assert capfd.readouterr().err == f"Logging to {tmp_path / 'gantt.log'}.\n"


def test_a_file_that_was_moved_is_made_anew(tmp_path: Path) -> None:
    path, moved = tmp_path / "a.log", tmp_path / "a.log.1"
    file = LogFile(path)
    for text in ("one\n", "two\n"):
        file.write(text)
        file.flush()
        path.rename(moved)
    file.write("three\n")
    file.flush()
    assert (moved.read_text(), path.read_text()) == ("two\n", "three\n")


def test_one_that_cannot_be_made_anew_is_written_on(tmp_path: Path) -> None:
    folder, moved = tmp_path / "logs", tmp_path / "moved"
    folder.mkdir()
    file = LogFile(folder / "a.log")
    folder.rename(moved)
    for text in ("one\n", "two\n"):
        file.write(text)
        file.flush()
    assert (moved / "a.log").read_text() == "one\ntwo\n"
    folder.mkdir()
    file.write("three\n")
    file.flush()
    assert (folder / "a.log").read_text() == "three\n"


def test_lines_go_on_where_a_library_configures_logging(tmp_path: Path) -> None:
    """It closes all handlers that there are, and granian does so."""
    file = LogFile(tmp_path / "a.log")
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
    file.write("one\n")
    file.flush()
    assert (tmp_path / "a.log").read_text() == "one\n"


@pytest.mark.parametrize("name", ["nowhere/a.log", ".", "\0", "x" * 300])
def test_a_file_that_cannot_be_written_is_named(
    begin: Begin, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    begin(LogOptions(log_dir=str(tmp_path), log_file=name))
    flush_logs()
    told = capfd.readouterr().err
    assert "WARNING gantt.observe.log_file Cannot log to " in told
    assert "Logging to standard error; let this user write there" in told
    assert told.count("\n") == 1


def test_a_report_of_a_test_can_be_told_to_other_processes() -> None:
    """Also where what is logged, as above, was caught."""
    logging.getLogger("gantt.sample").warning("two \udc80")
    assert encodable("two \udc80") == r"two \udc80"
