"""What a decision was asked, in a sentence: amounts first, then conditions.

Apart from the decision because it reads a request, and no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from gantt.model.diagnosis import some
from gantt.model.quantities import memory
from gantt.model.selection import KeptRequest
from gantt.model.spec import RequestSpec

T = TypeVar("T")


def request_text(asked: KeptRequest, instances: int) -> str:
    """For example: 2 instances of 1 VCPU, 2 GiB memory, 20 GB disk; zone north."""
    spec = asked.request_spec
    count = instances or spec.num_instances
    noun = "instance" if count == 1 else "instances"
    parts = [f"{count} {noun} of {_size(spec)}", *_conditions(spec)]
    if asked.filters_off:
        parts.append(f"without {', '.join(asked.filters_off)}")
    if asked.left_out:
        parts.append(f"and {', '.join(asked.left_out)}, which records do not keep")
    return "; ".join(parts)


def _size(spec: RequestSpec) -> str:
    flavor = spec.flavor
    disk = flavor.root_gb + flavor.ephemeral_gb
    # The command line names a flavor by its words.
    has_name = flavor.name and "=" not in flavor.name
    name = f"flavor {flavor.name}: " if has_name else ""
    size = f"{flavor.vcpus} VCPU, {memory(flavor.memory_mb)} memory, {disk} GB disk"
    swap = f", {memory(flavor.swap)} swap" if flavor.swap else ""
    return f"{name}{size}{swap}"


def _conditions(spec: RequestSpec) -> Iterator[str]:
    for key, value in some_of(spec.flavor.extra_specs):
        yield f"{key}={value}"
    if spec.availability_zone:
        yield f"zone {spec.availability_zone}"
    if spec.image is not None and spec.image.properties:
        yield f"image with {', '.join(some(sorted(spec.image.properties)))}"
    if (group := spec.instance_group) is not None:
        yield f"group {group.uuid or 'without uuid'} ({group.policy or 'its policy'})"
    for name, values in some_of(spec.scheduler_hints):
        yield f"hint {name}={','.join(some(values))}"
    aim = spec.requested_destination
    if aim is not None and aim.host:
        yield f"host {aim.host}"
    if aim is not None and (aim.aggregates or aim.forbidden_aggregates):
        yield "aggregates that are required or forbidden"
    for word, hosts in (("forced", spec.force_hosts), ("not", spec.ignore_hosts)):
        if hosts:
            yield f"{word} on {', '.join(some(hosts))}"
    for group_ in spec.requested_resources:
        amounts = (f"{n} {name}" for name, n in sorted(group_.resources.items()))
        yield f"group {group_.requester_id}: {', '.join(some(amounts))}"
    if spec.pci_requests:
        yield f"{len(spec.pci_requests)} PCI requests"


def some_of(found: dict[str, T]) -> list[tuple[str, T]]:
    """The first few, by name."""
    return sorted(found.items())[:20]
