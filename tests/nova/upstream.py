"""Nova's own host states, requests and scheduler, made from a plan, in this process.

No database, no RPC, no Neutron: rows of compute_nodes become objects as Nova makes them
of what its database holds, and everything from there on is Nova's code.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from unittest import mock
from uuid import NAMESPACE_OID, uuid5

import nova.conf
from nova import context as nova_context
from nova import objects
from nova.objects import base, compute_node
from nova.scheduler import filters, host_manager, manager, weights
from oslo_utils import timeutils

from gantt.model.forms.primitive import spec_primitive
from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions
from tests.scheduler.fleets import NOW, Plain, Plan, place_of

VERSION = version("nova")
IMAGE_PROPERTY = "image_"

logging.getLogger("nova").setLevel(logging.CRITICAL)  # it tells of every host
objects.register_all()
CONF = nova.conf.CONF
CONF([], project="nova", default_config_files=[])

FILTERS = {one.__name__: one for one in filters.all_filters()}
WEIGHERS = {
    one.__name__: one
    for one in weights.HostWeightHandler().get_matching_classes(
        ["nova.scheduler.weights.all_weighers"]
    )
}
"""Nova's own classes by name; weighers in the order in which Nova adds them up."""

_OURS = frozenset(
    (
        "room_weight_multiplier",
        "domain_spread_weight_multiplier",
        "preferred_labels_weight_multiplier",
        "locality_weight_multiplier",
    )
)
MULTIPLIERS = tuple(name for name in DEFAULT_MULTIPLIERS if name not in _OURS)
"""Those of Nova's weighers."""

# Options of ours -> where Nova has them.
_SETTINGS = {
    "max_io_ops_per_host": "filter_scheduler",
    "max_instances_per_host": "filter_scheduler",
    "isolated_images": "filter_scheduler",
    "isolated_hosts": "filter_scheduler",
    "restrict_isolated_hosts_to_isolated_images": "filter_scheduler",
    "image_properties_default_architecture": "filter_scheduler",
    "aggregate_image_properties_isolation_namespace": "filter_scheduler",
    "aggregate_image_properties_isolation_separator": "filter_scheduler",
    "enabled_filters": "filter_scheduler",
    "initial_cpu_allocation_ratio": None,
    "initial_ram_allocation_ratio": None,
    "initial_disk_allocation_ratio": None,
    "default_availability_zone": None,
}


@contextmanager
def configured(options: SchedulerOptions) -> Iterator[None]:
    """Nova under the same options, at the time of the plans, with no database."""
    settings: list[tuple[str | None, str, Any]] = [
        (group, name, _listed(getattr(options, name)))
        for name, group in _SETTINGS.items()
    ]
    for name in MULTIPLIERS:
        place = ("filter_scheduler", name)
        if name == "metrics_weight_multiplier":
            place = ("metrics", "weight_multiplier")
        settings.append((*place, options.multiplier(name)))
    settings += [
        (None, "service_down_time", int(options.service_down_time)),
        (
            "filter_scheduler",
            "image_props_weight_setting",
            _pairs(options.image_props_weight_setting),
        ),
        ("metrics", "weight_setting", _pairs(options.metrics_weight_setting)),
        ("metrics", "required", options.metrics_required),
        ("metrics", "weight_of_unavailable", options.metrics_weight_of_unavailable),
    ]
    with ExitStack() as stack:
        for group, name, value in settings:
            CONF.set_override(name, value, group)
            stack.callback(CONF.clear_override, name, group)
        timeutils.set_time_override(moment(NOW).replace(tzinfo=None))
        stack.callback(timeutils.clear_time_override)
        for where, name, instead in (
            (compute_node.db, "compute_node_update", mock.Mock()),
            (objects.CellMapping, "get_by_uuid", mock.Mock()),
            (nova_context, "target_cell", mock.MagicMock()),
            (objects.InstanceList, "fill_metadata", mock.Mock()),
        ):
            stack.enter_context(mock.patch.object(where, name, instead))
        yield


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _pairs(settings: Mapping[str, float]) -> list[str]:
    return [f"{name}={value!r}" for name, value in settings.items()]


def moment(microseconds: int) -> datetime:
    """Aware, in UTC."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def uuid_of(name: str) -> str:
    """Always the same for a name."""
    return str(uuid5(NAMESPACE_OID, name))


# -- what there is --------------------------------------------------------------------


def host_states(plan: Plan) -> list[Any]:
    """A HostState per host of ``plan``, in its order. Claims are consumed as Nova
    consumes a request, and their instances are on the host."""
    shared: dict[str, dict[str, Any]] = {}
    for host in plan.hosts:
        known = shared.setdefault(host["host"], {})
        for uuid, facts in (host.get("instances") or {}).items():
            known[uuid] = instance(uuid, facts)
    found = []
    for number, host in enumerate(plan.hosts, 1):
        service = host["service"]
        name, node = place_of(host)
        state = host_manager.HostState(name, node, service.get("cell_uuid"))
        state.update(
            compute_of(host, number),
            dict(service_of(host, number)),
            [aggregate_of(one, at) for at, one in _aggregates_of(plan, host)],
            shared[name],
        )
        for claim in plan.claims_of(host):
            state.consume_from_request(_spec_of_claim(claim))
            shared[name].setdefault(claim["instance"], instance(claim["instance"], {}))
        found.append(state)
    return found


def compute_of(host: Plain, number: int = 1) -> Any:
    """The ComputeNode that Nova makes of a row of its table."""
    empty: dict[str, Any] = {"supported_instances": [], "stats": {}}
    texts = ("cpu_info", "metrics", "pci_stats", "numa_topology", *empty)
    numbers = ("vcpus", "memory_mb", "local_gb", "vcpus_used", "memory_mb_used")
    row: dict[str, Any] = dict.fromkeys(objects.ComputeNode.fields)
    row |= dict.fromkeys((*numbers, "local_gb_used"), 0)
    row |= {key: value for key, value in host.items() if key in row}
    for name in texts:
        value = host.get(name) or empty.get(name)
        row[name] = None if value is None else json.dumps(value)
    _, node = place_of(host)
    row |= {
        "id": number,
        "uuid": host.get("uuid") or uuid_of(node),
        "hypervisor_hostname": node,
        "mapped": 1,
    }
    if row["free_ram_mb"] is None:
        row["free_ram_mb"] = row["memory_mb"] - row["memory_mb_used"]
    node_object = objects.ComputeNode()
    return objects.ComputeNode._from_db_object(None, node_object, row)


def service_of(host: Plain, number: int = 1) -> Any:
    """The nova-compute service of a host."""
    service = host["service"]
    seen = service.get("last_seen_up")
    return objects.Service(
        id=number,
        host=host["host"],
        binary="nova-compute",
        topic="compute",
        disabled=service.get("disabled", False),
        disabled_reason=None,
        forced_down=service.get("forced_down", False),
        last_seen_up=None if seen is None else moment(seen),
        created_at=moment(NOW),
        report_count=0,
    )


def _aggregates_of(plan: Plan, host: Plain) -> Iterator[tuple[int, Plain]]:
    for number, one in enumerate(plan.aggregates, 1):
        if host["host"] in one["hosts"]:
            yield number, one


def aggregate_of(one: Plain, number: int = 1) -> Any:
    """An aggregate with its metadata."""
    return objects.Aggregate(
        id=number,
        uuid=uuid_of(one["uuid"]),
        name=one["uuid"],
        hosts=sorted(one["hosts"]),
        metadata=dict(one["metadata"]),
    )


def instance(uuid: str, facts: Mapping[str, Any]) -> Any:
    """An instance with the properties of its image."""
    properties = facts.get("image_properties") or {}
    metadata = {IMAGE_PROPERTY + key: str(one) for key, one in properties.items()}
    return objects.Instance(uuid=uuid, image_ref="", system_metadata=metadata)


def _spec_of_claim(claim: Plain) -> Any:
    flavor = Flavor(
        vcpus=claim["vcpus"],
        memory_mb=claim["memory_mb"],
        root_gb=claim["disk_mb"] // 1024,
    )
    return request_spec(RequestSpec(flavor=flavor, instance_uuid=claim["instance"]))


# -- what is asked --------------------------------------------------------------------


def request_spec(spec: RequestSpec) -> Any:
    """Nova's object, read from what we write for those who speak that."""
    return objects.RequestSpec.obj_from_primitive(as_installed(spec_primitive(spec)))


def as_installed(primitive: Any) -> Any:
    """What a conductor of the installed Nova would write: its versions of the objects,
    without fields that it does not know."""
    if isinstance(primitive, list):
        return [as_installed(one) for one in primitive]
    if not isinstance(primitive, dict):
        return primitive
    made = {name: as_installed(one) for name, one in primitive.items()}
    if "nova_object.name" not in made:
        return made
    kind = base.NovaObjectRegistry.obj_classes()[made["nova_object.name"]][0]
    data = made["nova_object.data"]
    known = {name: one for name, one in data.items() if name in kind.fields}
    return {**made, "nova_object.version": kind.VERSION, "nova_object.data": known}


def scheduler(options: SchedulerOptions) -> Any:
    """A SchedulerManager with the filters and weighers that ``options`` enable; call
    it under ``configured``."""
    hosts = host_manager.HostManager.__new__(host_manager.HostManager)
    hosts.filter_handler = filters.HostFilterHandler()
    hosts.weight_handler = weights.HostWeightHandler()
    hosts.filter_cls_map = FILTERS
    hosts.filter_obj_map = {}
    hosts.enabled_filters = hosts._choose_host_filters(list(options.enabled_filters))
    hosts.weighers = [one() for one in WEIGHERS.values()]
    found = manager.SchedulerManager.__new__(manager.SchedulerManager)
    found.host_manager = hosts
    return found
