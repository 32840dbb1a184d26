"""Relations of instances by topology keys: how they are spread over racks, rows, power
circuits.

The vocabulary is Kubernetes' (topologySpreadConstraints): a value of a key is a domain;
the skew of a domain is what it has beyond the domain that has the least.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

HOST: Final = "host"
"""The key that needs no label: each service host is a domain of its own."""
MOST_LABEL: Final = 63
"""Letters of a key of labels, and of a value."""
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
RelationKind: TypeAlias = Literal["spread", "distinct", "apart", "near"]


def is_label(text: str) -> bool:
    """Whether it can be the key of a label, or its value."""
    return len(text) <= MOST_LABEL and _LABEL.fullmatch(text) is not None


class Relation(Struct, frozen=True):
    """``spread``: no domain has more than ``most`` beyond the domain with the least;
    with fewer than ``min_domains`` of them the least counts as 0. Not ``is_hard``: only
    as far as it costs no host. ``distinct``: no domain has more than ``most``.
    ``apart``: none in a domain of members of the server group ``group`` (a uuid), or of
    the others that the term names; ``near``: each in a domain of some of these."""

    kind: RelationKind
    key: str
    most: int = 1
    min_domains: int = 1
    is_hard: bool = True
    group: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether the instances that keep it do not count for it themselves."""
        return self.kind in ("apart", "near")

    @property
    def text(self) -> str:
        """What scheduler hints and extra specs have, without the kind."""
        if self.kind == "apart":
            return f"{self.key}:{self.group}"
        if self.kind == "distinct":
            return f"{self.key}:{self.most}"
        rigor = "hard" if self.is_hard else "soft"
        least = f":{self.min_domains}" if self.min_domains > 1 else ""
        return f"{self.key}:{self.most}:{rigor}{least}"


class HostLabels(Struct, frozen=True):
    """The labels that an operator gave a host, by key: an answer."""

    host: str
    labels: dict[str, str]


class TopologyKey(Struct, frozen=True):
    """A topology key: an answer. ``domains``: how many hosts (nodes) are in each;
    ``without``: how many are in none; ``torn``: some of these, of which two values are
    told."""

    key: str
    domains: dict[str, int]
    without: int = 0
    torn: tuple[str, ...] = ()


class DomainTerm(Struct, frozen=True):
    """A relation as a request asks for it, and, if it is hard, a claim has to keep it.
    ``left_out``: domains that do not count, because no host there is what the request
    asks for. ``others``: consumers that are counted, in place of a group's members;
    ``what``: how they are called; ``places``: host and node of those that are planned
    with the request and not claimed yet."""

    relation: Relation
    left_out: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    what: str = ""
    places: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Such as ``apart cache by rack``."""
        what = f" {self.what}" if self.what else ""
        return f"{self.relation.kind}{what} by {self.relation.key}"
