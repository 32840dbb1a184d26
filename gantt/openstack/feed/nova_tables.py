"""The tables of Nova that the feed reads, with the columns that it reads and no other.

Names and types are facts of Nova 34.0.0 (nova/db/api and nova/db/main). The rights
that a database user needs follow from these tables: ``docs/how-to/feed.md`` lists them.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from gantt.openstack.feed.row_times import UtcTime

API: Final = sa.MetaData()
CELL: Final = sa.MetaData()


def _table(
    metadata: sa.MetaData,
    name: str,
    text: str = "",
    *,
    whole: str = "",
    flags: str = "",
    is_soft: bool = False,
    times: str = "",
) -> sa.Table:
    """A table with an id and the times that all of Nova's have. ``is_soft``: deleted
    rows stay, ``deleted`` is their id then and else 0."""
    columns: list[sa.Column[object]] = [sa.Column("id", sa.Integer, primary_key=True)]
    columns += [sa.Column(one, sa.Text) for one in text.split()]
    columns += [sa.Column(one, sa.Integer) for one in whole.split()]
    columns += [sa.Column(one, sa.Boolean) for one in flags.split()]
    dated = ["created_at", "updated_at", *times.split()]
    if is_soft:
        columns.append(sa.Column("deleted", sa.Integer))
        dated.append("deleted_at")
    columns += [sa.Column(one, UtcTime) for one in dated]
    return sa.Table(name, metadata, *columns)


CELL_MAPPINGS: Final = _table(
    API, "cell_mappings", "uuid name database_connection", flags="disabled"
)
HOST_MAPPINGS: Final = _table(API, "host_mappings", "host", whole="cell_id")
AGGREGATES: Final = _table(API, "aggregates", "uuid name")
AGGREGATE_HOSTS: Final = _table(API, "aggregate_hosts", "host", whole="aggregate_id")
AGGREGATE_METADATA: Final = _table(
    API, "aggregate_metadata", "key value", whole="aggregate_id"
)
GROUPS: Final = _table(API, "instance_groups", "uuid name")
GROUP_POLICIES: Final = _table(
    API, "instance_group_policy", "policy rules", whole="group_id"
)
GROUP_MEMBERS: Final = _table(
    API, "instance_group_member", "instance_uuid", whole="group_id"
)
FLAVORS: Final = _table(API, "flavors", "flavorid")

SERVICES: Final = _table(
    CELL,
    "services",
    "host binary disabled_reason",
    whole="version",
    flags="disabled forced_down",
    times="last_seen_up",
    is_soft=True,
)
_REPORTED: Final = (
    "uuid hypervisor_type hypervisor_hostname host_ip cpu_info supported_instances "
    "metrics pci_stats extra_resources stats numa_topology"
)
_AMOUNTS: Final = (
    "vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used "
    "hypervisor_version free_ram_mb free_disk_gb current_workload running_vms "
    "disk_available_least"
)
_RATIOS: Final = "cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio"
STATS: Final = tuple(f"{_REPORTED} {_AMOUNTS} {_RATIOS}".split())
"""The columns of a compute node that are facts about its host."""
NODES: Final = _table(
    CELL, "compute_nodes", f"host {_REPORTED}", whole=_AMOUNTS, is_soft=True
)
for _name in _RATIOS.split():
    NODES.append_column(sa.Column(_name, sa.Float))
INSTANCES: Final = _table(
    CELL,
    "instances",
    "uuid host image_ref display_name project_id",
    whole="instance_type_id",
    is_soft=True,
)
SYSTEM_METADATA: Final = _table(
    CELL, "instance_system_metadata", "instance_uuid key value", is_soft=True
)
MIGRATIONS: Final = _table(
    CELL,
    "migrations",
    "uuid instance_uuid source_compute dest_compute status",
    is_soft=True,
)
