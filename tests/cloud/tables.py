"""The databases of OpenStack's services, with their tables.

On a MariaDB that does not sync its files: with syncing, their migrations alone take
minutes on a busy disk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gantt.store import schema
from tests.cloud.processes import program, run
from tests.cloud.settings import write
from tests.databases import Mariadb

MADE = ("keystone", "glance", "nova_api", "nova_cell0", "nova_cell1")
PLACEMENT = "placement"
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)


class CloudDatabases(Mariadb):
    """MariaDB with room for the connections of a cloud."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--max-connections=1000"]

    def urls(self) -> dict[str, str]:
        """By name."""
        return {name: self.url(name) for name in (*MADE, PLACEMENT)}

    def furnish(self, keystone: Path, glance: Path, nova: Path) -> None:
        """Make all databases; the paths are those of the services' settings."""
        self.execute(*(f"CREATE DATABASE {name}" for name in (*MADE, PLACEMENT)))
        compute = (program("nova-manage"), "--config-file", str(nova))
        cell = ("db", "sync", "--local_cell")
        other = write(
            nova.with_name("cell0.conf"),
            {"database": {"connection": self.url("nova_cell0")}},
        )
        cell0 = ("--config-file", str(other))
        _at_once(
            [
                (program("glance-manage"), "--config-file", str(glance), "db_sync"),
                (*compute, "api_db", "sync"),
            ],
            [
                (program("keystone-manage"), "--config-file", str(keystone), "db_sync"),
                (*compute, *cell),
            ],
            [(*compute, *cell0, *cell)],
        )
        schema.sync(self.url(PLACEMENT))

    def grant(self, document: Path) -> None:
        """Make the database user that ``document`` describes, with its rights."""
        for block in SQL.findall(document.read_text()):
            # The driver takes a single % for the place of a value.
            told = block.replace("%", "%%")
            statements = told.split(";")
            self.execute(*(one for one in statements if one.strip()))


def _at_once(*work: Sequence[tuple[str, ...]]) -> None:
    """Each list of commands in its order, beside the others."""

    def each(commands: Sequence[tuple[str, ...]]) -> None:
        for command in commands:
            run(*command)

    with ThreadPoolExecutor(len(work)) as pool:
        list(pool.map(each, work))
