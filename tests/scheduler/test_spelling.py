"""Keys of extra specs that are misspelt, and those that only look like it."""

from __future__ import annotations

import re

import pytest

from gantt.errors import Invalid
from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.request.spelling import LIMITING, OTHERS, check_spelling

MEANT = {
    "hw:cpu_polcy": "hw:cpu_policy",
    "hw:cpu-policy": "hw:cpu_policy",
    "hw:mem_pagesize": "hw:mem_page_size",
    "hw:numa_node": "hw:numa_nodes",
    "hw:numa_cpu.1": "hw:numa_cpus.0",
    "pci_passthrough:alais": "pci_passthrough:alias",
    "accel:device_profil": "accel:device_profile",
    "group_polcy": "group_policy",
}
FREE = (
    "hw:numa_cpus.12",
    "hw:numa_mem.3",
    "hw:wrs:shared_vcpu",
    "hw:mine",
    "hw:",
    "quota:cpu_qota",
    "os:secure_bot",
    "capabilities:cpu_inf",
    "hw_rng:alowed",
    "acme:cpu_policy",
    "cpu_policy",
    "aggregate_instance_extra_specs:ssd",
    "",
)


def _asks(*keys: str) -> RequestSpec:
    return RequestSpec(Flavor(extra_specs=dict.fromkeys(keys, "x")))


@pytest.mark.parametrize("key", MEANT)
def test_a_misspelt_key_is_refused_with_the_one_that_is_meant(key: str) -> None:
    with pytest.raises(Invalid, match=f"'{re.escape(key)}'.*'{MEANT[key]}' is"):
        check_spelling(_asks("hw:pmu", key))


def test_other_keys_pass() -> None:
    check_spelling(_asks(*FREE, *LIMITING, *OTHERS))


def test_novas_own_keys_are_known() -> None:
    pytest.importorskip("nova")
    from nova.api.validation.extra_specs import validators

    validators.load_validators()
    theirs = {
        name.replace("{num}", "0")
        for name in validators.VALIDATORS
        if name.startswith(("hw:", "pci_passthrough:", "accel:", "group_policy"))
    }
    assert theirs - (LIMITING | OTHERS) == set()
    # These are properties of images, or read by Nova's scheduler alone.
    assert (LIMITING | OTHERS) - theirs == {
        "hw:maxphysaddr_mode",
        "hw:maxphysaddr_bits",
    }
