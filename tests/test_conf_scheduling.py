"""Scheduler options: a nova.conf is read, and invalid values are refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from gantt.conf import load
from gantt.conf.options import RETIRED
from gantt.conf.scheduler_settings import DEFAULT, GROUPS, REPORTS, pairs
from gantt.errors import Refused
from gantt.scheduler.options import (
    DEFAULT_FILTERS,
    DEFAULT_MULTIPLIERS,
    SchedulerOptions,
)
from tests.configured import settings_of

NOVA = """
[DEFAULT]
service_down_time = 90
default_availability_zone = home
cpu_allocation_ratio = 8.0
initial_ram_allocation_ratio = 1.25
report_interval = 10
compute_driver = libvirt.LibvirtDriver
[scheduler]
driver = filter_scheduler
max_attempts = 5
max_placement_results = 1000
limit_tenants_to_placement_aggregate = true
placement_aggregate_required_for_tenants = true
query_placement_for_image_type_support = true
enable_isolated_aggregate_filtering = true
use_placement = always
records = 4
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = mine.filters.Blue
enabled_filters = ComputeFilter, Blue
weight_classes = nova.scheduler.weights.all_weighers
ram_weight_multiplier = -1.5
host_subset_size = 3
track_instance_changes = true
shuffle_best_same_weighed_hosts = true
image_properties_default_architecture = x86_64
isolated_images = a,b
isolated_hosts = h
restrict_isolated_hosts_to_isolated_images = false
image_props_weight_setting = os_distro=2.5,hw_machine_type=,=3,os_type=1,x
aggregate_image_properties_isolation_namespace = acme
pci_in_placement = true
[metrics]
weight_multiplier = 2.0
weight_setting = cpu.percent=-1.0, x=nan
required = false
weight_of_unavailable = -5.0
[pci]
alias = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
alias = {"name": "gpu", "resource_class": "CUSTOM_GPU"}
device_spec = {}
[workarounds]
disable_fallback_pcpu_query = true
"""


def options(tmp_path: Path, text: str) -> SchedulerOptions:
    return settings_of(tmp_path, text).engine.scheduler


def test_nova_conf_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = options(tmp_path, NOVA)
    assert found == SchedulerOptions(
        driver="filter",
        use_placement="always",
        max_placement_results=1000,
        enabled_filters=("ComputeFilter", "Blue"),
        available_filters=("nova.scheduler.filters.all_filters", "mine.filters.Blue"),
        multipliers={
            **DEFAULT_MULTIPLIERS,
            "ram_weight_multiplier": -1.5,
            "metrics_weight_multiplier": 2.0,
        },
        host_subset_size=3,
        shuffle_best_same_weighed_hosts=True,
        max_attempts=5,
        isolated_images=("a", "b"),
        isolated_hosts=("h",),
        restrict_isolated_hosts_to_isolated_images=False,
        image_properties_default_architecture="x86_64",
        aggregate_image_properties_isolation_namespace="acme",
        image_props_weight_setting={"os_distro": 2.5, "os_type": 1.0},
        metrics_weight_setting={"cpu.percent": -1.0},
        metrics_required=False,
        metrics_weight_of_unavailable=-5.0,
        pci_in_placement=True,
        pci_alias=(
            {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"},
            {"name": "gpu", "resource_class": "CUSTOM_GPU"},
        ),
        limit_tenants_to_placement_aggregate=True,
        placement_aggregate_required_for_tenants=True,
        query_placement_for_image_type_support=True,
        enable_isolated_aggregate_filtering=True,
        disable_fallback_pcpu_query=True,
        service_down_time=90.0,
        default_availability_zone="home",
        cpu_allocation_ratio=8.0,
        initial_ram_allocation_ratio=1.25,
        records=4,
    )
    text = caplog.text
    for bad in ("'hw_machine_type='", "'=3'", "'x'", "'x=nan'"):
        assert bad in text


def test_defaults_equal_those_of_the_library() -> None:
    found = load(environ={"OS_GANTT_CONFIG_DIR": "/nowhere"}).engine.scheduler
    assert found == SchedulerOptions(multipliers=DEFAULT_MULTIPLIERS)
    assert found.enabled_filters == DEFAULT_FILTERS
    assert found.service_down_time == 60


def test_every_field_is_an_option_or_retired() -> None:
    groups = (DEFAULT, REPORTS, *GROUPS.values())
    names = {option.dest for group in groups for option in group}
    reached = names | {f"metrics_{name}" for name in names} | {"pci_alias"}
    retired = {name for group, name in RETIRED if group == "scheduler"}
    unreached = set(SchedulerOptions.__struct_fields__) - reached
    assert unreached == {"multipliers", *retired}
    assert set(DEFAULT_MULTIPLIERS) <= reached


@pytest.mark.parametrize(
    "text",
    [
        "[scheduler]\nmax_attempts = 0\n",
        "[scheduler]\nuse_placement = perhaps\n",
        "[scheduler]\nplacement = elsewhere\n",
        "[scheduler]\nplacement_timeout_s = nan\n",
        "[scheduler]\nneutron_timeout_s = nan\n",
        "[scheduler]\nneutron_answers_s = nan\n",
        "[filter_scheduler]\nhost_subset_size = 0\n",
        "[filter_scheduler]\nram_weight_multiplier = inf\n",
        "[filter_scheduler]\nmax_instances_per_host = many\n",
        "[pci]\nalias = gpu\n",
        "[pci]\nalias = []\n",
        '[pci]\nalias = {"vendor_id": "10de"}\n',
        '[pci]\nalias = {"name": "gpu", "colour": "red"}\n',
        "[DEFAULT]\ncpu_allocation_ratio = -1\n",
    ],
)
def test_invalid_options_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused):
        options(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "driver"),
    [
        ("caching_scheduler", "caching"),
        ("chance_scheduler", "chance"),
        ("mine", "mine"),
    ],
)
def test_old_driver_names_are_accepted(tmp_path: Path, name: str, driver: str) -> None:
    assert options(tmp_path, f"[scheduler]\ndriver = {name}\n").driver == driver


@pytest.mark.parametrize(("timeout_s", "lease_s"), [(5, 120), (60, 240)])
def test_lease_outlasts_the_timeout(
    tmp_path: Path, timeout_s: int, lease_s: int
) -> None:
    found = options(tmp_path, f"[scheduler]\nplacement_timeout_s = {timeout_s}\n")
    assert found.placement_lease_s == lease_s


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["a=1", " b = 2.5 "], {"a": 1.0, "b": 2.5}),
        (["a", "=1", "a=b", "a=inf"], {}),
    ],
)
def test_pairs(words: list[str], expected: dict[str, Any]) -> None:
    assert pairs("x", words) == expected


def test_engine_opens_with_the_configured_driver(tmp_path: Path) -> None:
    from gantt.connection import open_gantt

    with pytest.raises(Refused, match="no_such_driver"):
        open_gantt(
            "memory://",
            settings_of(tmp_path, "[scheduler]\ndriver = no_such_driver\n").engine,
        )


def test_report_also_is_an_option_of_gantt(tmp_path: Path) -> None:
    found = options(tmp_path, "[gantt]\nreport_also = host_ip, metrics.cpu.percent\n")
    assert found.report_also == ("host_ip", "metrics.cpu.percent")


def test_locality_has_options_of_gantt(tmp_path: Path) -> None:
    text = "[gantt]\nimage_locality = True\ncold_artifacts = spread\n"
    text += "[filter_scheduler]\nlocality_weight_multiplier = 1.5\n"
    found = options(tmp_path, text)
    assert (found.image_locality, found.cold_artifacts) == (True, "spread")
    assert found.multiplier("locality_weight_multiplier") == 1.5


def test_packing_sets_the_multipliers_that_no_file_does(tmp_path: Path) -> None:
    text = """
[gantt]
packing = room
usual_flavors = 3xvcpus=4,memory_mb=8192
usual_flavors = vcpus=8

[filter_scheduler]
ram_weight_multiplier = 1.0
"""
    found = options(tmp_path, text)
    assert found.packing == "room"
    assert found.usual_flavors == ("3xvcpus=4,memory_mb=8192", "vcpus=8")
    assert found.multiplier("ram_weight_multiplier") == 1.0, "a file sets it"
    assert found.multiplier("cpu_weight_multiplier") == 0.0
    assert found.multiplier("room_weight_multiplier") == 1.0
