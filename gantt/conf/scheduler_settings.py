"""The options of the scheduler, under Nova's groups and names, and their values.

Separate from the options of the books because a ``nova.conf`` can be read unchanged.
Limits that only Gantt has are in ``[scheduler]``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_config import cfg

from gantt.conf.option_table import rows
from gantt.errors import Refused
from gantt.scheduler.options import (
    DEFAULT_MULTIPLIERS,
    SchedulerOptions,
    default_multiplier,
)

LOG = logging.getLogger(__name__)

_OURS: Final = SchedulerOptions()
_METRICS: Final = "metrics_weight_multiplier"
_LEASE_TIMEOUTS: Final = 4
# Driver names from Nova releases that had several.
_OLD_DRIVERS: Final = {
    "filter_scheduler": "filter",
    "caching_scheduler": "caching",
    "chance_scheduler": "chance",
}
ALIAS_KEYS: Final = frozenset(
    "name capability_type vendor_id product_id device_type numa_policy resource_class "
    "traits live_migratable".split()
)

DEFAULT: Sequence[cfg.Opt] = [
    cfg.IntOpt(
        "service_down_time",
        default=60,
        min=0,
        help="Seconds after its last heartbeat that a service counts as down.",
    ),
    *rows(
        _OURS,
        {
            "default_availability_zone": "Availability zone of hosts whose aggregates "
            "set none.",
            **dict.fromkeys(
                (
                    "initial_cpu_allocation_ratio 0",
                    "initial_ram_allocation_ratio 0",
                    "initial_disk_allocation_ratio 0",
                ),
                "Allocation ratio of a host that Nova reports without one, unless the "
                "option without initial_ is set. Hosts of other reports have 1.0.",
            ),
        },
    ),
    *(
        cfg.FloatOpt(
            f"{name}_allocation_ratio",
            min=0.0,
            help=f"{what} that may be allocated per physical one, for hosts that "
            f"Nova reports without a ratio; unset: initial_{name}_allocation_ratio.",
        )
        for name, what in (
            ("cpu", "VCPUs"),
            ("ram", "Megabytes of memory"),
            ("disk", "Gigabytes of disk"),
        )
    ),
]

SCHEDULER: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "placement_token secret": "X-Auth-Token for the remote Placement, if "
            "[placement] sets no auth_type.",
            "max_placement_results 1": "Maximum candidates to request from a remote "
            "Placement; unset: all.",
            "use_placement": "Source of resource amounts. auto: host reports until "
            "every enabled host has inventory, then the books; always: the books; "
            "never: host reports.",
            "driver": "filter: compute every mask and score per request; caching: the "
            "same result from cached ones; chance: a random host that passes the "
            "filters; or the name of an entry point in gantt.drivers.",
            "placement": "Where resource amounts are checked and claimed: embedded, "
            "the URL of a Placement service, or keystone to find that service in the "
            "catalogue. [placement] configures authentication, as in nova.conf.",
            "placement_timeout_s 0.1..3600": "Timeout in seconds for requests to a "
            "remote Placement. A claim is held locally for four times as long, and at "
            "least two minutes, while it is written there.",
            "max_attempts 1": "Hosts returned per instance: the chosen one and its "
            "alternates.",
            "limit_tenants_to_placement_aggregate": "Restrict projects that aggregates "
            "name (filter_tenant_id) to these aggregates.",
            "placement_aggregate_required_for_tenants": "Refuse projects that no "
            "aggregate names.",
            "query_placement_for_image_type_support": "Require the trait of the "
            "image's disk format.",
            "query_placement_for_routed_network_aggregates": "Require an aggregate of "
            "a segment of each requested network. gantt scheduler asks Neutron for the "
            "segments, with the options of [neutron] as in nova.conf; other callers "
            "name them.",
            "enable_isolated_aggregate_filtering": "Reserve aggregates whose metadata "
            "names traits for requests that require these traits.",
            "image_metadata_prefilter": "Require traits for the image's properties.",
            "reports_write_books": "Host reports and aggregates also write "
            "inventories, traits and aggregates of providers. Switch it off where "
            "computes write them to Placement themselves, as nova-compute does.",
            "requires_service": "Use only hosts that have a nova-compute service.",
            "names_are_checked": "Nova's API has judged the zones, server groups, "
            "cells, aggregates, hints and extra specs that requests name: unknown "
            "ones, and those that no enabled filter reads, mean what they do in Nova. "
            "Off: such a request is refused. gantt scheduler always has it on.",
            "max_instances 1": "Maximum instances per request; requests for more are "
            "refused.",
            "max_items 1": "Maximum items of one demand (POST /gantt/place); demands "
            "with more are refused. Each item may be evaluated on all hosts while no "
            "other decision runs.",
            "max_starts 0": "Bookings of one host that may be unconfirmed at once, so "
            "that a burst does not start all of its machines on one: the next go to "
            "other hosts, or are refused. One is unconfirmed until it is confirmed, "
            "its lease ends or its host names it. 0: any number. The label 'starts' of "
            "a host ('gantt host label HOST starts=4') overrides it there.",
            "plan_names_s 0..31536000": "Seconds for which the name of a plan "
            "(POST /gantt/place) is known after the last of what it placed has ended: "
            "the same demand has the same answer until then, another one is refused.",
            "max_relations 1": "Maximum relations between the items of one demand; "
            "demands with more are refused.",
            "max_waiting 0": "Demands that may wait for room at once (POST "
            "/gantt/place with wait_s); more are refused. 0: none may.",
            "waiting_per_pass 1": "Demands that wait which the leader tries to place "
            "after something changed, the highest priority and the oldest first; of "
            "those that ask for the same, only the first.",
            "max_request_groups 1": "Maximum request groups, and PCI requests, per "
            "request; requests with more are refused.",
            "max_request_names 1": "Maximum hosts, aggregates, traits and similar "
            "names in all lists of one request together; requests with more are "
            "refused.",
            "max_statement 1": "Maximum aggregates, instances, group members, traits "
            "or reports that one call may name; calls with more are refused.",
            "max_report_age_s 1": "Maximum age in seconds of an agent's report; older "
            "ones are refused.",
            "max_report_lead_s 0": "Seconds that the clock of a reporting host may be "
            "ahead; reports further in the future are refused.",
            "max_host_traits 0": "Maximum custom traits that the reports of one host's "
            "agent may bring into being over time; a report with more is refused.",
            "max_host_instances 1": "Maximum instances that may be known on a host by "
            "its agent's reports; a report with more is refused.",
            "max_host_artifacts 0..10000": "Maximum artifacts that a host may report "
            "to hold; a report with more is refused.",
            "max_artifacts 0": "Maximum artifacts that may be registered; a further "
            "one is refused.",
            "max_report_bytes 1024": "Maximum size of one agent's report; longer ones "
            "are refused.",
            "max_statement_hosts 1": "Maximum total hosts of the aggregates that one "
            "call names; calls with more are refused.",
            "max_shapes 2": "Request shapes that the caching driver keeps; the least "
            "recently used is evicted first.",
            "max_shape_hosts 1": "Maximum total hosts of all cached shapes: large "
            "fleets cache fewer shapes, but at least two.",
            "kept_changes 1": "Host changes that are kept to update cached shapes; "
            "older shapes are rebuilt.",
            "claim_choices 1": "Maximum candidate places that a claim for many "
            "instances carries in total; each instance has at least one.",
            "explain_budget 1": "Maximum steps of the search for why no provider has "
            "room. Once they are used up, the answer omits the reason.",
            "change_budget 1": "Maximum steps of the search for the smallest change to "
            "a refused request that would have found hosts: each try costs about 25 "
            "per 1,024 hosts, one per extra spec (80 if there are more than 32), and 5 "
            "per instance; 2,000 more with a driver of another package. Once they are "
            "used up, the answer says that the search ended.",
            "capacity_per_host 1": "Maximum instances to count per host when capacity "
            "is computed.",
            "capacity_flavors 1..1000": "Maximum flavors that one call counts "
            "together; calls with more are refused.",
            "capacity_rules 1..100000": "Maximum rules of which one call tells the "
            "price; the answer says how many were left out.",
            "capacity_steps 1": "Maximum steps of a fair split, each of which compares "
            "a flavor with another on 1,024 hosts; and of the price of rules, where "
            "an instance that is tried on a host costs 20: as many to count with every "
            "rule, and as many for all others. Where they end first, the answer says "
            "that it is a lower bound, or how many rules it leaves out.",
            "topology_fits 1": "Maximum hosts into whose NUMA cells and devices one "
            "request is fitted exactly; it takes some tenths of a millisecond each. "
            "Capacity fits an instance after the other on every host: where this ends "
            "it, the answer says that it is a lower bound.",
            "topology_steps 1": "Maximum host cells to try for an instance's NUMA "
            "cells on one host. Once they are used up, the host does not fit. Hosts "
            "with up to 10 cells never take more than 5,120.",
            "relation_steps 1": "Steps of the search for a way to keep relations by "
            "several topology keys for all instances of a request at once, beside one "
            "for each of them. Where it ends first, they are placed one by one, and a "
            "refusal says so.",
            "joint_steps 1": "Steps of the search for places for all items of a demand "
            "at once, which is made where one item after the other has no place. A "
            "step is one place tried, per thousand hosts. Where it ends first, the "
            "demand is refused, and the refusal says so.",
            "plugin_time_limit_s 0.01..3600": "Time limit in seconds for one call of a "
            "filter, weigher or driver of another package. When it is exceeded, the "
            "request fails, and the plug-in is suspended until the call returns.",
            "plugin_threads 1..1000": "Maximum threads for filters, weighers and "
            "drivers of other packages. A call that does not return keeps its thread.",
            "records 1..1000000": "Decisions that each process keeps in memory, "
            "independent of the database; fewer if they average more than 16 instances "
            "each.",
            "shared_records 0..10000000": "Decisions that are kept in the database, "
            "shared by all processes; fewer if they average more than 16 instances "
            "each. 0: none, each process shows only its own.",
            "shared_backlog 1..1000000": "Decisions that may wait in a process to be "
            "written to the database; beyond that, the oldest are dropped, refusals "
            "last.",
            "shared_scores 0..1000000": "Decisions per second and process that are "
            "written to the database with the scores of the best hosts; the rest are "
            "written without.",
            "record_hosts 0..1000000": "Hosts whose scores a decision record keeps.",
            "record_request_bytes 0..65536": "The longest request, as JSON, that a "
            "decision record keeps, to be tried again; 0: none.",
        },
    ),
]

FILTER_SCHEDULER: Sequence[cfg.Opt] = [
    cfg.MultiStrOpt(
        "available_filters",
        default=list(_OURS.available_filters),
        help="Dotted paths of filter classes, or of functions that return them. "
        "May be repeated.",
    ),
    *(
        cfg.FloatOpt(
            name,
            default=factor,
            help="Multiplier for the normalised score of this weigher; a negative "
            "value reverses it, 0 disables it.",
        )
        for name, factor in DEFAULT_MULTIPLIERS.items()
        if name != _METRICS
    ),
    cfg.ListOpt(
        "image_props_weight_setting",
        default=[],
        help="For ImagePropertiesWeigher: PROPERTY=FACTOR.",
    ),
    *rows(
        _OURS,
        {
            "image_properties_default_architecture": "For ImagePropertiesFilter: "
            "architecture of images that name none.",
            "aggregate_image_properties_isolation_namespace": "For "
            "AggregateImagePropertiesIsolation: consider only keys with this prefix.",
            "host_subset_size 1": "Pick the host at random from this many of the best.",
            "shuffle_best_same_weighed_hosts": "Pick at random among the best hosts of "
            "equal weight.",
            "max_io_ops_per_host 0": "For IoOpsFilter: maximum concurrent builds, "
            "resizes and similar tasks.",
            "max_instances_per_host 1": "For NumInstancesFilter: maximum instances per "
            "host.",
            "enabled_filters": "Names of the filters that hosts must pass.",
            "weight_classes": "Dotted paths of weigher classes, or of functions that "
            "return them.",
            "isolated_images": "For IsolatedHostsFilter: ids of isolated images.",
            "isolated_hosts": "For IsolatedHostsFilter: names of isolated hosts.",
            "restrict_isolated_hosts_to_isolated_images": "For IsolatedHostsFilter: "
            "keep other images off isolated hosts.",
            "aggregate_image_properties_isolation_separator": "For "
            "AggregateImagePropertiesIsolation: separator after the namespace.",
            "pci_in_placement": "Track PCI devices in the books and request them from "
            "there.",
        },
    ),
]

METRICS: Sequence[cfg.Opt] = [
    cfg.FloatOpt(
        "weight_multiplier",
        default=DEFAULT_MULTIPLIERS[_METRICS],
        help="Multiplier for the normalised score of MetricsWeigher.",
    ),
    cfg.ListOpt(
        "weight_setting", default=[], help="For MetricsWeigher: METRIC=FACTOR."
    ),
    cfg.BoolOpt(
        "required",
        default=_OURS.metrics_required,
        help="Fail the request if a host lacks one of these metrics, unless "
        "MetricsFilter removes that host.",
    ),
    cfg.FloatOpt(
        "weight_of_unavailable",
        default=_OURS.metrics_weight_of_unavailable,
        help="Score of a host that lacks one of these metrics, if not required.",
    ),
]

PCI: Sequence[cfg.Opt] = [
    cfg.MultiStrOpt(
        "alias",
        default=[],
        deprecated_name="pci_alias",
        deprecated_group="DEFAULT",
        help='A JSON object such as {"name": "gpu", "vendor_id": "10de", "product_id": '
        '"1eb8"}; aliases with the same name are alternatives. May be repeated.',
    )
]

WORKAROUNDS: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "disable_fallback_pcpu_query": "Do not fall back to VCPU if no provider "
            "has the requested PCPU."
        },
    )
]

COMPUTE: Sequence[cfg.Opt] = [
    *rows(
        _OURS,
        {
            "packing_host_numa_cells_allocation_strategy": "Fill the NUMA cells of a "
            "host one after the other instead of evenly.",
        },
    )
]

# In [gantt], beside the options of the service.
REPORTS: Sequence[cfg.Opt] = [
    cfg.MultiStrOpt(
        "usual_flavors",
        default=[],
        help="A flavor and how often it is asked for, such as "
        "40xvcpus=4,memory_mb=16384,CUSTOM_GPU=1*2, for RoomWeigher. With name=large "
        "among these, gantt capacity and others take it by that name. May be repeated.",
    ),
    *rows(
        _OURS,
        {
            "packing": "What the multipliers of weighers are that no option sets: "
            "spread instances over hosts, stack them on as few as possible, or keep "
            "room for the usual flavors.",
            "image_locality": "Whether a request prefers hosts that have its image, by "
            "what agents report and by instances of the same image there; not if it "
            "boots from a volume. locality_weight_multiplier says how much.",
            "cold_artifacts": "How a host counts to which an artifact is only on its "
            "way. pack: as if it were there, so that all who need it go where the "
            "first went; spread: less than others, so that they go elsewhere.",
            "report_also": "Fields that agents report beside what the enabled filters "
            "and weighers need, for a dashboard, say: host_ip, metrics.cpu.percent.",
        },
    ),
]

GROUPS: Mapping[str, Sequence[cfg.Opt]] = {
    "scheduler": SCHEDULER,
    "filter_scheduler": FILTER_SCHEDULER,
    "metrics": METRICS,
    "pci": PCI,
    "compute": COMPUTE,
    "workarounds": WORKAROUNDS,
}

# Options whose values have other names in SchedulerOptions.
_RENAMED: Final = {
    ("metrics", "weight_setting"): "metrics_weight_setting",
    ("metrics", "required"): "metrics_required",
    ("metrics", "weight_of_unavailable"): "metrics_weight_of_unavailable",
    ("pci", "alias"): "pci_alias",
}
_MULTIPLIERS: Final = {
    **{("filter_scheduler", name): name for name in DEFAULT_MULTIPLIERS},
    ("metrics", "weight_multiplier"): _METRICS,
}
_GROUPS: Final = {"DEFAULT": DEFAULT, "gantt": REPORTS, **GROUPS}
_PAIRS: Final = {
    ("filter_scheduler", "image_props_weight_setting"),
    ("metrics", "weight_setting"),
}


def fields() -> Iterator[tuple[str, str, cfg.Opt]]:
    """Each option with its group, and before these what takes its value: the name of a
    field of SchedulerOptions, or of a weigher's factor."""
    for group, opts in _GROUPS.items():
        for opt in opts:
            key = (group, opt.dest)
            yield _MULTIPLIERS.get(key) or _RENAMED.get(key, opt.dest), group, opt


def scheduler_options(conf: cfg.ConfigOpts) -> SchedulerOptions:
    """All of the above as one value. Raises Refused."""
    found: dict[str, Any] = {}
    multipliers: dict[str, float] = {}
    for group, opts in _GROUPS.items():
        values = conf if group == "DEFAULT" else conf[group]
        for opt in opts:
            key, value = (group, opt.dest), values[opt.dest]
            _check_finite(group, opt.name, value)
            if key in _MULTIPLIERS:
                name = _MULTIPLIERS[key]
                where = conf.get_location(opt.dest, None if values is conf else group)
                if where is None or where.location is cfg.Locations.opt_default:
                    value = default_multiplier(name, conf.gantt.packing)
                multipliers[name] = value
            elif value is not None:  # an unset ratio leaves the default as it is
                found[_RENAMED.get(key, opt.dest)] = _converted(key, value)
    # The local lease must outlast the remote write.
    found["placement_lease_s"] = max(
        _OURS.placement_lease_s, _LEASE_TIMEOUTS * found["placement_timeout_s"]
    )
    return SchedulerOptions(**found, multipliers=multipliers)


def _converted(key: tuple[str, str], value: Any) -> Any:
    if key in _PAIRS:
        return pairs(f"{key[1]} of [{key[0]}]", value)
    if key == ("pci", "alias"):
        return tuple(_alias(text) for text in value)
    if key == ("scheduler", "driver"):
        return _OLD_DRIVERS.get(value, value)
    if key == ("scheduler", "placement"):
        return _placement(value)
    return tuple(value) if isinstance(value, list) else value


def pairs(name: str, words: Iterable[str]) -> dict[str, float]:
    """Parse ``KEY=NUMBER`` words; log and drop others, as Nova does."""
    good: dict[str, float] = {}
    bad = []
    for word in words:
        key, _, text = word.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if key.strip() and math.isfinite(value):
            good[key.strip()] = value
        else:
            bad.append(word)
    if bad:
        LOG.warning(
            "%s: ignoring entries that are not KEY=NUMBER: %s",
            name,
            ", ".join(map(repr, bad)),
        )
    return good


def _check_finite(group: str, name: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(f"{name} of [{group}] must be a finite number, not {value}.")


def _placement(value: str) -> str:
    if value in ("embedded", "keystone") or value.startswith(("http://", "https://")):
        return value
    raise Refused(
        f"placement of [scheduler] is {value!r}: it must be embedded, keystone, or the "
        "URL of a Placement such as http://placement.example:8778."
    )


def _alias(text: str) -> dict[str, Any]:
    """Parse one PCI alias. Raises Refused."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(
            f"alias of [pci] must be a JSON object, not {text!r}: {error}."
        ) from None
    unknown = sorted(set(found) - ALIAS_KEYS)
    if unknown or not isinstance(found.get("name"), str) or not found["name"]:
        raise Refused(
            f"alias of [pci] must have a name, and may have "
            f"{', '.join(sorted(ALIAS_KEYS - {'name'}))}: {text!r} is not valid."
        )
    return found
