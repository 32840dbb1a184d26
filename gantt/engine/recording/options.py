"""The options of records, as one frozen value."""

from __future__ import annotations

from msgspec import Struct


class RecordOptions(Struct, frozen=True):
    """``record``: the directory of the files; "": nothing is recorded.
    ``record_file_bytes``: packed bytes after which a file ends and the next begins;
    ``record_files``: that are kept in the directory, of all processes.
    ``record_backlog``: decisions and changed rows that may wait in a process to be
    written; beyond it decisions are dropped, and the files say how many."""

    record: str = ""
    record_file_bytes: int = 256 * 1024 * 1024
    record_files: int = 32
    record_backlog: int = 100_000
