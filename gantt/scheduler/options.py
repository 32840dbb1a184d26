"""The options of scheduling, as one frozen value.

Names are those of Nova's ``[scheduler]``, ``[filter_scheduler]`` and ``[metrics]``;
``conf`` fills it from files, library users pass it to ``connect``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

DEFAULT_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
)

DEFAULT_MULTIPLIERS: dict[str, float] = {
    "ram_weight_multiplier": 1.0,
    "cpu_weight_multiplier": 1.0,
    "disk_weight_multiplier": 1.0,
    "io_ops_weight_multiplier": -1.0,
    "num_instances_weight_multiplier": 0.0,
    "pci_weight_multiplier": 1.0,
    "soft_affinity_weight_multiplier": 1.0,
    "soft_anti_affinity_weight_multiplier": 1.0,
    "domain_spread_weight_multiplier": 2.0,
    "locality_weight_multiplier": 5.0,
    "build_failure_weight_multiplier": 1000000.0,
    "cross_cell_move_weight_multiplier": 1000000.0,
    "hypervisor_version_weight_multiplier": 1.0,
    "image_props_weight_multiplier": 0.0,
    "room_weight_multiplier": 0.0,
    "preferred_labels_weight_multiplier": 10.0,
    "metrics_weight_multiplier": 1.0,
}

PACKINGS: dict[str, dict[str, float]] = {
    "spread": {},
    "stack": {
        "ram_weight_multiplier": -1.0,
        "cpu_weight_multiplier": -1.0,
        "disk_weight_multiplier": -1.0,
        "io_ops_weight_multiplier": 0.0,
        "room_weight_multiplier": 0.4,
    },
    "room": {
        "ram_weight_multiplier": 0.0,
        "cpu_weight_multiplier": 0.0,
        "disk_weight_multiplier": 0.0,
        "io_ops_weight_multiplier": 0.0,
        "room_weight_multiplier": 1.0,
    },
}
"""Multipliers that ``packing`` sets where the options do not."""


class SchedulerOptions(Struct, frozen=True, dict=True):
    """Policy and limits of a scheduler.

    ``driver``: filter, caching, chance, or the name of an entry point.
    ``enabled_filters``: class names; ``available_filters`` and ``weight_classes``:
    dotted paths of out-of-tree classes, of functions that return them, or Nova's own
    names for all of its classes. ``placement``: "embedded", or the URL of a remote
    Placement ("keystone": the one that the catalogue names), which decides amounts
    then. ``placement_token``: X-Auth-Token for it, without a keystone session.
    ``placement_timeout_s``: for each wait for its answer; ``placement_lease_s``: so
    long a claim is held here while it is written there. ``max_placement_results``:
    maximum number of candidates requested from it. ``multipliers``: weigher option ->
    factor; those not named are as ``packing`` says, else as ``DEFAULT_MULTIPLIERS``.
    ``usual_flavors``: for RoomWeigher (``request.usual_flavors``).
    ``service_down_time`` in seconds. ``choices``: alternative hosts of a claim, per
    instance, and hosts tried for instances that must share one. ``claim_choices``: of
    all its instances together. ``max_instances``, ``max_request_groups``,
    ``max_request_names``: of one request; ``max_items``, ``max_relations``: of a
    demand; ``max_starts``: bookings of a host that may be unconfirmed at once (0: any
    number); ``plan_names_s``: how long the name of one is known after what it placed;
    ``max_waiting``: demands that wait for room; ``waiting_per_pass``: that the leader
    tries to place one after the other;
    ``max_statement``: aggregates, instances, members, traits or reports in one
    statement; ``max_statement_hosts``: hosts of such
    aggregates. ``max_shapes``: of requests, that the caching driver keeps, with
    ``max_shape_hosts`` in all; ``kept_changes``: how many changes of hosts are stored
    for it. ``explain_budget``: steps of the search for a reason; ``change_budget``: of
    that for the smallest change of a refused request; ``capacity_per_host``: where
    counting ends; ``capacity_flavors``: that one call counts together;
    ``capacity_rules``: of which it tells the price; ``capacity_steps``: of a fair
    split, and of prices. ``topology_fits``: hosts into
    which one request is fitted exactly; ``topology_steps``: of the search for host
    cells on each. ``relation_steps``: of the search for a way to keep relations by
    several topology keys at once, beside one for each instance; ``joint_steps``: of
    that for all items of a demand at once.
    ``claim_attempts``: how often new hosts are picked when all choices are lost.
    ``plugin_time_limit_s``: for one call of a filter, weigher or driver of another
    package; ``plugin_threads``: in which they run, those of calls that do not return
    included. ``records``: decisions stored by a process; ``shared_records``: by all of
    one database (0: not shared); ``shared_backlog``: waiting to be shared;
    ``shared_scores``: shared with scores, per second. ``record_hosts``: hosts whose
    scores a record keeps; ``record_request_bytes``: the longest request that one keeps
    (0: none). ``lease_skew_s``: how far clocks may differ before a lease
    ends. ``report_age_s``: a report without changes is stored when the last one is so
    old; the ages in decisions are as exact. ``max_report_age_s``,
    ``max_report_lead_s``: how old the report of an agent may be, and how far its clock
    may be ahead; ``max_report_bytes``: how long. ``reports_write_books``: reports and
    aggregates also write inventories, traits and aggregates of providers; off where
    computes write Placement themselves. ``requires_service``: a host without a
    nova-compute service is not used. ``names_are_checked``: Nova's API has judged the
    names in requests, so that unknown ones mean what they do in Nova. ``report_also``:
    what agents report beside what filters and weighers need (``model.needs``).
    ``image_locality``: the image of a request of Nova is an artifact that it names;
    ``cold_artifacts``: hosts to which an artifact is on its way only are preferred as
    those that hold it, or come last. ``max_host_artifacts``: that one host may report;
    ``max_artifacts``: that may be registered.
    """

    driver: str = "caching"
    placement: str = "embedded"
    placement_token: str = "admin"  # noqa: S105 - the name that noauth2 lets in
    placement_timeout_s: float = 30.0
    placement_lease_s: float = 120.0
    max_placement_results: int | None = None
    use_placement: Literal["auto", "always", "never"] = "auto"
    enabled_filters: tuple[str, ...] = DEFAULT_FILTERS
    available_filters: tuple[str, ...] = ("nova.scheduler.filters.all_filters",)
    weight_classes: tuple[str, ...] = ("nova.scheduler.weights.all_weighers",)
    multipliers: dict[str, float] = {}
    packing: Literal["spread", "stack", "room"] = "spread"
    usual_flavors: tuple[str, ...] = ()
    host_subset_size: int = 1
    shuffle_best_same_weighed_hosts: bool = False
    max_attempts: int = 3
    max_io_ops_per_host: int = 8
    max_instances_per_host: int = 50
    isolated_images: tuple[str, ...] = ()
    isolated_hosts: tuple[str, ...] = ()
    restrict_isolated_hosts_to_isolated_images: bool = True
    image_properties_default_architecture: str | None = None
    aggregate_image_properties_isolation_namespace: str | None = None
    aggregate_image_properties_isolation_separator: str = "."
    image_props_weight_setting: dict[str, float] = {}
    metrics_weight_setting: dict[str, float] = {}
    metrics_required: bool = True
    metrics_weight_of_unavailable: float = -10000.0
    pci_in_placement: bool = False
    packing_host_numa_cells_allocation_strategy: bool = False
    pci_alias: tuple[dict[str, Any], ...] = ()
    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    query_placement_for_routed_network_aggregates: bool = False
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    disable_fallback_pcpu_query: bool = False
    service_down_time: float = 60.0
    default_availability_zone: str = "nova"
    cpu_allocation_ratio: float = 0.0
    ram_allocation_ratio: float = 0.0
    disk_allocation_ratio: float = 0.0
    initial_cpu_allocation_ratio: float = 4.0
    initial_ram_allocation_ratio: float = 1.0
    initial_disk_allocation_ratio: float = 1.0
    choices: int = 16
    claim_attempts: int = 10
    claim_choices: int = 4_096
    max_instances: int = 1_000
    max_items: int = 16
    max_starts: int = 0
    plan_names_s: float = 86_400.0
    max_relations: int = 64
    max_waiting: int = 1_000
    waiting_per_pass: int = 64
    max_request_groups: int = 128
    max_request_names: int = 10_000
    max_statement: int = 5_000
    max_statement_hosts: int = 200_000
    max_shapes: int = 64
    max_shape_hosts: int = 4_000_000
    kept_changes: int = 4_096
    explain_budget: int = 20_000
    change_budget: int = 20_000
    capacity_per_host: int = 100_000
    capacity_flavors: int = 32
    capacity_rules: int = 200
    capacity_steps: int = 400_000
    topology_fits: int = 10_000
    topology_steps: int = 10_000
    relation_steps: int = 2_000
    joint_steps: int = 5_000
    plugin_time_limit_s: float = 10.0
    plugin_threads: int = 8
    records: int = 1000
    shared_records: int = 10_000
    shared_backlog: int = 2_000
    shared_scores: int = 500
    record_hosts: int = 10
    record_request_bytes: int = 4096
    lease_skew_s: float = 1.0
    report_age_s: float = 300.0
    max_report_age_s: float = 3600.0
    max_report_lead_s: float = 300.0
    max_report_bytes: int = 262_144
    max_host_traits: int = 1_000
    max_host_instances: int = 10_000
    max_host_artifacts: int = 256
    max_artifacts: int = 10_000
    reports_write_books: bool = True
    requires_service: bool = False
    names_are_checked: bool = False
    report_also: tuple[str, ...] = ()
    image_locality: bool = False
    cold_artifacts: Literal["pack", "spread"] = "pack"

    @cached_property
    def novas_ratios(self) -> tuple[float, float, float]:
        """The allocation ratios of VCPUs, memory and disk that Nova takes for a host
        without any."""
        return (
            self.cpu_allocation_ratio or self.initial_cpu_allocation_ratio,
            self.ram_allocation_ratio or self.initial_ram_allocation_ratio,
            self.disk_allocation_ratio or self.initial_disk_allocation_ratio,
        )

    def multiplier(self, name: str) -> float:
        """The factor of a weigher, as configured."""
        return self.multipliers.get(name, default_multiplier(name, self.packing))


def default_multiplier(name: str, packing: str) -> float:
    """The factor of a weigher that the options do not name."""
    usual = DEFAULT_MULTIPLIERS.get(name, 1.0)
    return PACKINGS.get(packing, {}).get(name, usual)


class AdviceOptions(Struct, frozen=True):
    """How advice is given (``gantt.model.advice``).

    ``advice_deadline_s``: after so long the caller's order is the answer.
    ``advice_threads``: advice that is worked on at once, late advice included.
    ``advice_waiting``: requests that wait for one of these threads.
    ``advice_hosts``: of one request. ``advice_placement`` "own": callers claim in this
    Gantt's Placement; "other": in another one, which they asked before, so that amounts
    are not judged here. ``advice_weights``: what the caller's weights do among hosts
    that pass: "ties": they order equals; "add": normalised, they are added.
    ``advice_subset_size``: the best host is drawn from so many;
    ``advice_evacuate_subset_size``: in evacuations, where many requests come at once.
    ``advice_hold_s``: how long the best host is held for its instance (0: never);
    ``advice_holds``: hosts held at once.
    """

    advice_deadline_s: float = 0.8
    advice_threads: int = 8
    advice_waiting: int = 1_000
    advice_hosts: int = 100_000
    advice_placement: Literal["own", "other"] = "own"
    advice_weights: Literal["ties", "add"] = "ties"
    advice_subset_size: int = 1
    advice_evacuate_subset_size: int = 5
    advice_hold_s: float = 10.0
    advice_holds: int = 1_000
