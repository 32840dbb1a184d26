"""What comes of recorded decisions that are made again: each, and all in numbers."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from gantt.model.record import Marks
from gantt.model.spec import ScheduleRequest


class Redecided(Struct, frozen=True):
    """One decision, as recorded and as made now. ``hosts``: by name, of each instance.
    ``revision``: of the State that it saw; ``left_out``: what the record does not have
    of its request."""

    process: str
    number: int
    revision: int
    now: int
    request: ScheduleRequest
    recorded: Marks
    again: Marks
    recorded_hosts: tuple[str, ...]
    hosts: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def differs_in(self) -> tuple[str, ...]:
        """What is not the same, of refusal, hosts, scores and choices; (): nothing.
        ``choices``: the hosts to try, or what is claimed on the first."""
        one, other = self.recorded, self.again
        found = []
        if one.failure != other.failure:
            found.append("refusal")
        if _ids(one) != _ids(other):
            found.append("hosts")
        if one.firsts != other.firsts or one.feasible != other.feasible:
            found.append("scores")
        if one.choices != other.choices:
            found.append("choices")
        return tuple(found)


class Played(Struct):
    """What a record had. ``unrepeated``: decisions that cannot be made again, by the
    reason; ``dropped``: that the service left out, by its reason. ``early``: files that
    end early; ``missing``: files that are not there; ``lost``: decisions that other
    processes were faster than. Claims count instances."""

    decisions: int = 0
    files: int = 0
    changes: int = 0
    claims: int = 0
    lost: int = 0
    unrepeated: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    early: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def _ids(marks: Marks) -> list[int]:
    return [key for key, _ in marks.firsts]
