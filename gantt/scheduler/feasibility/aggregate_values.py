"""Metadata of aggregates, per host: lists of values, and limits.

Separate because many filters read metadata by the same two rules: a value is a
comma-separated list, and the least of several numbers applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Int64s

_MOST = np.iinfo(np.int64).max


def listed(text: str) -> frozenset[str]:
    """The items of a comma-separated list, without surrounding blanks."""
    return frozenset(item.strip() for item in text.split(","))


def keys(hosts: Hosts) -> Iterator[str]:
    """Every key that the metadata of any aggregate has, each once."""
    seen = hosts.fleet.aggregates.metadata.values()
    return iter(dict.fromkeys(key for metadata in seen for key in metadata))


def with_key(hosts: Hosts, key: str) -> Bools:
    """bool[n]: members of at least one aggregate whose metadata have ``key``."""
    return hosts.in_any(hosts.fleet.aggregates.having(key))


def with_item(hosts: Hosts, key: str, passes: Callable[[str], bool]) -> Bools:
    """bool[n]: members of at least one aggregate of whose list at ``key`` one item
    passes."""
    having = hosts.fleet.aggregates.having(key)
    good = {text for text in set(having.values()) if _has_item(text, passes)}
    return hosts.in_any(index for index, text in having.items() if text in good)


def _has_item(text: str, passes: Callable[[str], bool]) -> bool:
    if "," not in text:  # as most are
        return passes(text.strip())
    return any(map(passes, listed(text)))


def least(hosts: Hosts, key: str, default: int) -> int | Int64s:
    """The value for each host: the least number at ``key`` over its aggregates, or
    ``default`` where there is none, or one of them is no whole number.

    int64[n], or ``default`` itself while no aggregate has the key.
    """
    having = hosts.fleet.aggregates.having(key)
    if not having:
        return default
    numbers = {index: _whole(text) for index, text in having.items()}
    found: Int64s = np.full(len(hosts), default, np.int64)
    # The least is written last.
    values = {value for value in numbers.values() if value is not None}
    for value in sorted(values, reverse=True):
        having_it = (index for index, one in numbers.items() if one == value)
        found[hosts.in_any(having_it)] = max(-_MOST, min(value, _MOST))
    unread = [index for index, value in numbers.items() if value is None]
    if unread:
        found[hosts.in_any(unread)] = default
    return found


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
