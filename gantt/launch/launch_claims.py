"""The claims of launches: on an alternate, confirmed, given back.

Every claim has a lease until its instance runs: a launching process that dies leaves
nothing that does not end by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gantt.errors import ClaimExpired, Conflict, GanttError, NotFound
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Selection
from gantt.model.spec import Destination, ScheduleRequest


class LaunchClaims:
    """Claims for the instances of one request, whose hosts were selected before."""

    def __init__(self, gantt: GanttProtocol, request: ScheduleRequest) -> None:
        self._gantt = gantt
        self._request = request

    def claim(self, instance_uuid: str, alternate: Selection) -> Selection:
        """``alternate`` claimed for the instance alone. It was selected some time ago,
        so the whole request is judged again for this one host; cells and devices are
        fitted there. Raises NoValidHost, Unavailable."""
        spec = self._request.spec
        destination = replace(
            spec.requested_destination or Destination(),
            host=alternate.service_host,
            node=alternate.nodename,
        )
        request = replace(
            self._request,
            spec=replace(spec, num_instances=1, requested_destination=destination),
            instance_uuids=(instance_uuid,),
            return_alternates=False,
        )
        return self._gantt.schedule(request)[0][0]

    def confirm(self, selection: Selection, instance_uuid: str) -> None:
        """Raises ClaimExpired, Unavailable. A claim that ended because the host already
        names the instance has done its work."""
        if selection.claim is None:
            return
        try:
            self._gantt.confirm_claim(selection.claim)
        except ClaimExpired:
            if not self._is_named(selection, instance_uuid):
                raise

    def give_back(
        self, selection: Selection, instance_uuid: str, *, is_alone: bool
    ) -> str:
        """Free what the instance was to use; why that failed, "" if it did not."""
        try:
            give_back(self._gantt, selection, instance_uuid, is_alone=is_alone)
        except GanttError as error:
            return error.message
        return ""

    def _is_named(self, selection: Selection, instance_uuid: str) -> bool:
        hosts = self._gantt.list_hosts(
            host=selection.service_host, node=selection.nodename
        )
        return any(instance_uuid in one.instances for one in hosts)


def give_back(
    gantt: GanttProtocol, selection: Selection, instance_uuid: str, *, is_alone: bool
) -> None:
    """The instance, which was new, does not run: free what it used, whether its claim
    is leased or confirmed, or ended because its host named the instance. Raises
    Unavailable."""
    claim = selection.claim
    is_free = False
    if is_alone and claim is not None:
        is_free = _is_found(lambda: gantt.release_claim(claim))
    # An agent may have named it; this launch knows that it runs no more.
    gantt.delete_instance(selection.service_host, instance_uuid)
    if not is_free:
        # A claim of several instances cannot be released for one of them, and one
        # whose allocations another wrote not at all.
        _is_found(lambda: gantt.delete_allocations(instance_uuid))


def _is_found(call: Callable[[], None]) -> bool:
    try:
        call()
    except (Conflict, NotFound):
        return False
    return True
