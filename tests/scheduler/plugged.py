"""A fleet and a policy with plug-ins of a test module, found as options name them."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy, policy_of
from tests.scheduler.desk import Desk

HOSTS = 20
SPEC = RequestSpec(flavor=Flavor(vcpus=1))


def policy(module: str, *filters: str, weighers: tuple[str, ...] = ()) -> Policy:
    """Our default filters with plug-ins of ``module``."""
    options = SchedulerOptions()
    return policy_of(
        replace(
            options,
            available_filters=(
                *options.available_filters,
                *(f"{module}.{one}" for one in filters),
            ),
            enabled_filters=(*options.enabled_filters, *filters),
            weight_classes=(
                *options.weight_classes,
                *(f"{module}.{one}" for one in weighers),
            ),
        )
    )


def desk() -> Desk:
    """``HOSTS`` hosts."""
    found = Desk(1)
    found.add_hosts(HOSTS)
    return found
