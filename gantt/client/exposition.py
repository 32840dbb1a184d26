"""The figures of ``/metrics``, read by a program.

Separate from the client because this is the format of Prometheus, which the agent's and
other programs' ``/metrics`` have as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from gantt.errors import Unavailable

Labels: TypeAlias = "tuple[tuple[str, str], ...]"
Figures: TypeAlias = "Mapping[str, Mapping[Labels, float]]"
"""Name of a sample -> its labels, sorted -> its value."""


def figures_of(text: str) -> Figures:
    """Raises Unavailable where ``text`` is something else."""
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, dict[Labels, float]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                labels = tuple(sorted(one.labels.items()))
                found.setdefault(one.name, {})[labels] = one.value
    except ValueError as error:
        raise Unavailable(
            f"The answer of /metrics is not in the format of Prometheus ({error}): "
            "check that the address is that of 'gantt serve'."
        ) from error
    return found
