"""Options that a what-if or a record gives are such as a gantt.conf may have."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict
from oslo_config import types

from gantt.conf.known_values import check_values
from gantt.conf.scheduler_settings import fields
from gantt.errors import Invalid
from gantt.scheduler.options import SchedulerOptions

USUAL = asdict(SchedulerOptions())
BOUNDED = {
    name: opt.type.min
    for name, _, opt in fields()
    if isinstance(opt.type, types.Number) and opt.type.min is not None
}


def refusal(**given: Any) -> str:
    with pytest.raises(Invalid) as found:
        check_values(given, "here")
    return found.value.message


def test_every_default_is_allowed() -> None:
    check_values(USUAL, "here")


@pytest.mark.parametrize("name", sorted(USUAL))
def test_no_option_takes_what_is_of_another_kind(name: str) -> None:
    """None is passed over: an object is no value of any, and nan and inf are no
    numbers."""
    for value in (object(), float("nan"), float("inf"), 10**400):
        told = refusal(**{name: value})
        assert told.startswith(f"here: options.{name} is ")
        assert "must be " in told
    if not isinstance(USUAL[name], bool):
        refusal(**{name: True})


@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_no_number_is_below_the_range_of_its_option(name: str) -> None:
    check_values({name: BOUNDED[name]}, "here")
    assert "must be a" in refusal(**{name: BOUNDED[name] - 1})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"service_down_time": 59.5}, "a whole number of at least 0"),
        ({"choices": 0}, "is 0: it must be a whole number of at least 1"),
        ({"lease_skew_s": -1.0}, "a finite number from 0 to 3600"),
        ({"capacity_flavors": 1001}, "a whole number from 1 to 1000"),
        ({"max_attempts": 3.0}, "a whole number of at least 1"),
        ({"use_placement": "perhaps"}, "one of auto, always, never"),
        ({"metrics_required": 1}, "required of [metrics] does not allow"),
        ({"enabled_filters": "ComputeFilter"}, "a list of texts"),
        ({"isolated_hosts": [1]}, "a list of texts"),
        ({"metrics_weight_setting": ["a=1"]}, "a table: name = finite number"),
        ({"image_props_weight_setting": {"a": float("nan")}}, "finite number"),
        ({"pci_alias": [{"name": "a", "vendor": "10de"}]}, "a list of tables"),
        ({"multipliers": {"a.b.Weigher": "1"}}, "multipliers.a.b.Weigher is '1'"),
        ({"multipliers": [1]}, "must be a table"),
    ],
)
def test_what_is_allowed_is_told(given: dict[str, Any], why: str) -> None:
    assert why in refusal(**given)


def test_what_a_field_can_be_without_is_left_out() -> None:
    check_values({"max_placement_results": None}, "here")
    assert "whole number" in refusal(max_attempts=None)


def test_seconds_may_be_whole_floats() -> None:
    """As a library's user may give them, which a record then has."""
    check_values({"service_down_time": 60.0}, "here")
