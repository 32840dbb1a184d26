"""Lines in bunches: all of them, in order, and errors at once."""

from __future__ import annotations

import io
import logging
import os
import time

from gantt.observe.logs import BunchHandler


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


def test_lines_come_soon_and_in_order() -> None:
    stream = io.StringIO()
    logger, _ = logger_to(stream)
    for round_ in range(3):
        for at in range(100):
            logger.info("%d %d", round_, at)
        assert written(stream, (round_ + 1) * 100)[-1] == f"{round_} 99"
    expected = [f"{round_} {at}" for round_ in range(3) for at in range(100)]
    assert stream.getvalue().splitlines() == expected


def test_an_error_is_written_at_once_after_what_came_before() -> None:
    stream = io.StringIO()
    logger, _ = logger_to(stream)
    logger.info("first")
    logger.error("second")
    assert stream.getvalue() == "first\nsecond\n"


def test_closing_writes_what_is_left() -> None:
    stream = io.StringIO()
    logger, handler = logger_to(stream)
    logger.info("last words")
    handler.close()
    assert stream.getvalue() == "last words\n"


def test_a_closed_stream_is_nobody_s_problem() -> None:
    stream = io.StringIO()
    logger, handler = logger_to(stream)
    stream.close()
    logger.error("into the void")
    handler.close()


def test_a_fork_writes_its_own_lines_and_no_others() -> None:
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
