"""Questions about artifacts: which there are, and which hosts hold them.

Nova's image cache calls an image by the SHA-1 of its id: an artifact is found by that,
too.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha1
from typing import Final

import numpy as np

from gantt.errors import Invalid
from gantt.model.artifacts import Artifact
from gantt.model.diagnosis import nearest
from gantt.state.column import Bools, Int64s
from gantt.state.fleet_columns import Fleet
from gantt.state.state import State

_MOST: Final = 1_000


def artifacts(state: State, asked: str | None) -> tuple[Artifact, ...]:
    """Those that are registered, or that hosts report, the first by name; or that
    one."""
    fleet = state.fleet
    names = sorted(_known(fleet))[:_MOST] if asked is None else [asked]
    return tuple(
        Artifact(
            name,
            size_of(fleet, name),
            name in fleet.facts.artifacts,
            int(np.count_nonzero(held(fleet, name)[0] >= 0)),
        )
        for name in names
        if asked is None or _is_known(fleet, name)
    )


def size_of(fleet: Fleet, artifact: str) -> int:
    """Bytes: as it was registered, else the most that a host reports; 0: not known."""
    size = fleet.facts.artifacts.get(artifact, 0)
    reported = (max(told.values()) for told in _told(fleet, artifact))
    return size or max(reported, default=0)


def held(fleet: Fleet, artifact: str) -> tuple[Int64s, Bools]:
    """(int64, bool), both per row of hosts: the bytes of it that are there, -1 where
    none are; and whether it is only on its way there, with what was promised the
    host."""
    hosts = fleet.hosts
    found = np.full(hosts.height, -1, np.int64)
    is_coming = np.zeros(hosts.height, np.bool_)
    for told in _told(fleet, artifact):
        found[list(told)] = list(told.values())
    for host in fleet.instances.using.get(artifact, ()):
        rows = hosts.rows_of(host)
        found[rows] = np.maximum(found[rows], 0)
    for host_id in fleet.claims.using.get(artifact, ()):
        row = hosts.row_by_id.get(host_id)
        if row is not None:
            is_coming[row] = found[row] < 0
    return found, is_coming


def check_known(fleet: Fleet, names: Iterable[str], where: str) -> None:
    """Raises Invalid, with the nearest that there are: nothing has one of them, so that
    it may be misspelt."""
    for name in names:
        if not _is_known(fleet, name):
            raise Invalid(
                f"{where}: {name!r} is not known here; there is "
                f"{nearest(name, _known(fleet))}. Correct it, have a host report it, "
                "or register it."
            )


def check_registered(fleet: Fleet, names: Iterable[str], where: str) -> None:
    """Raises Invalid: only what an operator registered may be required."""
    for name in names:
        if name not in fleet.facts.artifacts:
            raise Invalid(
                f"{where}: {name!r} is not registered; there is "
                f"{nearest(name, fleet.facts.artifacts)}. Only what is registered may "
                "be required: correct it, name it without requiring it, or register "
                "it."
            )


def _is_known(fleet: Fleet, artifact: str) -> bool:
    used = fleet.facts.artifacts, fleet.instances.using, fleet.claims.using
    return any(artifact in one for one in used) or bool(_told(fleet, artifact))


def _known(fleet: Fleet) -> set[str]:
    return fleet.facts.artifacts.keys() | fleet.hosts.held.of.keys()


def _told(fleet: Fleet, artifact: str) -> list[dict[int, int]]:
    hashed = sha1(artifact.encode(), usedforsecurity=False).hexdigest()
    every = fleet.hosts.held.of
    return [every[name] for name in (artifact, hashed) if name in every]
