"""Bodies of external schedulers, as forks of Nova, Cinder and Manila send them.

Unknown fields (``context``, flags of a fork) are ignored. The answer has ``hosts``
alone: the callers refuse any other key, and fail on a name that they did not send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gantt.errors import Invalid
from gantt.model.advice import (
    AdviceHost,
    AdviceRequest,
    Mode,
    Operation,
)
from gantt.model.bounds import MAX_NAME, Name
from gantt.model.forms.spec import read_spec
from gantt.model.printable import counted

_SHOWN = 5


class SentHost(AdviceHost, frozen=True, gc=False):
    """A host of Nova, as these callers name it."""

    node: Name | None = field(default=None, name="hypervisor_hostname")


class SentBackend(Struct, frozen=True, gc=False):
    """A backend of Cinder or Manila: ``host@backend#pool``."""

    host: Name


class SentContext(Struct, frozen=True):
    """On whose behalf."""

    request_id: str | None = None


class NovaBody(Struct, frozen=True):
    """POST /scheduler/nova/external: ``spec`` is a RequestSpec's primitive; ``weights``
    has one for each host."""

    spec: dict[str, Any]
    hosts: tuple[SentHost, ...]
    weights: dict[Name, float]
    context: SentContext | None = None
    rebuild: bool = False
    resize: bool = False
    live: bool = False


class StorageBody(Struct, frozen=True):
    """POST /scheduler/cinder/external and /scheduler/manila/external."""

    hosts: list[SentBackend]
    weights: dict[Name, float]
    spec: dict[str, Any] = {}


class Names(Struct, frozen=True):
    """The answer: names of hosts that were sent, the best first."""

    hosts: list[str]


def nova_request(body: NovaBody, mode: Mode, request_id: str) -> AdviceRequest:
    """The request of ``body``, under the id of its context, or without one that can
    be kept, under ``request_id``. Raises Invalid, which names the field."""
    given = None if body.context is None else body.context.request_id
    if given is not None and len(given) > MAX_NAME:
        given = None  # these callers fail on a refusal
    request = AdviceRequest(
        read_spec(body.spec),
        body.hosts,
        body.weights,
        mode=mode,
        operation=_operation(body),
        request_id=given or request_id,
    )
    if not request.is_aligned:
        check_weights(request.names, body.weights)
    return request


def _operation(body: NovaBody) -> Operation | None:
    """From the flags, where the hint of the spec tells nothing."""
    if body.rebuild:
        return "rebuild"
    if body.resize:
        return "resize"
    return "live_migrate" if body.live else None


def by_weights(body: StorageBody) -> Names:
    """The caller's own order by its weights, the highest first; equals stay in order.
    Gantt has no books of volumes and shares. Raises Invalid."""
    hosts = [one.host for one in body.hosts]
    check_weights(hosts, body.weights)
    return Names(sorted(hosts, key=body.weights.__getitem__, reverse=True))


def check_weights(hosts: list[str], weights: Mapping[str, float]) -> None:
    """Raises Invalid unless every host has a weight and every weight a host."""
    known = set(hosts)
    if known == weights.keys():
        return
    lacking, extra = sorted(known - weights.keys()), sorted(weights.keys() - known)
    found = [
        f"{what} {counted(len(some), of)} "
        f"({', '.join(some[:_SHOWN])}{', …' * (len(some) > _SHOWN)})"
        for some, what, of in (
            (lacking, "no weight for", "host"),
            (extra, "no host for", "weight"),
        )
        if some
    ]
    raise Invalid(
        f"Every host needs a weight and every weight a host: {'; '.join(found)}."
    )
