"""Which callers may send which field of a native body.

Policy says which callers may use an operation; this says what they may ask there.
Separate from the handlers so that a field without a verdict is seen: a test compares
the table with all bodies, and a part of the reference is made of it. Verdicts apply to
fields that are given; callers with ``gantt:claims:any`` are bound to no project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = str

CHOOSE: Final = "gantt:hosts:choose"
ANY: Final = "gantt:claims:any"
WHOLE: Final = "gantt:decisions:whole"
RULE: Final = "rule"
PARTS: Final = "parts"
BY_NAME: Final = "by name"
REQUEST: Final = "request"
OWN_PROJECT: Final = "own project"
OWN_USER: Final = "own user"
OWN_PLACED: Final = "own instances to place"
OWN_INSTANCES: Final = "own instances"
OWN_GROUP: Final = "own group"
OWN_HOST: Final = "own host"

VERDICTS: Final[Mapping[Verdict, str]] = {
    RULE: "Every caller that may use the operation.",
    PARTS: "Each field of it is judged by itself.",
    BY_NAME: "Each hint is judged by its name; others need nothing.",
    REQUEST: "A request in any of its forms; the fields of RequestSpec are judged.",
    OWN_PROJECT: f"The caller's own project; others require {ANY}.",
    OWN_USER: f"The caller's own user; others require {ANY}.",
    OWN_PLACED: "Instances of the caller's project, or without allocations and claims; "
    f"others require {ANY}.",
    OWN_INSTANCES: "Instances of the caller's project, or unknown ones; others require "
    f"{ANY}.",
    OWN_GROUP: "A server group all of whose members are of the caller's project, or an "
    f"unknown one; others require {ANY}.",
    OWN_HOST: "The host that has the name of the caller's user; others require "
    "gantt:reports:any.",
    CHOOSE: f"It tells of hosts: requires {CHOOSE}.",
    ANY: f"Only services may say it: requires {ANY}.",
    WHOLE: f"It tells what operators see: requires {WHOLE}.",
}


def _all(verdict: Verdict, names: str) -> dict[str, Verdict]:
    return dict.fromkeys(names.split(), verdict)


# A struct of bodies -> the verdict on each of its fields.
_REQUESTS: Final[dict[str, dict[str, Verdict]]] = {
    "RequestSpec": {
        **_all(RULE, "num_instances availability_zone is_bfv numa_topology"),
        **_all(RULE, "pci_requests version unset nulls"),
        **_all(CHOOSE, "ignore_hosts force_hosts force_nodes retry_hosts"),
        **_all(PARTS, "flavor image requested_destination instance_group"),
        **_all(PARTS, "requested_resources request_level_params labels"),
        **_all(PARTS, "requested_networks network_metadata"),
        "project_id": OWN_PROJECT,
        "user_id": OWN_USER,
        "instance_uuid": OWN_PLACED,
        "scheduler_hints": BY_NAME,
    },
    "Flavor": _all(
        RULE,
        "vcpus memory_mb root_gb ephemeral_gb swap name flavorid id extra_specs",
    ),
    "Image": _all(RULE, "id disk_format properties"),
    "Destination": {
        **_all(CHOOSE, "host node cell_uuid aggregates forbidden_aggregates"),
        "allow_cross_cell_move": RULE,
    },
    "InstanceGroup": {
        **_all(RULE, "policy max_server_per_host"),
        "uuid": OWN_GROUP,
        "members": OWN_INSTANCES,
        "hosts": CHOOSE,
    },
    "ResourceGroup": {
        **_all(RULE, "requester_id resources required_traits forbidden_traits"),
        "use_same_provider": RULE,
        **_all(CHOOSE, "aggregates forbidden_aggregates in_tree"),
    },
    "RequestLevel": _all(RULE, "root_required root_forbidden same_subtree"),
    "LabelTerms": _all(RULE, "required forbidden preferred"),
    "RequestedNetwork": {
        **_all(RULE, "network_id port_id address trouble"),
        "segments": CHOOSE,
    },
    "NetworkMetadata": _all(RULE, "physnets tunneled"),
    "SelectBody": {
        **_all(REQUEST, "request_spec filter_properties"),
        **_all(RULE, "return_alternates dry_run lease replaces"),
        "instance_uuids": OWN_PLACED,
        "context": PARTS,
        "given_up": WHOLE,
    },
    "Context": {
        "request_id": RULE,
        "user_id": OWN_USER,
        "project_id": OWN_PROJECT,
    },
    "PlaceBody": {
        **_all(PARTS, "items relations"),
        **_all(RULE, "plan lease_s dry_run wait_s"),
        "priority": ANY,
        "project": OWN_PROJECT,
    },
    "Item": {
        "name": OWN_PLACED,
        **_all(RULE, "count cpu memory disk gpu resources labels without prefer zone"),
        **_all(CHOOSE, "aggregates host"),
        "not_with": OWN_INSTANCES,
        **_all(RULE, "artifacts need_artifacts"),
    },
    "ItemRelation": {
        "to": OWN_INSTANCES,
        **_all(RULE, "kind key items most min_domains soft"),
    },
    "PlacedBody": {"name": OWN_PLACED, "plan": RULE, "project": OWN_PROJECT},
    "Relaxation": _all(WHOLE, "kind suffix names amount lowered"),
    "CapacityBody": _all(REQUEST, "request_spec filter_properties"),
    "FairBody": {"request_specs": REQUEST, **_all(RULE, "weights by")},
    "RunsOutBody": {"request_specs": REQUEST, **_all(RULE, "by horizon_days")},
    "AdviseBody": {
        "spec": REQUEST,
        "hosts": CHOOSE,
        **_all(RULE, "weights stage mode request_id"),
        "operation": ANY,
        "instance_uuid": OWN_PLACED,
    },
    "AdviceHost": _all(CHOOSE, "host node"),
    "NovaBody": {
        "spec": REQUEST,
        "hosts": CHOOSE,
        **_all(RULE, "weights context"),
        **_all(ANY, "rebuild resize live"),
    },
    "SentHost": _all(CHOOSE, "host node"),
    "SentContext": _all(RULE, "request_id"),
    # Sorted by the weights that came with it; Gantt looks nothing up.
    "StorageBody": _all(RULE, "hosts weights spec"),
    "SentBackend": _all(RULE, "host"),
}
# Of operators and services, who state facts about the whole fleet.
_STATEMENTS: Final[dict[str, dict[str, Verdict]]] = {
    "ShadowBody": _all(RULE, "request_spec phase request_id at instance_uuids"),
    "RepairBody": _all(RULE, "finding grace_s kinds"),
    "Finding": _all(
        RULE,
        "kind host node provider_uuid instance_uuid claim allocations resource_class "
        "reported booked detail repair",
    ),
    "TakeoverBody": _all(RULE, "host new_host node new_node uuid dry_run"),
    "ReportsBody": _all(PARTS, "reports"),
    "Report": {
        "host": OWN_HOST,
        **_all(RULE, "node incarnation sequence taken_at full needs fields unread"),
        "beats": RULE,
    },
    "HostStats": _all(
        RULE,
        "id uuid service_id vcpus memory_mb local_gb vcpus_used memory_mb_used "
        "local_gb_used hypervisor_type hypervisor_version hypervisor_hostname "
        "free_ram_mb free_disk_gb current_workload running_vms cpu_info "
        "disk_available_least host_ip supported_instances metrics pci_stats "
        "extra_resources stats numa_topology cpu_allocation_ratio "
        "ram_allocation_ratio disk_allocation_ratio mapped traits instances "
        "obeys_claims lists_instances holds comes_from_nova",
    ),
    "AggregatesBody": _all(RULE, "aggregates"),
    "FeedTurnBody": _all(RULE, "holder seen_holder seen_beat"),
    "InstancesBody": _all(RULE, "instances"),
    "LabelsBody": _all(RULE, "labels"),
    "ArtifactBody": _all(RULE, "size"),
    "RelationsBody": _all(RULE, "relations"),
    "SyncBody": _all(RULE, "instance_uuids"),
    "FleetStatement": _all(
        RULE,
        "cells services hosts aggregates groups instances moves names writes_books",
    ),
    "Move": _all(RULE, "instance_uuid migration_uuid"),
    "Cell": _all(RULE, "uuid disabled unreadable read_at"),
    "Service": _all(
        RULE,
        "host binary disabled forced_down last_seen_up availability_zone cell_uuid "
        "version disabled_reason",
    ),
    "HostReport": _all(RULE, "host node stats saved_at unreadable"),
    "HostAggregate": _all(RULE, "uuid name id hosts metadata"),
    "ServerGroup": _all(RULE, "uuid name policy max_server_per_host members"),
    "Instance": _all(RULE, "uuid facts saved_at"),
    "FleetNames": _all(RULE, "hosts services cells aggregates groups kept_cells"),
}
FIELDS: Final[Mapping[str, Mapping[str, Verdict]]] = {**_REQUESTS, **_STATEMENTS}

# The hints that a filter or the cycle here reads. ``_nova_check_type`` is Nova's word
# to its own scheduler: a request that bears it skips what isolates projects.
HINTS: Final[Mapping[str, Verdict]] = {
    "_nova_check_type": ANY,
    "group": OWN_GROUP,
    "same_host": OWN_INSTANCES,
    "different_host": OWN_INSTANCES,
    **_all(RULE, "gantt:spread gantt:distinct gantt:artifacts gantt:need_artifacts"),
    "gantt:apart": ANY,
    **_all(CHOOSE, "query build_near_host_ip cidr target_cell"),
}


class Given(Struct, frozen=True):
    """A field that needs more than the operation's rule. ``path``: from the body."""

    path: str
    verdict: Verdict
    value: Any


def given(value: Struct, path: str = "") -> Iterator[Given]:
    """The fields of a body, or of a part of one, that are given and need more than the
    operation's rule. Requests are read first, and judged as a RequestSpec."""
    for name, verdict in FIELDS[type(value).__name__].items():
        found = getattr(value, name)
        at = f"{path}{name}"
        if not found or verdict in (RULE, REQUEST):
            continue
        if verdict == BY_NAME:
            for hint in found.keys() & HINTS.keys():
                yield Given(f"{at}.{hint}", HINTS[hint], found[hint])
        elif verdict == PARTS:
            for one in found if isinstance(found, list | tuple) else (found,):
                yield from given(one, f"{at}.")
        else:
            yield Given(at, verdict, found)
