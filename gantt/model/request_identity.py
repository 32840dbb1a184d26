"""What tells whether a request is one that was answered before.

Apart from the request because the committer judges it, which knows claims and hosts but
no flavors: ``scheduler.request.identity`` makes it of a request, and
``placement.rules.standing`` says what follows.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gantt.model.holding import Amounts


class RequestIdentity(Struct, frozen=True):
    """``digest``: of all that is asked for but where; "": nothing is equal to it. The
    names: where, as in RequestSpec. ``replaces``: a claim of another request makes way,
    as long as no host names the instance; else this one is refused."""

    digest: str = ""
    replaces: bool = False
    ignore_hosts: tuple[str, ...] = ()
    force_hosts: tuple[str, ...] = ()
    force_nodes: tuple[str, ...] = ()
    retry_hosts: tuple[tuple[str, str], ...] = ()
    destination_host: str | None = None
    destination_node: str | None = None

    def excludes(self, host: str, node: str) -> bool:
        """Whether the request may not be answered with this host."""
        name = host.lower()
        if name in _lower(self.ignore_hosts) or (host, node) in self.retry_hosts:
            return True
        if self.force_hosts and name not in _lower(self.force_hosts):
            return True
        if self.force_nodes and node not in self.force_nodes:
            return True
        if self.destination_host is None:
            return False
        is_node = self.destination_node in (None, "", node)
        return self.destination_host != host or not is_node


class Booked(Struct, frozen=True, omit_defaults=True):
    """What is called so, and which demand it answers: the ``digest`` of that, and the
    name of its ``plan`` if it has one."""

    name: str
    item: str
    project: str = ""
    plan: str = ""
    digest: str = ""


class Answered(Struct, frozen=True):
    """What a claim remembers of the request that it answers: its digest, and what of
    the answer its other columns do not tell. ``mappings``: as in a Candidate.
    ``artifacts``: what it brings to its host."""

    digest: str
    allocations: Amounts = {}
    mappings: dict[str, tuple[str, ...]] = {}
    artifacts: tuple[str, ...] | UnsetType = UNSET

    @property
    def text(self) -> str:
        """The value as JSON text for its column."""
        return msgspec.json.encode(self).decode()


def read_answered(text: str) -> Answered:
    """From the JSON text of the column."""
    return msgspec.json.decode(text, type=Answered)


def _lower(names: tuple[str, ...]) -> set[str]:
    return {name.lower() for name in names}
