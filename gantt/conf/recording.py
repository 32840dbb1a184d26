"""The options of records of decisions, in ``[gantt]``.

Separate from the other options of that group because a record is a feature of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from gantt.conf.table import rows
from gantt.engine.options import RecordOptions

OPTIONS: Sequence[cfg.Opt] = [
    *rows(
        RecordOptions(),
        {
            "record": "Directory in which each process records its decisions, with the "
            "books that they saw, for gantt replay; unset: nothing is recorded.",
            "record_file_bytes 65536": "Packed bytes after which a file of a record "
            "ends and the next begins, with a snapshot of the books.",
            "record_files 1..100000": "Files of records that are kept in the "
            "directory, of all processes; the oldest are removed, but none that was "
            "written to within ten minutes.",
            "record_backlog 100": "Decisions and changed rows that may wait in a "
            "process to be recorded; beyond that decisions are left out, and the "
            "record says how many.",
        },
    ),
]
