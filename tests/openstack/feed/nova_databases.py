"""Nova's databases as Nova makes them, and what Nova's services write there.

Rows are written through Nova's own models, so that every column is there.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from tests.databases import DatabaseServer

CELL0 = "00000000-0000-0000-0000-000000000000"
STATS = {"num_instances": 0, "io_workload": 0, "failed_builds": 0}


def _tables() -> dict[str, sa.Table]:
    from nova.db.api import models as api
    from nova.db.main import models as cell

    return {**cell.BASE.metadata.tables, **api.BASE.metadata.tables}


def now() -> datetime:
    """As Nova writes times: UTC, in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


class NovaDatabase:
    """One database; ``url``: of a user who may write."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self._tables = _tables()

    def add(self, table: str, **values: Any) -> int:
        """Insert a row; its id."""
        values.setdefault("created_at", now())
        with self.engine.connect() as connection:
            done = connection.execute(sa.insert(self._tables[table]).values(**values))
            return int(done.inserted_primary_key[0])  # type: ignore[index]

    def add_all(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Insert many rows."""
        with self.engine.connect() as connection:
            each = iter(rows)
            while some := list(itertools.islice(each, 500)):
                connection.execute(sa.insert(self._tables[table]), some)

    def change(self, table: str, key: int, **values: Any) -> None:
        """Update a row as Nova does."""
        values.setdefault("updated_at", now())
        own = self._tables[table]
        with self.engine.connect() as connection:
            connection.execute(sa.update(own).where(own.c.id == key).values(**values))

    def make_tables(self, names: Iterable[str]) -> None:
        """Make tables as Nova's models have them, quicker than its migrations; without
        the widest indexes, which only these make short enough."""
        made = sa.MetaData()
        for one in _with_parents([self._tables[name] for name in names]):
            copy = one.to_metadata(made)
            copy.indexes = {each for each in copy.indexes if len(each.columns) < 4}
        made.create_all(self.engine)

    def soft_delete(self, table: str, key: int) -> None:
        """As Nova does: the row stays, and its updated_at too."""
        own = self._tables[table]
        gone = {"deleted": own.c.id, "deleted_at": now()}
        with self.engine.connect() as connection:
            connection.execute(sa.update(own).where(own.c.id == key).values(**gone))

    def remove(self, table: str, key: int) -> None:
        """Delete the row."""
        own = self._tables[table]
        with self.engine.connect() as connection:
            connection.execute(sa.delete(own).where(own.c.id == key))

    def count(self, table: str) -> int:
        """Number of rows."""
        own = self._tables[table]
        with self.engine.connect() as connection:
            return int(
                connection.execute(sa.select(sa.func.count(own.c.id))).scalar_one()
            )

    def close(self) -> None:
        """Close its connections."""
        self.engine.dispose()


def _with_parents(tables: Iterable[sa.Table]) -> list[sa.Table]:
    """These and all that their foreign keys lead to."""
    found: dict[str, sa.Table] = {}
    waiting = list(tables)
    while waiting:
        one = waiting.pop()
        if one.name not in found:
            found[one.name] = one
            waiting += [key.column.table for key in one.foreign_keys]
    return list(found.values())


class ApiDatabase(NovaDatabase):
    """The API database."""

    def map_cell(
        self, name: str, url: str, *, uuid: str | None = None, disabled: bool = False
    ) -> tuple[int, str]:
        """A cell mapping; its id and uuid."""
        uuid = uuid or str(uuid4())
        key = self.add(
            "cell_mappings",
            uuid=uuid,
            name=name,
            transport_url="none:///",
            database_connection=url,
            disabled=disabled,
        )
        return key, uuid

    def aggregate(
        self, name: str, hosts: Iterable[str] = (), **metadata: str
    ) -> tuple[int, str]:
        """An aggregate; its id and uuid."""
        uuid = str(uuid4())
        key = self.add("aggregates", uuid=uuid, name=name)
        for host in hosts:
            self.add("aggregate_hosts", host=host, aggregate_id=key)
        for name, value in metadata.items():
            self.add("aggregate_metadata", key=name, value=value, aggregate_id=key)
        return key, uuid

    def group(
        self, policy: str, members: Iterable[str] = (), rules: str | None = None
    ) -> tuple[int, str]:
        """A server group; its id and uuid."""
        uuid = str(uuid4())
        key = self.add("instance_groups", uuid=uuid, name="g")
        self.add("instance_group_policy", policy=policy, group_id=key, rules=rules)
        for member in members:
            self.add("instance_group_member", instance_uuid=member, group_id=key)
        return key, uuid


class CellDatabase(NovaDatabase):
    """The database of a cell."""

    def host(self, name: str, **values: Any) -> int:
        """A compute with its service; the id of its node."""
        self.service(name)
        return self.node(name, **values)

    def service(self, host: str, **values: Any) -> int:
        """A service; its id."""
        return self.add("services", **service_values(host) | values)

    def node(self, host: str, **values: Any) -> int:
        """A compute node; its id."""
        return self.add("compute_nodes", **node_values(host) | values)

    def instance(self, host: str | None, **values: Any) -> tuple[int, str]:
        """An instance; its id and uuid."""
        uuid = str(uuid4())
        given = {"uuid": uuid, "host": host, "node": host, "deleted": 0}
        key = self.add("instances", **given | values)
        return key, uuid


def new_mariadb(server: DatabaseServer) -> str:
    """The URL of a new database with the character set that Nova's indexes fit in."""
    url = server.new(is_furnished=False)
    server.execute(f"ALTER DATABASE {sa.make_url(url).database} CHARACTER SET utf8mb3")
    return url


def service_values(host: str) -> dict[str, Any]:
    """A row of services, of a compute that is up."""
    return {
        "uuid": str(uuid4()),
        "host": host,
        "binary": "nova-compute",
        "topic": "compute",
        "report_count": 1,
        "disabled": False,
        "forced_down": False,
        "version": 74,
        "last_seen_up": now(),
        "deleted": 0,
    }


def node_values(host: str) -> dict[str, Any]:
    """A row of compute_nodes as libvirt's driver fills it."""
    return {
        "uuid": str(uuid4()),
        "host": host,
        "hypervisor_hostname": host,
        "vcpus": 64,
        "memory_mb": 262_144,
        "local_gb": 2_000,
        "vcpus_used": 0,
        "memory_mb_used": 512,
        "local_gb_used": 0,
        "free_ram_mb": 261_632,
        "free_disk_gb": 2_000,
        "disk_available_least": 1_900,
        "current_workload": 0,
        "running_vms": 0,
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8_002_002,
        "host_ip": "192.0.2.1",
        "cpu_info": json.dumps(
            {
                "arch": "x86_64",
                "model": "EPYC",
                "vendor": "AMD",
                "topology": {"cells": 2, "sockets": 1, "cores": 16, "threads": 2},
                "features": [f"feature{number}" for number in range(80)],
            }
        ),
        "supported_instances": '[["x86_64", "kvm", "hvm"], ["i686", "kvm", "hvm"]]',
        "metrics": "[]",
        "pci_stats": None,
        "extra_resources": None,
        "stats": json.dumps(STATS),
        "numa_topology": None,
        "cpu_allocation_ratio": 4.0,
        "ram_allocation_ratio": 1.0,
        "disk_allocation_ratio": 1.0,
        "mapped": 1,
        "deleted": 0,
    }
