"""Logging to the file that ``log_file`` and ``log_dir`` name, as OpenStack's services
do, or to standard error.

Separate from ``logs`` because a file may be moved away by logrotate, and may be one
that this user cannot write.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from gantt.model.printable import printable
from gantt.observe.context_lines import context_formatter
from gantt.observe.logs import configure_logging

if TYPE_CHECKING:
    from gantt.conf import LogOptions

LOG = logging.getLogger(__name__)


class LogFile(WatchedFileHandler):
    """Appends to a file; one that was moved or deleted is made anew at the next write,
    or written on where that fails, as in a folder of another user. Raises OSError where
    it cannot be opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")

    def reopenIfNeeded(self) -> None:  # noqa: N802
        """Opens the new file before it closes the old one, which it may have to keep.
        Also where others configure logging, which closes all there is. Raises
        OSError."""
        try:
            found = Path(self.baseFilename).stat()
            is_same = (found.st_dev, found.st_ino) == (self.dev, self.ino)
        except OSError:
            is_same = False
        if self.stream is None or not is_same:
            before, self.stream = self.stream, self._open()
            self._statstream()
            if before is not None:
                before.close()

    def write(self, text: str, /) -> int:
        """Lines that ``logs`` has formatted. Raises OSError; ValueError once closed."""
        with suppress(OSError):
            self.reopenIfNeeded()
        if self.stream is None:
            raise ValueError("the file is closed")
        return self.stream.write(text)


def begin_logging(options: LogOptions, program: str, *, tells: bool = False) -> None:
    """Log as ``options`` say; ``program`` names the file in ``log_dir``. ``tells``: say
    on standard error which file it is.

    A file that cannot be written is named in a warning, on standard error like all that
    follows. Raises Refused (a form of lines that cannot be)."""
    path = path_of(options, program)
    stream, reason = None, ""
    if path is not None:
        try:
            stream = LogFile(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    is_new = configure_logging(
        debug=options.debug,
        use_json=options.use_json,
        stream=stream,
        form=context_formatter(options),
    )
    if reason:
        LOG.warning(
            "Cannot log to %s, which log_file and log_dir name: %s. Logging to "
            "standard error; let this user write there, or unset both.",
            path,
            reason,
        )
    elif stream is not None and is_new and tells:
        sys.stderr.write(f"Logging to {printable(str(path))}.\n")


def path_of(options: LogOptions, program: str) -> Path | None:
    """The file to log to; None: standard error."""
    if options.log_file:
        return Path(options.log_dir) / options.log_file
    return Path(options.log_dir) / f"{program}.log" if options.log_dir else None
