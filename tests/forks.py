"""Processes that are forked from one which has imported what takes seconds.

The one that runs the tests has threads and connections, which no process must inherit.
"""

from __future__ import annotations

import multiprocessing
from typing import Final

FORKS: Final = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["gantt.store", "placement.deploy", "placement.db.sqlalchemy.migration"]
)
