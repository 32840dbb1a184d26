"""Lines are written in batches, complete and in order; errors at once."""

from __future__ import annotations

import io
import json
import logging
import os
import time

from gantt.observe.logs import (
    LOG_FORMAT,
    LONGEST,
    BunchHandler,
    JsonFormatter,
    LineFormatter,
    RepeatedRecords,
)


def logger_to(stream: io.StringIO) -> tuple[logging.Logger, BunchHandler]:
    handler = BunchHandler(stream)
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, handler


def written(stream: io.StringIO, count: int) -> list[str]:
    """The lines, once there are ``count`` of them."""
    for _ in range(200):
        lines = stream.getvalue().splitlines()
        if len(lines) >= count:
            return lines
        time.sleep(0.01)
    return stream.getvalue().splitlines()


def test_lines_are_written_promptly_and_in_order() -> None:
    stream = io.StringIO()
    logger, _ = logger_to(stream)
    for round_ in range(3):
        for at in range(100):
            logger.info("%d %d", round_, at)
        assert written(stream, (round_ + 1) * 100)[-1] == f"{round_} 99"
    expected = [f"{round_} {at}" for round_ in range(3) for at in range(100)]
    assert stream.getvalue().splitlines() == expected


def test_errors_flush_immediately() -> None:
    stream = io.StringIO()
    logger, _ = logger_to(stream)
    logger.info("first")
    logger.error("second")
    assert stream.getvalue() == "first\nsecond\n"


def test_close_flushes() -> None:
    stream = io.StringIO()
    logger, handler = logger_to(stream)
    logger.info("last words")
    handler.close()
    assert stream.getvalue() == "last words\n"


def test_closed_stream_is_ignored() -> None:
    stream = io.StringIO()
    logger, handler = logger_to(stream)
    stream.close()
    logger.error("into the void")
    handler.close()


def test_fork_does_not_repeat_lines() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        handler = BunchHandler(stream)
        logger = logging.Logger("test")
        logger.addHandler(handler)
        logger.info("parent")
        child = os.fork()
        if child == 0:
            logger.info("child")
            time.sleep(0.3)
            os._exit(0)
        os.waitpid(child, 0)
        handler.close()
    with os.fdopen(read) as stream:
        assert sorted(stream.read().splitlines()) == ["child", "parent"]


def kept(logger: logging.Logger) -> list[logging.LogRecord]:
    """The records that ``logger`` will have handled."""
    records: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger.addHandler(Keeper())
    logger.setLevel(logging.INFO)
    return records


def test_lines_equal_those_of_logging() -> None:
    logger = logging.Logger("test")
    records = kept(logger)
    for _ in range(2):
        logger.info("%s and %d", "one", 2)
        try:
            raise ValueError("what happened")
        except ValueError:
            logger.exception("with a traceback")
    logger.info("with a stack", stack_info=True)
    later = logging.makeLogRecord({**vars(records[0]), "created": 7.25, "msecs": 250.0})
    ours, theirs = LineFormatter(), logging.Formatter(LOG_FORMAT)
    for record in (*records, later, records[0]):
        # But for the lines below the first, which are indented.
        assert ours.format(record) == theirs.format(record).replace("\n", "\n  ")


def test_prepared_lines_equal_ordinary_ones() -> None:
    logger = logging.Logger("test")
    records = kept(logger)
    lines = RepeatedRecords(logger, "%s and %s")
    time.sleep(0.002)
    logger.info("%s and %s", "one", "two")
    lines.log(("one", "two"))
    lines.log(("three", "four"))
    usual, same, other = records
    assert vars(usual).keys() == vars(same).keys()
    alike = ("name", "levelname", "process", "processName", "thread", "threadName")
    for name in (*alike, "exc_info", "stack_info", "args", "msg"):
        assert getattr(usual, name) == getattr(same, name)
    assert 0 <= same.created - usual.created < 1
    assert abs(same.relativeCreated - usual.relativeCreated) < 1000
    assert same.msecs == int(same.created % 1 * 1000)
    assert other.getMessage() == "three and four"


def test_filtered_lines_are_dropped() -> None:
    logger = logging.Logger("test")
    records = kept(logger)
    logger.addFilter(lambda record: "secret" not in record.getMessage())
    RepeatedRecords(logger, "%s").log(("a secret",))
    assert records == []


def test_messages_are_escaped_and_shortened() -> None:
    logger = logging.Logger("test")
    records = kept(logger)
    hostile = "x\n2026 1 INFO forged \x1b[2J\r\u202e\x85\u2028"
    try:
        raise ValueError(hostile)
    except ValueError:
        logger.exception("%s", hostile)
    logger.info("%s end", "y" * 10_000_000)
    try:
        raise KeyError("z" * 10_000_000)
    except KeyError:
        logger.exception("long")
    first, second, third = (LineFormatter().format(record) for record in records)
    for text in (first, second, third):
        head, *below = text.split("\n")
        assert text.isascii() or "…" in text
        assert all(line.isprintable() for line in (head, *below))
        assert all(line.startswith("  ") for line in below)
        assert len(text) < 3 * LONGEST
    assert r"x\n2026 1 INFO forged \x1b[2J\r\u202e\x85\u2028" in first
    assert second.endswith("yyy end")
    told = [json.loads(JsonFormatter().format(record)) for record in records]
    assert told[0]["message"] == hostile
    assert all(
        len(value) < 2 * LONGEST for one in told for value in map(str, one.values())
    )
