"""Alibaba's openb trace (Weng et al., USENIX ATC 2023): tasks on GPUs and parts of
GPUs.

A node is a root provider with thousandths of CPUs (VCPU) and MEMORY_MB; each of its
GPUs is a provider below it, with 1,000 of CUSTOM_GPU_MILLI. A task's share of one GPU,
and each whole GPU, is a request group of its own; the GPU models that it may run on are
aggregates, of which the node must be in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gantt.model.answers import Inventory
from gantt.model.spec import Destination, Flavor, RequestSpec, ResourceGroup
from gantt.replay.events import Arrival, Skipped
from gantt.replay.machines import Machine, SubProvider, uuid_of
from gantt.replay.readers.csv_lines import CsvTable, whole

GPU: Final = "CUSTOM_GPU_MILLI"
WHOLE: Final = 1000
_SECOND: Final = 1_000_000


class Openb:
    """``folder``: with the lists of nodes and of pods; ``variant``: which list of pods
    ("default", "gpuspec33", …). ``skipped``: what could not be read."""

    def __init__(self, folder: Path, variant: str = "default") -> None:
        self._nodes = CsvTable(folder / "openb_node_list_all_node.csv.xz")
        self._pods = CsvTable(folder / f"openb_pod_list_{variant}.csv.xz")

    @property
    def skipped(self) -> list[Skipped]:
        return self._nodes.skipped + self._pods.skipped

    def machines(self) -> tuple[Machine, ...]:
        """All nodes. Raises Invalid."""
        found = []
        for line, fields in self._nodes:
            try:
                found.append(_machine(fields))
            except (KeyError, ValueError) as error:
                self._nodes.skip(line, "node", str(error))
        return tuple(found)

    def arrivals(self) -> Iterator[Arrival]:
        """By the time of creation. Raises Invalid."""
        found = []
        for line, fields in self._pods:
            try:
                found.append(_arrival(fields))
            except (KeyError, ValueError) as error:
                self._pods.skip(line, "task", str(error))
        return iter(sorted(found, key=lambda one: (one.at, one.names)))


def _machine(fields: dict[str, str]) -> Machine:
    gpus, model = whole(fields["gpu"]), fields["model"]
    return Machine(
        fields["sn"],
        {
            "VCPU": Inventory(whole(fields["cpu_milli"])),
            "MEMORY_MB": Inventory(whole(fields["memory_mib"])),
        },
        labels=(model,) if model else (),
        parts=tuple(
            SubProvider(f"gpu{number}", {GPU: Inventory(WHOLE)})
            for number in range(gpus)
        ),
    )


def _arrival(fields: dict[str, str]) -> Arrival:
    at, until = whole(fields["creation_time"]), fields["deletion_time"]
    flavor = Flavor(whole(fields["cpu_milli"]), whole(fields["memory_mib"]))
    spec = RequestSpec(
        flavor,
        requested_resources=_gpus(fields),
        requested_destination=_models(fields["gpu_spec"]),
    )
    gone = max(whole(until), at) * _SECOND if until else None
    return Arrival(at * _SECOND, (fields["name"],), spec, (gone,))


def _gpus(fields: dict[str, str]) -> tuple[ResourceGroup, ...]:
    count, milli = whole(fields["num_gpu"]), whole(fields["gpu_milli"])
    return tuple(
        ResourceGroup(f"_gpu{number}", {GPU: milli}) for number in range(count)
    )


def _models(text: str) -> Destination | None:
    models = frozenset(uuid_of("label", one) for one in text.split("|") if one)
    return Destination(aggregates=(models,)) if models else None
