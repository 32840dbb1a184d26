"""Which topology keys there are, and how many hosts are where."""

from __future__ import annotations

import numpy as np

from gantt.errors import Invalid
from gantt.model.diagnosis import some
from gantt.model.relations import HOST, TopologyKey
from gantt.state.domains import NO_DOMAIN
from gantt.state.state import State

_MOST_TORN = 10
_MOST_KEYS = 64


def topology_keys(state: State, key: str | None) -> tuple[TopologyKey, ...]:
    """Those that labels and aggregates have, the first by name, or ``key`` alone.
    Raises Invalid."""
    if key is None:
        known = [one for one in state.domains.known_keys() if one != HOST]
        return tuple(_shown(state, one) for one in known[:_MOST_KEYS])
    check_key(state, key)
    return (_shown(state, key),)


def check_key(state: State, key: str) -> None:
    """Raises Invalid, with the keys that there are, where no host has it."""
    if not state.domains.of(key).is_known:
        known = ", ".join(some(state.domains.known_keys()))
        raise Invalid(
            f"No host has the topology key {key!r}: there is {known}. Correct it, or "
            "give hosts a label with "
            f"'gantt host label HOST {key}=VALUE', an aggregate with the metadata "
            f"{key}, or a trait CUSTOM_{key.upper()}_…."
        )


def _shown(state: State, key: str) -> TopologyKey:
    found, table = state.domains.of(key), state.fleet.hosts
    rows = table.live_rows()
    counts = np.bincount(found.codes[rows], minlength=len(found.names)).tolist()
    named = zip(found.names[NO_DOMAIN + 1 :], counts[NO_DOMAIN + 1 :], strict=True)
    torn = rows[found.torn[rows]][:_MOST_TORN]
    return TopologyKey(
        key,
        dict(sorted(named)),
        counts[NO_DOMAIN],
        tuple(table.hosts[row] for row in torn.tolist()),
    )
