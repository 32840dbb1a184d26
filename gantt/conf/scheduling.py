"""The options of the scheduler, under Nova's groups and names, and their values.

Apart from those of the books because they come from another project's files: a
``nova.conf`` can be read as it is. Limits that are only ours stand in ``[scheduler]``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_config import cfg

from gantt.errors import Refused
from gantt.scheduler.options import (
    DEFAULT_FILTERS,
    DEFAULT_MULTIPLIERS,
    SchedulerOptions,
)

LOG = logging.getLogger(__name__)

_OURS: Final = SchedulerOptions()
_METRICS: Final = "metrics_weight_multiplier"
# What drivers were called while Nova had several.
_OLD_DRIVERS: Final = {
    "filter_scheduler": "filter",
    "caching_scheduler": "caching",
    "chance_scheduler": "chance",
}
_ALIAS_KEYS: Final = frozenset(
    "name capability_type vendor_id product_id device_type numa_policy resource_class "
    "traits live_migratable".split()
)

DEFAULT: Sequence[cfg.Opt] = [
    cfg.IntOpt(
        "service_down_time",
        default=60,
        min=0,
        help="Seconds after its last sign of life that a service counts as down.",
    ),
    cfg.StrOpt(
        "default_availability_zone",
        default=_OURS.default_availability_zone,
        help="The zone of hosts that no aggregate gives one.",
    ),
    *(
        cfg.FloatOpt(
            f"{name}_allocation_ratio",
            min=0.0,
            help=f"{what} that may be promised for each there is, where a host "
            f"reports no ratio of its own; unset: {ratio}.",
        )
        for name, what, ratio in (
            ("cpu", "VCPUs", _OURS.cpu_allocation_ratio),
            ("ram", "Megabytes of memory", _OURS.ram_allocation_ratio),
            ("disk", "Gigabytes of disk", _OURS.disk_allocation_ratio),
        )
    ),
    *(
        cfg.FloatOpt(
            f"initial_{name}_allocation_ratio",
            default=ratio,
            min=0.0,
            help="The ratio of an inventory that is made for a host's report "
            "which has none.",
        )
        for name, ratio in (
            ("cpu", _OURS.initial_cpu_allocation_ratio),
            ("ram", _OURS.initial_ram_allocation_ratio),
            ("disk", _OURS.initial_disk_allocation_ratio),
        )
    ),
]

SCHEDULER: Sequence[cfg.Opt] = [
    cfg.StrOpt(
        "driver",
        default=_OURS.driver,
        help="filter: every mask and score afresh; caching: the same from kept ones; "
        "chance: any host that passes; or the name of an entry point gantt.drivers.",
    ),
    cfg.StrOpt(
        "placement",
        default=_OURS.placement,
        help="Whose books decide amounts: embedded, the URL of a Placement, or "
        "keystone for the one that its catalogue names. [placement] says how to sign "
        "in there, as in nova.conf.",
    ),
    cfg.StrOpt(
        "placement_token",
        default=_OURS.placement_token,
        secret=True,
        help="X-Auth-Token for that URL, where [placement] sets no auth_type.",
    ),
    cfg.FloatOpt(
        "placement_timeout_s",
        default=_OURS.placement_timeout_s,
        min=0.1,
        max=3600,
        help="Seconds to wait for a remote Placement.",
    ),
    cfg.FloatOpt(
        "placement_lease_s",
        default=_OURS.placement_lease_s,
        min=1,
        max=86400,
        help="Seconds that a claim is held here while a remote Placement writes it; "
        "more than placement_timeout_s.",
    ),
    cfg.IntOpt(
        "max_placement_results",
        min=1,
        help="Candidates that a remote Placement is asked for at the most; unset: all.",
    ),
    cfg.StrOpt(
        "use_placement",
        default=_OURS.use_placement,
        choices=("auto", "always", "never"),
        help="auto: what hosts report decides amounts until every enabled host has "
        "inventory; always: the books; never: reports.",
    ),
    cfg.IntOpt(
        "max_attempts",
        default=_OURS.max_attempts,
        min=1,
        help="A host and its alternates are so many together.",
    ),
    *(
        cfg.BoolOpt(name, default=getattr(_OURS, name), help=text)
        for name, text in (
            (
                "limit_tenants_to_placement_aggregate",
                "Projects that aggregates name (filter_tenant_id) go there alone.",
            ),
            (
                "placement_aggregate_required_for_tenants",
                "Projects that no aggregate names go nowhere.",
            ),
            (
                "query_placement_for_image_type_support",
                "Ask for a trait of the image's disk format.",
            ),
            (
                "query_placement_for_routed_network_aggregates",
                "Ask for the aggregates of the segments of requested networks.",
            ),
            (
                "enable_isolated_aggregate_filtering",
                "Aggregates whose metadata names traits take only requests for them.",
            ),
            (
                "image_metadata_prefilter",
                "Ask for traits of the image's properties.",
            ),
        )
    ),
    cfg.IntOpt(
        "choices",
        default=_OURS.choices,
        min=1,
        max=1000,
        help="Places per instance that a claim may fall back on at the gate.",
    ),
    *(
        cfg.IntOpt(name, default=getattr(_OURS, name), min=least, help=text)
        for name, least, text in (
            (
                "claim_choices",
                1,
                "Such places that a claim for many instances carries in all; each "
                "instance has one at least.",
            ),
            (
                "max_instances",
                1,
                "Instances that one request may ask for; more are refused.",
            ),
            (
                "max_request_groups",
                1,
                "Request groups that one request may have; more are refused.",
            ),
            (
                "max_request_names",
                1,
                "Hosts, aggregates, traits and the like that one request may name in "
                "all its lists; more are refused.",
            ),
            (
                "max_statement",
                1,
                "Aggregates, instances, members of a group or traits that may be "
                "named at once; more are refused.",
            ),
            (
                "max_statement_hosts",
                1,
                "Hosts that aggregates which are named at once may have in all; more "
                "are refused.",
            ),
            (
                "max_shapes",
                2,
                "Shapes of requests that the caching driver keeps; what was not asked "
                "for the longest goes first.",
            ),
            (
                "max_shape_hosts",
                1,
                "Hosts that the kept shapes may have in all: large fleets keep fewer "
                "shapes, but two.",
            ),
            (
                "kept_changes",
                1,
                "Changes of hosts that are remembered for kept shapes; what is older "
                "is made anew.",
            ),
            (
                "explain_budget",
                1,
                "Steps of the search for the reason why nobody has room; when they "
                "are spent, the answer goes without.",
            ),
            (
                "change_budget",
                1,
                "Steps of the search for the smallest change of a refused request "
                "that would have found hosts: each try costs some 25 for every 1,024 "
                "hosts, one for each extra spec (80 where there are more than 32), and "
                "one for each instance, which costs 4 more. When they are "
                "spent, the answer says that the search ended.",
            ),
            (
                "capacity_per_host",
                1,
                "More instances than this are not counted on one host.",
            ),
        )
    ),
    cfg.IntOpt(
        "claim_attempts",
        default=_OURS.claim_attempts,
        min=1,
        max=1000,
        help="How often new hosts are picked when all places were lost to others.",
    ),
    cfg.IntOpt(
        "records",
        default=_OURS.records,
        min=1,
        max=1_000_000,
        help="Decisions of its own that each process remembers, whatever becomes of "
        "the database; fewer where they are for more than 16 instances each on "
        "average.",
    ),
    cfg.IntOpt(
        "shared_records",
        default=_OURS.shared_records,
        min=0,
        max=10_000_000,
        help="Decisions that are kept in the database, where every process finds those "
        "of all; fewer where they are for more than 16 instances each on average. 0: "
        "none, each process tells its own.",
    ),
    cfg.IntOpt(
        "shared_backlog",
        default=_OURS.shared_backlog,
        min=1,
        max=1_000_000,
        help="Decisions that may wait in a process to be written there; when there are "
        "more, the oldest are left out, refusals last.",
    ),
    cfg.IntOpt(
        "shared_scores",
        default=_OURS.shared_scores,
        min=0,
        max=1_000_000,
        help="Of the decisions that a process makes in a second, so many are written "
        "there with the scores of the best hosts; the rest without.",
    ),
    cfg.IntOpt(
        "record_hosts",
        default=_OURS.record_hosts,
        min=0,
        max=1_000_000,
        help="Hosts whose scores such a record keeps.",
    ),
    cfg.FloatOpt(
        "report_age_s",
        default=_OURS.report_age_s,
        min=1,
        max=86_400,
        help="A report of a host that says nothing new is written down all the same "
        "when the last one is this old. What decisions tell of the age of hosts is as "
        "exact.",
    ),
    cfg.FloatOpt(
        "lease_skew_s",
        default=_OURS.lease_skew_s,
        min=0,
        max=3600,
        help="Seconds by which clocks may differ before the lease of a claim ends.",
    ),
]

FILTER_SCHEDULER: Sequence[cfg.Opt] = [
    cfg.IntOpt(
        "host_subset_size",
        default=_OURS.host_subset_size,
        min=1,
        help="Draw the host from so many of the best.",
    ),
    cfg.BoolOpt(
        "shuffle_best_same_weighed_hosts",
        default=_OURS.shuffle_best_same_weighed_hosts,
        help="Draw among hosts that weigh the same.",
    ),
    cfg.IntOpt(
        "max_io_ops_per_host",
        default=_OURS.max_io_ops_per_host,
        min=0,
        help="For IoOpsFilter: builds, resizes and the like at once.",
    ),
    cfg.IntOpt(
        "max_instances_per_host",
        default=_OURS.max_instances_per_host,
        min=1,
        help="For NumInstancesFilter.",
    ),
    cfg.MultiStrOpt(
        "available_filters",
        default=list(_OURS.available_filters),
        help="Dotted paths of classes of filters, or of functions that return them. "
        "May be repeated.",
    ),
    cfg.ListOpt(
        "enabled_filters",
        default=list(DEFAULT_FILTERS),
        help="Names of the filters that hosts must pass.",
    ),
    cfg.ListOpt(
        "weight_classes",
        default=list(_OURS.weight_classes),
        help="Dotted paths of classes of weighers, or of functions that return them.",
    ),
    *(
        cfg.FloatOpt(
            name,
            default=factor,
            help="What the normalised score of this weigher is multiplied by; "
            "negative turns it round, 0 leaves it out.",
        )
        for name, factor in DEFAULT_MULTIPLIERS.items()
        if name != _METRICS
    ),
    cfg.ListOpt(
        "image_props_weight_setting",
        default=[],
        help="For ImagePropertiesWeigher: PROPERTY=FACTOR.",
    ),
    cfg.StrOpt(
        "image_properties_default_architecture",
        help="For ImagePropertiesFilter: of images that name none.",
    ),
    cfg.ListOpt("isolated_images", default=[], help="For IsolatedHostsFilter: ids."),
    cfg.ListOpt("isolated_hosts", default=[], help="For IsolatedHostsFilter: names."),
    cfg.BoolOpt(
        "restrict_isolated_hosts_to_isolated_images",
        default=_OURS.restrict_isolated_hosts_to_isolated_images,
        help="For IsolatedHostsFilter: other images stay away from these hosts.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_namespace",
        help="For AggregateImagePropertiesIsolation: only keys that begin so count.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_separator",
        default=_OURS.aggregate_image_properties_isolation_separator,
        help="What stands after that namespace.",
    ),
    cfg.BoolOpt(
        "pci_in_placement",
        default=_OURS.pci_in_placement,
        help="Devices are kept in the books, and asked of them.",
    ),
]

METRICS: Sequence[cfg.Opt] = [
    cfg.FloatOpt(
        "weight_multiplier",
        default=DEFAULT_MULTIPLIERS[_METRICS],
        help="What the normalised score of MetricsWeigher is multiplied by.",
    ),
    cfg.ListOpt(
        "weight_setting", default=[], help="For MetricsWeigher: METRIC=FACTOR."
    ),
    cfg.BoolOpt(
        "required",
        default=_OURS.metrics_required,
        help="A host without one of these metrics fails the request, unless "
        "MetricsFilter has removed it.",
    ),
    cfg.FloatOpt(
        "weight_of_unavailable",
        default=_OURS.metrics_weight_of_unavailable,
        help="The score of a host without one of these metrics, if not required.",
    ),
]

PCI: Sequence[cfg.Opt] = [
    cfg.MultiStrOpt(
        "alias",
        default=[],
        help='A JSON object such as {"name": "gpu", "vendor_id": "10de", "product_id": '
        '"1eb8"}; several of one name are alternatives. May be repeated.',
    ),
]

WORKAROUNDS: Sequence[cfg.Opt] = [
    cfg.BoolOpt(
        "disable_fallback_pcpu_query",
        default=_OURS.disable_fallback_pcpu_query,
        help="Never ask for VCPU where nobody has the PCPU that was asked for.",
    ),
]

GROUPS: Mapping[str, Sequence[cfg.Opt]] = {
    "scheduler": SCHEDULER,
    "filter_scheduler": FILTER_SCHEDULER,
    "metrics": METRICS,
    "pci": PCI,
    "workarounds": WORKAROUNDS,
}

# Options whose values are called otherwise.
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
_PAIRS: Final = {
    ("filter_scheduler", "image_props_weight_setting"),
    ("metrics", "weight_setting"),
}


def scheduler_options(conf: cfg.ConfigOpts) -> SchedulerOptions:
    """All of the above as one value. Raises Refused."""
    found: dict[str, Any] = {}
    multipliers: dict[str, float] = {}
    for group, opts in (("DEFAULT", DEFAULT), *GROUPS.items()):
        values = conf if group == "DEFAULT" else conf[group]
        for opt in opts:
            key, value = (group, opt.dest), values[opt.dest]
            _check_finite(group, opt.name, value)
            if key in _MULTIPLIERS:
                multipliers[_MULTIPLIERS[key]] = value
            elif value is not None:  # an unset ratio leaves the default as it is
                found[_RENAMED.get(key, opt.dest)] = _converted(key, value)
    options = SchedulerOptions(**found, multipliers=multipliers)
    if options.placement_lease_s <= options.placement_timeout_s:
        raise Refused(
            f"placement_lease_s of [scheduler] is {options.placement_lease_s:g}: make "
            "it longer than placement_timeout_s, which is "
            f"{options.placement_timeout_s:g}."
        )
    return options


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
    """``KEY=NUMBER`` words; others are warned about and dropped, as Nova does."""
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
            "%s: ignoring what is not KEY=NUMBER: %s", name, ", ".join(map(repr, bad))
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
    """One alias of devices. Raises Refused."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(
            f"alias of [pci] must be a JSON object, not {text!r}: {error}."
        ) from None
    unknown = sorted(set(found) - _ALIAS_KEYS)
    if unknown or not isinstance(found.get("name"), str) or not found["name"]:
        raise Refused(
            f"alias of [pci] must have a name, and may have "
            f"{', '.join(sorted(_ALIAS_KEYS - {'name'}))}: {text!r} does not do."
        )
    return found
