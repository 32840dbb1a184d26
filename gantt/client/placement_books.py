"""A Placement over HTTP as the books of a scheduler: upstream's, or a Gantt's.

Separate from ``RemoteGantt``, which uses the newest microversion: this uses only 1.36,
as Nova does, so that every Placement of the last years works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange, Propagate
from gantt.client.transport import transport_to
from gantt.model.addresses import without_secrets
from gantt.model.answers import (
    Candidate,
    Candidates,
    ConsumerView,
    ProviderAggregates,
)
from gantt.model.commands import ConsumerAllocations
from gantt.model.requests import CandidateRequest

VERSION: Final = "1.36"
CATALOGUE: Final = "keystone"
"""Instead of a URL: the endpoint that Keystone's catalogue names."""
NO_OWNER: Final = "00000000-0000-0000-0000-000000000000"
_HOST: Final = "_host"


class PlacementBooks:
    """Implements ``engine.remote.RemoteBooks``; safe for many threads.

    ``token`` is sent as X-Auth-Token, unless a keystoneauth ``session`` (or adapter)
    authenticates. ``timeout_s``: for connecting, and for each wait for an answer.
    ``propagate``: headers to send along, such as those of a trace.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "admin",  # noqa: S107 - the name that noauth2 lets in
        session: Any = None,
        timeout_s: float = 30.0,
        propagate: Propagate = dict,
    ) -> None:
        """Raises Invalid if ``url`` is not a URL."""
        self.url = without_secrets(url)
        where = "" if url == CATALOGUE else url
        self._wire = Exchange(
            transport_to(where, token=token, session=session, timeout_s=timeout_s),
            propagate,
        )

    def candidates(
        self, question: CandidateRequest, *, request_id: str = ""
    ) -> Candidates:
        pairs = encode.candidate_pairs(wire_question(question))
        route = encode.query("/allocation_candidates", pairs)
        reply = self._wire.ask(
            "GET", route, version=VERSION, headers=_headers(request_id)
        )
        found = decode.candidates(reply)
        return Candidates(
            tuple(_restored(one) for one in found.candidates), found.summaries
        )

    def consumer(self, uuid: str) -> ConsumerView | None:
        route = encode.path("allocations", uuid)
        return decode.consumer(self._wire.ask("GET", route, version=VERSION))

    def aggregates(self, provider_uuid: str) -> frozenset[str]:
        route = encode.path("resource_providers", provider_uuid, "aggregates")
        try:
            reply = self._wire.ask("GET", route, version=VERSION)
        except errors.NotFound:
            return frozenset()
        return frozenset(decode.view(reply, ProviderAggregates).aggregates)

    def write(
        self, consumers: Sequence[ConsumerAllocations], *, request_id: str = ""
    ) -> None:
        named = [
            replace(
                one,
                project_id=one.project_id or NO_OWNER,
                user_id=one.user_id or NO_OWNER,
            )
            for one in consumers
        ]
        self._wire.ask(
            "POST",
            "/allocations",
            encode.consumers_body(named),
            version=VERSION,
            headers=_headers(request_id),
        )

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._wire.close()


def wire_question(question: CandidateRequest) -> CandidateRequest:
    """``question`` as Placement accepts it.

    Placement refuses an unsuffixed group without resources. Its traits and aggregates
    become a suffixed group, which must be named in ``same_subtree``. Raises Invalid if
    ``isolate`` would separate that group from the others.
    """
    bare = [one for one in question.groups if not one.suffix and not one.resources]
    if not bare:
        return question
    others = tuple(one for one in question.groups if one.suffix)
    if question.isolate and others:
        raise errors.Invalid(
            "the request asks for nothing of the host itself but traits or aggregates, "
            "and with group_policy=isolate a remote Placement cannot be asked for "
            "that: give the flavor an amount without a suffix, or group_policy=none"
        )
    host = tuple(replace(one, suffix=_HOST, in_tree=None) for one in bare)
    return replace(
        question,
        groups=(*host, *others),
        same_subtrees=(*question.same_subtrees, frozenset((_HOST,))),
    )


def _restored(candidate: Candidate) -> Candidate:
    if _HOST not in candidate.mappings:
        return candidate
    mappings = dict(candidate.mappings)
    mappings[""] = mappings.pop(_HOST)
    return replace(candidate, mappings=mappings)


def _headers(request_id: str) -> Mapping[str, str]:
    return {"x-openstack-request-id": request_id} if request_id else {}
