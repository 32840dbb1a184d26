"""The NUMA topology that a request bears, in every form since Rocky."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid
from gantt.model.forms.instance_topology import GivenTopology, read_instance_topology
from gantt.model.topology import ANY_PAGES, InstanceCell
from tests.model.forms import objects

Plain = dict[str, Any]
CELL: Plain = {"id": 0, "cpuset": [0, 1], "memory": 512}


def given(*cells: Plain, version: str = "1.6", **fields: Any) -> Any:
    """Nova's object with these cells."""
    made = [objects.nova("InstanceNUMACell", version, **one) for one in cells]
    return objects.nova("InstanceNUMATopology", "1.3", cells=made, **fields)


@pytest.mark.parametrize(
    ("version", "fields", "expected"),
    [
        ("1.4", {}, InstanceCell(0, 0b11, 0, 512)),
        # One set, whatever the policy (Rocky to Ussuri).
        (
            "1.4",
            {
                "cpu_policy": "dedicated",
                "cpu_thread_policy": "prefer",
                "cpuset_reserved": None,
                "cpu_pinning_raw": {"0": 4, "1": 5},
                "cpu_topology": None,
                "pagesize": 2048,
            },
            InstanceCell(0, 0, 0b11, 512, 2048, "dedicated", "prefer"),
        ),
        (
            "1.5",
            {"cpuset": [], "pcpuset": [1, 0], "cpu_policy": "dedicated"},
            InstanceCell(0, 0, 0b11, 512, None, "dedicated"),
        ),
        (
            "1.6",
            {"cpuset": [0], "pcpuset": [1], "cpu_policy": "mixed", "pagesize": -3},
            InstanceCell(0, 0b01, 0b10, 512, ANY_PAGES, "mixed"),
        ),
        # A host's cell, of an instance that runs somewhere; of a newer Nova.
        ("1.9", {"id": 3, "colour": "red"}, InstanceCell(3, 0b11, 0, 512)),
        ("1.6", {"cpuset": []}, InstanceCell(0, 0, 0, 512)),
    ],
)
def test_cells_of_every_version(
    version: str, fields: Plain, expected: InstanceCell
) -> None:
    found = read_instance_topology(given({**CELL, **fields}, version=version))
    assert found == GivenTopology((expected,))
    plain = {"cells": [{**CELL, **fields}]}
    assert read_instance_topology(plain) == found


def test_emulator_threads() -> None:
    pinned = {**CELL, "cpuset": [], "pcpuset": [0], "cpu_policy": "dedicated"}
    for policy, expected in (("isolate", True), ("share", False), (None, False)):
        found = read_instance_topology(given(pinned, emulator_threads_policy=policy))
        assert found.isolates_emulator is expected


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        ("text", "numa_topology must be an object"),
        ({}, "numa_topology.cells has 0 cells"),
        ({"cells": [CELL] * 129}, "has 129 cells"),
        ({"cells": [CELL, CELL]}, "numa_topology.cells.1 has vCPU 0 a second time"),
        (
            {"cells": [{**CELL, "pcpuset": [1], "cpu_policy": "mixed"}]},
            "has vCPU 1 a second time",
        ),
        ({"cells": [{**CELL, "pcpuset": [2]}]}, "make it dedicated or mixed"),
        ({"cells": [{**CELL, "cpuset": [-1]}]}, "cells.0.cpuset must be an integer"),
        ({"cells": [{**CELL, "cpuset": [65_536]}]}, "from 0 to 65535"),
        ({"cells": [{**CELL, "memory": -1}]}, "cells.0.memory must be an integer"),
        ({"cells": [{**CELL, "memory": 0}]}, "numa_topology.cells.0.memory is 0 MB"),
        ({"cells": [{"cpuset": [0]}]}, "numa_topology.cells.0.memory is missing"),
        ({"cells": [{**CELL, "pagesize": 0}]}, "cells.0.pagesize is 0: give a size"),
        ({"cells": [{**CELL, "pagesize": -4}]}, "cells.0.pagesize must be"),
        ({"cells": [{**CELL, "pagesize": 3072}]}, "is no multiple of it"),
        ({"cells": [{**CELL, "cpu_policy": "own"}]}, "cpu_policy must be one of"),
        ({"cells": [{**CELL, "cpu_thread_policy": "x"}]}, "cpu_thread_policy must be"),
        (
            {"cells": [CELL], "emulator_threads_policy": "isolate"},
            "and no cell pins CPUs",
        ),
        (objects.nova("NUMATopology", "1.2", cells=[]), "InstanceNUMATopology"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(topology: Any, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_instance_topology(topology)
    assert words in caught.value.message
