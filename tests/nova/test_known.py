"""Each known difference in the smallest case that has it.

Should a release of Nova mend one of them, its test here fails, and its row in
docs/deviations.md can go.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace
from nova import exception

from gantt.errors import GanttError, Invalid
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.scheduler.options import SchedulerOptions
from tests.nova import known, upstream
from tests.nova.pair import (
    OUR_WEIGHERS,
    OURS,
    Pair,
    Verdicts,
    disagreements,
    opened,
)
from tests.scheduler.fleets import NOW, Plain, Plan, a_host

pytestmark = pytest.mark.filterwarnings("ignore:.*is an invalid UUID:FutureWarning")

SERVICE = {"last_seen_up": NOW, "cell_uuid": "ce110000-0000-4000-8000-000000000001"}
OPTIONS = SchedulerOptions()


def plan(*hosts: Plain, aggregates: Any = ()) -> Plan:
    base = {"service": SERVICE, "hypervisor_type": "QEMU", "hypervisor_version": 6}
    return Plan([{**base, "cpu_info": {}, **one} for one in hosts], aggregates)


def judged(name: str, pair: Pair) -> tuple[Verdicts, object]:
    """Nova's verdicts and ours."""
    return pair.theirs(upstream.FILTERS[name]()), pair.ours(OURS[name])


def asks(**fields: Any) -> RequestSpec:
    return RequestSpec(**{"instance_uuid": "new", **fields})


def asks_extra(**extra: str) -> RequestSpec:
    return asks(flavor=Flavor(extra_specs=extra))


def test_text_has_no_order_among_numbers() -> None:
    spec = asks(scheduler_hints={"query": ('[">", "$stats.x", 5]',)})
    with opened(plan(a_host(stats={"x": 7})), spec, OPTIONS) as pair:
        (theirs,), ours = judged("JsonFilter", pair)
        assert isinstance(theirs, TypeError) and ours == [False]
        met: Counter[str] = Counter()
        assert not disagreements(pair, "JsonFilter", met)
        assert met == {known.UNREADABLE: 1}


def test_an_operand_that_is_no_number_is_refused() -> None:
    spec = asks_extra(rack=">= high", foo="bar")
    with opened(plan(a_host(stats={"rack": "r1"})), spec, OPTIONS) as pair:
        (theirs,), ours = judged("ComputeCapabilitiesFilter", pair)
        assert isinstance(theirs, ValueError) and isinstance(ours, Invalid)
    # Where no host is asked, Nova lets it pass.
    with opened(plan(a_host()), spec, OPTIONS) as pair:
        (theirs,), ours = judged("ComputeCapabilitiesFilter", pair)
        assert theirs is True and isinstance(ours, Invalid)
    assert known.readable(spec).flavor.extra_specs == {"foo": "bar"}


def test_the_width_of_addresses_is_read_from_cpu_info() -> None:
    image = Image(properties={"hw_architecture": "x86_64", "hw_maxphysaddr_bits": 42})
    host = a_host(supported_instances=[["x86_64", "kvm", "hvm"]])
    for bits, passes in ((46, True), (39, False)):
        cpu = {"maxphysaddr": {"bits": bits}}
        with opened(
            plan({**host, "cpu_info": cpu}), asks(image=image), OPTIONS
        ) as pair:
            (theirs,), ours = judged("ImagePropertiesFilter", pair)
            assert isinstance(theirs, AttributeError) and ours == [passes]
            mended = upstream.FILTERS["ImagePropertiesFilter"]()
            assert pair.theirs(mended, known.read_cpu) == [passes]


def test_a_prefix_without_its_slash_is_a_prefix() -> None:
    hints = {"build_near_host_ip": ("10.0.0.1",), "cidr": ("24",)}
    with opened(
        plan(a_host(host_ip="10.0.0.9")), asks(scheduler_hints=hints), OPTIONS
    ) as pair:
        # Nova reads "10.0.0.124", one address.
        assert judged("SimpleCIDRAffinityFilter", pair) == ([False], [True])
        with_slash = pair.with_spec(known.with_slash(pair.spec))
        assert judged("SimpleCIDRAffinityFilter", with_slash) == ([True], [True])


def test_a_metric_may_be_missing_where_it_counts_nothing() -> None:
    options = SchedulerOptions(
        metrics_weight_setting={"cpu.percent": 1.0},
        multipliers={"metrics_weight_multiplier": 0.0},
    )
    with opened(plan(a_host("h1"), a_host("h2")), asks(), options) as pair:
        theirs = pair.their_weights(upstream.WEIGHERS["MetricsWeigher"]())
        assert isinstance(theirs, exception.ComputeHostMetricNotFound)
        assert pair.our_weights(OUR_WEIGHERS["MetricsWeigher"]) == (None, [0.0, 0.0])


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_multiplier_that_is_no_finite_number_is_void(value: str) -> None:
    metadata = {"ram_weight_multiplier": value}
    inside = [{"uuid": "a", "hosts": ["h1"], "metadata": metadata}]
    hosts = plan(a_host("h1"), a_host("h2", free_ram_mb=5), aggregates=inside)
    with opened(hosts, asks(), OPTIONS) as pair:
        theirs = pair.their_weights(upstream.WEIGHERS["RAMWeigher"]())
        ours = pair.our_weights(OUR_WEIGHERS["RAMWeigher"])
        assert not isinstance(theirs, Exception) and not isinstance(ours, GanttError)
        assert str(theirs[1][0]) == value and ours[1] == [1.0, 5 / 32768]


def test_only_facts_of_a_host_have_names() -> None:
    # To Nova any attribute of its own object is one.
    with opened(plan(a_host()), asks_extra(limits="big"), OPTIONS) as pair:
        assert judged("ComputeCapabilitiesFilter", pair) == ([False], [True])


def test_an_address_is_text_in_a_query() -> None:
    spec = asks(scheduler_hints={"query": ('["=", "$host_ip", "10.0.0.1"]',)})
    with opened(plan(a_host(host_ip="10.0.0.1")), spec, OPTIONS) as pair:
        # To Nova it is an object, equal to no text.
        assert judged("JsonFilter", pair) == ([False], [True])


def test_a_service_that_never_said_when_counts_as_up() -> None:
    silent = {**SERVICE, "last_seen_up": None}
    host = upstream.service_of({"host": "h1", "service": silent})
    host.created_at = upstream.moment(NOW - 3_600_000_000)
    with opened(plan(a_host(service=silent)), asks(), OPTIONS) as pair:
        (state,) = pair.states()
        state.service = dict(host)
        theirs = upstream.FILTERS["ComputeFilter"]()
        assert theirs.host_passes(state, pair.asked()) is False
        assert pair.ours(OURS["ComputeFilter"]) == [True]


def test_the_root_disk_of_a_volume_is_not_on_the_host() -> None:
    spec = asks(flavor=Flavor(root_gb=7, ephemeral_gb=1), is_bfv=True)
    with opened(plan(a_host(free_disk_gb=100)), spec, OPTIONS) as pair:
        (state,) = pair.states()
        state.consume_from_request(pair.asked())
        assert state.free_disk_mb == 1024 * (100 - 8)
        assert spec.disk_mb == 1024
        # Without the volume both count the same.
        assert replace(spec, is_bfv=False).disk_mb == 1024 * 8


def test_a_host_without_a_service_may_be_used() -> None:
    host = plan(a_host())
    with opened(host, asks(), OPTIONS) as pair:
        hosts = upstream.scheduler(OPTIONS).host_manager
        computes = {"cell": [upstream.compute_of(host.hosts[0])]}
        assert list(hosts._get_host_states(None, computes, {})) == []
    with opened(plan(a_host(service=None)), asks(), OPTIONS) as pair:
        assert pair.ours(OURS["ComputeFilter"]) == [True]


def test_a_host_that_never_reported_its_disk_is_filtered() -> None:
    with opened(plan(a_host(free_disk_gb=None)), asks(), OPTIONS) as pair:
        # Nova lets it pass and then finds no candidate for it.
        assert judged("ComputeFilter", pair) == ([True], [False])
        assert pair.states()[0].uuid is None
