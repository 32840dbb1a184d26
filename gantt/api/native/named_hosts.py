"""Which callers may name the hosts that a request is about.

With a forced host in it, a count of free places tells how full that host is, and a
refusal whether there is one. Nova asks ``compute:servers:create:forced_host`` before a
request reaches its scheduler; here requests arrive without Nova.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.api.call import Call
from gantt.api.native.claims import bound_to, owned
from gantt.errors import Forbidden
from gantt.model.spec import RequestSpec

CHOOSE = "gantt:hosts:choose"


def asked(call: Call, spec: RequestSpec, *named: str | None) -> RequestSpec:
    """``spec`` as the caller may ask it; ``named``: further projects that the request
    names. Raises Forbidden for another project, or for hosts that it may not name."""
    names = list(_naming(spec))
    if names and call.door.policy.allows(CHOOSE, call.caller, {}):
        raise Forbidden(
            f"The request names hosts ({', '.join(names)}), but the caller lacks "
            f"permission {CHOOSE}. Leave them out."
        )
    return owned(bound_to(call), spec, *named)


def _naming(spec: RequestSpec) -> Iterator[str]:
    """The fields of ``spec`` that name hosts, nodes or their providers."""
    for name in ("force_hosts", "force_nodes", "ignore_hosts", "retry_hosts"):
        if getattr(spec, name):
            yield name
    aim, group = spec.requested_destination, spec.instance_group
    if aim is not None and (aim.host or aim.node):
        yield "requested_destination"
    if group is not None and group.hosts:
        yield "instance_group.hosts"
    if any(one.in_tree for one in spec.requested_resources):
        yield "requested_resources.in_tree"
