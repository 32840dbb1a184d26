"""A filter over arrays against a plain implementation, host by host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Taken
from tests.scheduler.fleets import Plain, Plan, all_hosts, request

NOTHING = Taken(0, 0, 0)
"""What an instance takes of which only the place matters."""

Reading = Callable[[Plan, Plain, Request], bool]


def passing(
    one: Filter, plan: Plan, spec: RequestSpec | None = None, **options: Any
) -> list[bool]:
    """The mask of the filter for the hosts of ``plan``."""
    found = one.mask(all_hosts(plan.state()), request(spec, **options))
    return [bool(value) for value in found.tolist()]


def passes(
    one: Filter,
    host: Plain,
    spec: RequestSpec | None = None,
    metadata: Sequence[dict[str, str]] = (),
    **options: Any,
) -> bool:
    """Whether one host, in aggregates with these metadata, passes."""
    aggregates = [
        {"uuid": f"a{number}", "hosts": [host["host"]], "metadata": some}
        for number, some in enumerate(metadata)
    ]
    (found,) = passing(one, Plan([host], aggregates), spec, **options)
    return found


def check(one: Filter, plan: Plan, asked: Request, reading: Reading) -> None:
    """The filter and the plain implementation agree on every host."""
    mask = one.mask(all_hosts(plan.state()), asked).tolist()
    assert mask == [reading(plan, host, asked) for host in plan.hosts]


def with_extra_specs(**extra_specs: str) -> RequestSpec:
    """A spec with these extra specs; ``__`` stands for a colon."""
    named = {key.replace("__", ":"): value for key, value in extra_specs.items()}
    return RequestSpec(flavor=Flavor(extra_specs=named))


def with_image(**properties: Any) -> RequestSpec:
    """A spec whose image has these properties."""
    return RequestSpec(image=Image(properties=properties))


def with_hints(**hints: tuple[str, ...]) -> RequestSpec:
    """A spec with these scheduler hints."""
    return RequestSpec(scheduler_hints=hints)


def items(text: str) -> list[str]:
    """A list with commas, read plainly."""
    return [item.strip() for item in text.split(",")]
