"""Logging of a process that serves: one format, and lines that cost little.

A write to a file or pipe lets go of the interpreter's lock, and under load every
thread that waits for that lock then gets in between. One write per request would cost
more than the request. So lines are collected, and a thread writes them out in bunches
a twentieth of a second later; errors are written at once.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from enum import Enum
from typing import Final, Protocol

from gantt.errors import shortened
from gantt.model.printable import printable

LOG_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"
BUNCH_S = 0.05
# Lines that may wait; beyond that a line is written by the thread that logs it.
MAX_WAITING = 20_000
# Characters of a message, and of a traceback with it; longer ones lose their middle.
LONGEST = 8_000


class Sink(Protocol):
    """Where lines are written to."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class Nothing(Enum):
    """In place of a number that is not known: - in text, null in JSON."""

    NOTHING = "-"

    def __str__(self) -> str:
        return self.value


NOTHING: Final = Nothing.NOTHING


class LineFormatter(logging.Formatter):
    """Writes LOG_FORMAT as logging would, at half the cost. Messages stay on one line
    and are made printable: they may contain text of requests."""

    def __init__(self) -> None:
        super().__init__(LOG_FORMAT)
        # A second, and how it is written.
        self._second = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        """The line, and what belongs to it, indented: a traceback, a stack."""
        line = (
            f"{self.formatTime(record)} {record.process} {record.levelname} "
            f"{record.name} {printable(shortened(record.getMessage(), LONGEST))}"
        )
        if record.exc_info or record.exc_text or record.stack_info:
            return "\n  ".join((line, *map(printable, self._below(record))))
        return line

    def _below(self, record: logging.LogRecord) -> list[str]:
        """The lines of the traceback and the stack."""
        trace = record.exc_text or ""
        if record.exc_info and not trace:
            trace = self.formatException(record.exc_info)
        parts = filter(None, (trace, record.stack_info))
        return shortened("\n".join(parts), LONGEST).split("\n")

    def formatTime(  # noqa: N802 - logging's own name
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        """Local time to the millisecond."""
        second = int(record.created)
        known = self._second
        if known[0] != second:
            form = datefmt or self.default_time_format
            known = (second, time.strftime(form, self.converter(second)))
            self._second = known
        return f"{known[1]},{int(record.msecs):03d}"


class JsonFormatter(logging.Formatter):
    """Writes a JSON object per line; a record may have ``fields`` beside its text, and
    a ``context``: what is known of the request."""

    def format(self, record: logging.LogRecord) -> str:
        """``time`` is UTC; ``error``: a traceback."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "pid": record.process,
            "level": record.levelname,
            "logger": record.name,
            "message": shortened(record.getMessage(), LONGEST),
        }
        names: tuple[str, ...] = getattr(record, "fields", ())
        if names and isinstance(record.args, tuple):
            line.update(zip(names, map(_field, record.args), strict=True))
        context = getattr(record, "context", None)
        if isinstance(context, dict):  # what guests give oslo.log is none
            line.update({name: _field(value) for name, value in context.items()})
        if record.exc_info:
            line["error"] = shortened(self.formatException(record.exc_info), LONGEST)
        return json.dumps(line, default=str)


def _field(value: object) -> object:
    """A field of JSON: a number stays one."""
    if value is None or isinstance(value, int | float):
        return value
    return None if value is NOTHING else shortened(str(value), LONGEST)


class RepeatedRecords:
    """Repeated records of one logger and one place in the code.

    The common attributes are made once: making a record costs as much as writing it.
    """

    def __init__(
        self, logger: logging.Logger, text: str, fields: tuple[str, ...] = ()
    ) -> None:
        """``text``: as for ``logging``, at INFO; its arguments, which ``fields`` names
        for JSON, are given with each line."""
        here = (__file__, 0)
        made = logging.LogRecord(logger.name, logging.INFO, *here, text, (), None)
        if fields:
            made.fields = fields
        self._logger = logger
        self._common = vars(made)

    def log(self, arguments: tuple[object, ...]) -> None:
        """A line of this moment and thread."""
        record = logging.LogRecord.__new__(logging.LogRecord)
        common, now = self._common, time.time()
        vars(record).update(common)
        record.args = arguments
        record.created = now
        record.msecs = float(int(now % 1 * 1000))
        record.relativeCreated += (now - common["created"]) * 1000
        record.process = os.getpid()
        record.thread = threading.get_ident()
        record.threadName = threading.current_thread().name
        self._logger.handle(record)


class BunchHandler(logging.Handler):
    """Writes lines to ``stream`` in bunches, in the order in which they came."""

    def __init__(self, stream: Sink) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str] = deque()
        self._write_lock = threading.Lock()
        self._wake = threading.Event()
        self._is_awake = False
        self._has_thread = False
        # A fork copies lines and locks, but not the thread.
        os.register_at_fork(before=self.flush, after_in_child=self._start_over)

    def handle(self, record: logging.LogRecord) -> bool:
        """Takes a record without the lock of a Handler: a deque needs none."""
        is_wanted = bool(self.filter(record))
        if is_wanted:
            self.emit(record)
        return is_wanted

    def emit(self, record: logging.LogRecord) -> None:
        """Take the line; write it now if it is an error."""
        try:
            self._lines.append(self.format(record))
        except Exception:
            self.handleError(record)
            return
        if record.levelno >= logging.ERROR or len(self._lines) > MAX_WAITING:
            self.flush()
        elif not self._is_awake:
            self._is_awake = True
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(
                    target=self._run, name="gantt-log", daemon=True
                ).start()
            self._wake.set()

    def flush(self) -> None:
        with self._write_lock:
            lines = []
            while self._lines:
                lines.append(self._lines.popleft())
            if not lines:
                return
            try:
                self._stream.write("\n".join(lines) + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                pass  # there is nowhere left to report it

    def close(self) -> None:
        self.flush()
        super().close()

    def _start_over(self) -> None:
        self._write_lock = threading.Lock()
        self._wake = threading.Event()
        self._is_awake = self._has_thread = False

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._lines:
                time.sleep(BUNCH_S)
                self.flush()
            self._is_awake = False
            if self._lines:  # came in between
                self._is_awake = True
                self._wake.set()


def set_debug(debug: bool) -> None:
    """Log Gantt's own messages at DEBUG level, or at the usual one."""
    logging.getLogger("gantt").setLevel(logging.DEBUG if debug else logging.NOTSET)


def configure_logging(
    level: int = logging.INFO,
    *,
    debug: bool = False,
    use_json: bool = False,
    stream: Sink | None = None,
    form: logging.Formatter | None = None,
) -> bool:
    """Log to ``stream`` (None: stderr) in batches, unless logging is already
    configured; whether it was not. ``form``: of lines that are no JSON; None: ours."""
    root = logging.getLogger()
    set_debug(debug)
    is_new = not root.handlers
    if is_new:
        handler = BunchHandler(stream or sys.stderr)
        lines = form or LineFormatter()
        handler.setFormatter(JsonFormatter() if use_json else lines)
        root.addHandler(handler)
        root.setLevel(level)
        atexit.register(handler.flush)
    # alembic logs details of its plugins when it is imported.
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)
    return is_new


def flush_logs() -> None:
    """Write pending lines; for processes that end without running atexit."""
    for handler in logging.getLogger().handlers:
        handler.flush()
