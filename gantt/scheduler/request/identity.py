"""The identity of a request: by it a repeat is told from another request.

A caller that heard no answer asks again, and must not get a second host. What may
differ between the two is left out: where the instances may go (a claim may satisfy that
too), how long a lease lasts, whether alternates are wanted, and facts that Nova or the
door look up anew for each request.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from gantt.model.request_identity import RequestIdentity
from gantt.model.spec import Destination, RequestSpec, ScheduleRequest

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_LETTERS: Final = 32


def identity_of(request: ScheduleRequest) -> RequestIdentity:
    """``request`` has validated types."""
    spec = request.spec
    target = spec.requested_destination
    what = (
        spec.project_id or request.project_id,
        spec.user_id or request.user_id,
        sorted(request.instance_uuids or ()),
        request.lease_s is not None,
        _anywhere(spec),
    )
    return RequestIdentity(
        sha256(_ENCODER.encode(what)).hexdigest()[:_LETTERS],
        request.replaces,
        spec.ignore_hosts,
        spec.force_hosts,
        spec.force_nodes,
        spec.retry_hosts,
        None if target is None else target.host,
        None if target is None else target.node,
    )


def _anywhere(spec: RequestSpec) -> RequestSpec:
    """What is asked for, without where and without what is looked up."""
    target, group = spec.requested_destination, spec.instance_group
    if target is not None:
        target = replace(target, host=None, node=None)
        target = None if target == Destination() else target
    if group is not None:
        group = replace(group, members=frozenset(), hosts=frozenset())
    networks = spec.requested_networks
    if networks:
        networks = tuple(replace(one, segments=None, trouble="") for one in networks)
    return replace(
        spec,
        num_instances=1,
        project_id=None,
        user_id=None,
        instance_uuid=None,
        ignore_hosts=(),
        force_hosts=(),
        force_nodes=(),
        retry_hosts=(),
        requested_destination=target,
        instance_group=group,
        requested_networks=networks,
        unset=frozenset(),
        nulls=frozenset(),
    )
