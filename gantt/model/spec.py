"""A versioned request for instances, as frozen values.

Separate from the queries of the Placement API because they use Nova's terms:
``gantt.model.forms`` reads every older or newer form of them, and all code below sees
only these. Amounts of memory are MB, of disks GB, of swap MB.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from gantt.model.bounds import (
    Amount,
    AnyOf,
    Count,
    ExtraSpecs,
    Lease,
    Name,
    RequestId,
    Text,
    Whole,
)
from gantt.model.relations import DomainTerm

SPEC_VERSION: Final = "1.15"
"""The version of Nova's RequestSpec that has these fields."""


class Flavor(Struct, frozen=True):
    """The size of an instance and its extra specs."""

    vcpus: Amount = 0
    memory_mb: Amount = 0
    root_gb: Amount = 0
    ephemeral_gb: Amount = 0
    swap: Amount = 0
    name: Text | None = None
    flavorid: Text = ""
    id: Whole | None = None
    extra_specs: ExtraSpecs = {}


class Image(Struct, frozen=True):
    """``properties``: the set ones, by Nova's names (``hw_disk_bus``, …);
    ``traits_required`` among them is a list of names."""

    id: Text | None = None
    disk_format: Text | None = None
    properties: dict[str, Any] = {}


class Destination(Struct, frozen=True):
    """The requested destination. ``aggregates``: in at least one of each set (uuids);
    ``forbidden_aggregates``: in none of these."""

    host: Text | None = None
    node: Text | None = None
    cell_uuid: Text | None = None
    aggregates: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[Name] = frozenset()
    allow_cross_cell_move: bool = False


class ResourceGroup(Struct, frozen=True):
    """Resources requested on behalf of a port, an accelerator or a device.

    ``requester_id`` becomes the suffix of the group. ``use_same_provider`` False: the
    amounts join the unsuffixed group.
    """

    requester_id: Text | None = None
    resources: dict[Text, Amount] = {}
    required_traits: frozenset[Name] = frozenset()
    forbidden_traits: frozenset[Name] = frozenset()
    aggregates: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[Name] = frozenset()
    in_tree: Text | None = None
    use_same_provider: bool = True


class RequestLevel(Struct, frozen=True):
    """What applies to the request as a whole."""

    root_required: frozenset[Name] = frozenset()
    root_forbidden: frozenset[Name] = frozenset()
    same_subtree: tuple[AnyOf, ...] = ()


class LabelTerms(Struct, frozen=True):
    """Labels of hosts, by key: those that a host must have, must not have, and is
    better with. "": any value."""

    required: dict[Name, Text] = {}
    forbidden: dict[Name, Text] = {}
    preferred: dict[Name, Text] = {}


class InstanceGroup(Struct, frozen=True):
    """A server group as the caller knows it; members known to Gantt are added.

    ``policy``: affinity, anti-affinity, soft-affinity, soft-anti-affinity, or None: the
    policy set for the group, with its ``max_server_per_host``, if any. ``hosts``: names
    of hosts that have members.
    """

    uuid: Text = ""
    policy: Text | None = None
    max_server_per_host: Count = 1
    members: frozenset[Name] = frozenset()
    hosts: frozenset[Name] = frozenset()


class RequestedNetwork(Struct, frozen=True):
    """A network or port that the instance will be attached to.

    ``segments``: uuids of its segments, of which the host must reach one; empty: it is
    not routed; None: not known here. ``trouble``: why they could not be found out. Both
    are read only where segments matter (``[scheduler]
    query_placement_for_routed_network_aggregates``).
    """

    network_id: Text | None = None
    port_id: Text | None = None
    address: Text | None = None
    segments: frozenset[Name] | None = None
    trouble: Text = ""


class NetworkMetadata(Struct, frozen=True):
    """Networks of the instance to which its NUMA cells must be near: ``physnets`` by
    the names of physical networks, ``tunneled``: one that is tunnelled."""

    physnets: frozenset[Name] = frozenset()
    tunneled: bool = False


class RequestSpec(Struct, frozen=True):
    """One request for instances that are alike.

    ``scheduler_hints``: values as tuples. ``retry_hosts``: (host, node) pairs tried
    before. ``numa_topology`` (a JSON object) and ``pci_requests`` (the fields of Nova's
    InstancePCIRequest) are kept as they came, for plug-ins;
    ``gantt.scheduler.request.requested_topology`` reads them. ``unset`` and ``nulls``:
    which fields ("image.id") of Nova's object, if it came as one, were not set, or
    null; here both are empty.
    """

    flavor: Flavor = Flavor()
    image: Image | None = None
    num_instances: Count = 1
    project_id: Text | None = None
    user_id: Text | None = None
    availability_zone: Text | None = None
    instance_uuid: Text | None = None
    ignore_hosts: tuple[Name, ...] = ()
    force_hosts: tuple[Name, ...] = ()
    force_nodes: tuple[Name, ...] = ()
    requested_destination: Destination | None = None
    retry_hosts: tuple[tuple[Text, Text], ...] = ()
    instance_group: InstanceGroup | None = None
    scheduler_hints: dict[Text, tuple[Text, ...]] = {}
    is_bfv: bool = False
    requested_resources: tuple[ResourceGroup, ...] = ()
    request_level_params: RequestLevel = RequestLevel()
    requested_networks: tuple[RequestedNetwork, ...] = ()
    network_metadata: NetworkMetadata = NetworkMetadata()
    numa_topology: dict[str, Any] | None = None
    pci_requests: tuple[dict[str, Any], ...] = ()
    version: str = SPEC_VERSION
    unset: frozenset[Name] = frozenset()
    nulls: frozenset[Name] = frozenset()
    labels: LabelTerms | None = None

    def hint(self, name: str) -> str | tuple[str, ...] | None:
        """A hint as Nova reads it: the single value of a list of one, else the list;
        None when it was not given."""
        values = self.scheduler_hints.get(name)
        if values is None:
            return None
        return values[0] if len(values) == 1 else values

    @property
    def is_rebuild(self) -> bool:
        """Whether this only checks if the instance may stay on its host."""
        return self.scheduler_hints.get("_nova_check_type") == ("rebuild",)

    @property
    def disk_mb(self) -> int:
        """What is consumed of a host's disk while hosts are picked: without swap."""
        root = 0 if self.is_bfv else self.flavor.root_gb
        return 1024 * (root + self.flavor.ephemeral_gb)


class ScheduleRequest(Struct, frozen=True):
    """All arguments of one call of ``select_destinations``.

    ``instance_uuids`` None: as many as ``spec.num_instances``, and nothing is claimed.
    ``lease_s``: the claim expires after so many seconds unless it is confirmed.
    ``only_project``: instances of other projects are refused (None: of none); a service
    over HTTP derives it from the caller, and this is not sent. ``replaces``: claims of
    other requests for these instances make way (Nova asks so); else they refuse this
    one. ``among``: so many things of its demand share the choices of a claim;
    ``relations``: by topology keys, besides those that ``spec`` asks for: a demand says
    these itself, and they are not sent.
    """

    spec: RequestSpec
    instance_uuids: tuple[Name, ...] | None = None
    return_alternates: bool = True
    dry_run: bool = False
    lease_s: Lease | None = None
    request_id: RequestId = ""
    user_id: Text | None = None
    project_id: Text | None = None
    only_project: Text | None = None
    replaces: bool = False
    among: int = 0
    relations: tuple[DomainTerm, ...] = ()

    @property
    def count(self) -> int:
        """The number of instances."""
        if self.instance_uuids is None:
            return self.spec.num_instances
        return len(self.instance_uuids)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the instances; "" for each where the request gives none."""
        if self.instance_uuids is not None:
            return self.instance_uuids
        return ("",) * self.count

    @property
    def is_claiming(self) -> bool:
        """Whether hosts are claimed, not only selected."""
        return not (self.dry_run or self.instance_uuids is None or self.spec.is_rebuild)
