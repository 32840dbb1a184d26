"""The methods of a nova-scheduler, version 4.5 of its RPC interface.

Each reads its arguments, calls the library and writes the answer. Arguments are
primitives: no object of Nova's is ever made.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import oslo_messaging as messaging
from msgspec.structs import replace

from gantt.client import SchedulerClient
from gantt.errors import GanttError, Invalid, NoValidHost
from gantt.model.bounds import MAX_NAME, MAX_TEXT
from gantt.model.forms import fleet, scalars
from gantt.model.forms.document import is_envelope
from gantt.model.forms.primitive import spec_primitive
from gantt.model.forms.selection import selection_dict, selection_primitive
from gantt.model.forms.spec import read_spec
from gantt.model.hosts import WHOSE, Instance
from gantt.model.log_context import request_context
from gantt.model.scheduling import SchedulerProtocol, Selections
from gantt.model.spec import ScheduleRequest
from gantt.observe.tracing import Tracing
from gantt.openstack.rpc import faults
from gantt.openstack.rpc.newer_fields import newer_fields

if TYPE_CHECKING:
    from gantt.openstack.routed_networks import RoutedNetworks
    from gantt.openstack.rpc.scheduler_notifications import Notifications

LOG = logging.getLogger(__name__)

Context = Mapping[str, Any]


class FactSource(Protocol):
    """Where facts about hosts come from besides casts: the feed. ``keeps_names``:
    whether names and projects of instances may be kept."""

    keeps_names: bool

    def note_update(self, *, host: str | None = None) -> None:
        """A cast about instances of ``host``, or (None) aggregates, comes next."""

    def reread_instances(self, host: str) -> None:
        """The instances of ``host`` are not as known: read them."""


class NoSource:
    """Casts alone."""

    keeps_names = True

    def note_update(self, *, host: str | None = None) -> None:
        """Nothing is being read that could be older."""

    def reread_instances(self, host: str) -> None:
        """What the cast said is all that is known."""


class CallObserver(Protocol):
    """Told of each message, in the thread that answered it."""

    def answered(self, method: str, seconds: float) -> None:
        """A message was answered, or could not be; it took ``seconds``."""

    def failed(self, method: str, kind: str) -> None:
        """It could not be; ``kind``: the class of the error."""


class Unobserved:
    """Measures nothing."""

    def answered(self, method: str, seconds: float) -> None:
        """See CallObserver."""

    def failed(self, method: str, kind: str) -> None:
        """See CallObserver."""


class SchedulerMethods:
    """``source``: None: another process of this host passes casts on, so that this one
    leaves them; ``announce``: None: nothing is announced. May be set before the first
    message comes: ``observer``; ``networks``, which looks up the segments of requested
    networks."""

    target = messaging.Target(version="4.5")

    def __init__(
        self,
        gantt: SchedulerProtocol,
        source: FactSource | None,
        announce: Notifications | None = None,
    ) -> None:
        self._gantt = gantt
        self._client = SchedulerClient(gantt)
        self._source = source
        self._announce = announce
        self.observer: CallObserver = Unobserved()
        self.networks: RoutedNetworks | None = None
        self.traces: Tracing | None = None  # may be set likewise
        self._counts: Counter[str] = Counter()
        self._in_flight = 0
        self._lock = threading.Lock()

    # -- a call ----------------------------------------------------------------------

    def select_destinations(
        self,
        context: Context,
        request_spec: Any = None,
        filter_properties: Any = None,
        spec_obj: Any = None,
        instance_uuids: Any = None,
        return_objects: Any = False,
        return_alternates: Any = False,
    ) -> list[Any]:
        """Hosts for the instances, claimed unless ``instance_uuids`` is None."""
        with self._observed("select_destinations", context):
            return self._select_destinations(
                context,
                request_spec if spec_obj is None else spec_obj,
                filter_properties,
                instance_uuids,
                as_objects=bool(return_objects),
                alternates=bool(return_alternates and return_objects),
            )

    def _select_destinations(
        self,
        context: Context,
        spec: Any,
        filter_properties: Any,
        instance_uuids: Any,
        *,
        as_objects: bool,
        alternates: bool,
    ) -> list[Any]:
        self._count("rpc_calls")
        try:
            self._note_unknown(spec)
            request = _request(
                context, spec, filter_properties, instance_uuids, alternates
            )
        except Exception as error:
            raise self._unread(context, error) from None
        try:
            return self._select(context, spec, request, as_objects=as_objects)
        except Exception as error:
            self._count("rpc_refused")
            fault = faults.fault_of(error, _about(request))
            self.observer.failed("select_destinations", type(fault).__name__)
            raise faults.raised(fault) from None

    def _unread(
        self, context: Context, error: Exception
    ) -> messaging.ExpectedException:
        """``error``, met while a request was read, as its caller hears it."""
        named = request_context(_id_of(context))
        if not isinstance(error, Invalid):
            self._count("rpc_refused")
            fault = faults.fault_of(error, named)
            self.observer.failed("select_destinations", type(fault).__name__)
            return faults.raised(fault)
        self._count("rpc_unreadable")
        self.observer.failed("select_destinations", "Invalid")
        about = {"context": named}
        LOG.warning(
            "%s: cannot be read: %s",
            named["request_id"] or "-",
            error.message,
            extra=about,
        )
        return faults.raised(faults.Invalid(error.message))

    def _select(
        self, context: Context, spec: Any, request: ScheduleRequest, *, as_objects: bool
    ) -> list[Any]:
        shown: Mapping[str, Any] = {}
        if self._announce is not None:
            shown = spec if is_envelope(spec) else spec_primitive(request.spec)
            self._announce.selecting(context, shown, "start")
        if self.networks is not None:
            request = self.networks.with_segments(request)
        found = self._gantt.schedule(request)
        if as_objects:
            self._check_cells(request, found)
        if self._announce is not None:
            self._announce.selecting(context, shown, "end")
        return _reply(found, as_objects=as_objects)

    def _check_cells(self, request: ScheduleRequest, found: Selections) -> None:
        try:
            _check_cells(found)
        except GanttError as error:
            about = {"context": _about(request)}
            LOG.info("%s: %s", request.request_id, error.message, extra=about)
            for claim in {one.claim for each in found for one in each if one.claim}:
                self._gantt.release_claim(claim)
            raise

    def _note_unknown(self, spec: Any) -> None:
        """Count and log the fields of newer objects that are ignored."""
        unknown = list(newer_fields(spec))
        if unknown and self._count("rpc_unknown_fields", len(unknown)):
            LOG.warning(
                "A request has fields of newer objects, which are ignored here: %s",
                ", ".join(sorted(set(unknown))[:20]),
            )

    # -- casts -----------------------------------------------------------------------

    def update_aggregates(self, context: Context, aggregates: Any) -> None:
        """Each aggregate, with all of its hosts, as it is from now on."""
        self._cast(self._client.update_aggregates, context, None, aggregates)

    def delete_aggregate(self, context: Context, aggregate: Any) -> None:
        """The aggregate is gone."""
        self._cast(self._client.delete_aggregate, context, None, aggregate)

    def update_instance_info(
        self, context: Context, host_name: Any, instance_info: Any
    ) -> None:
        """The host has these instances, among others."""
        tell = self._update_instance_info
        self._cast(tell, context, host_name, host_name, instance_info)

    def _update_instance_info(self, _context: None, host: Any, told: Any) -> None:
        if self._source is not None and not self._source.keeps_names:
            told = [_nameless(one) for one in fleet.read_instances(told)]
        self._client.update_instance_info(None, host, told)

    def delete_instance_info(
        self, context: Context, host_name: Any, instance_uuid: Any
    ) -> None:
        """The instance is no longer on the host."""
        tell = self._client.delete_instance_info
        self._cast(tell, context, host_name, host_name, instance_uuid)

    def sync_instance_info(
        self, context: Context, host_name: Any, instance_uuids: Any
    ) -> None:
        """The host has exactly these instances; if that is news, they are read again,
        with what else is known of them."""
        tell = self._sync_instance_info
        self._cast(tell, context, host_name, host_name, instance_uuids)

    def _sync_instance_info(self, _context: None, host: Any, uuids: Any) -> None:
        if self._client.sync_instance_info(None, host, uuids):
            return
        self._count("rpc_syncs_corrected")
        if self._source is not None:
            self._source.reread_instances(host)

    def _cast(
        self, method: Callable[..., object], context: Context, about: Any, *args: Any
    ) -> None:
        """``about``: a host, None: aggregates. Refusals are logged and counted: they
        have no other way back."""
        if self._source is None:
            return
        self._count("rpc_casts")
        name = getattr(method, "__name__", "a cast").lstrip("_")
        try:
            with self._observed(name, context):
                if about is not None:
                    about = scalars.name("host_name", about)
                self._source.note_update(host=about)
                method(None, *args)
        except GanttError as error:
            self._count("rpc_casts_refused")
            self.observer.failed(name, type(error).__name__)
            LOG.warning("%s: %s: %s", _id_of(context) or "-", name, error.message)

    # -- for metrics -----------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Messages that are being answered."""
        return self._in_flight

    def counts(self) -> dict[str, float]:
        """What was done so far, by name."""
        with self._lock:
            found: dict[str, float] = dict(self._counts)
        return found if self.networks is None else found | self.networks.counts()

    @contextmanager
    def _observed(self, method: str, context: Context) -> Iterator[None]:
        """While a message is answered."""
        began = time.perf_counter()
        with self._lock:
            self._in_flight += 1
        try:
            with self._traced(method, context):
                yield
        finally:
            with self._lock:
                self._in_flight -= 1
            self.observer.answered(method, time.perf_counter() - began)

    def _traced(self, method: str, context: Context) -> AbstractContextManager[Any]:
        """A span below that of the caller, if its context names one."""
        if self.traces is None:
            return nullcontext()
        parent = context.get("traceparent")
        carrier = {"traceparent": parent} if isinstance(parent, str) else {}
        return self.traces.span(f"rpc {method}", "server", carrier)

    def _count(self, name: str, by: int = 1) -> bool:
        """Whether this is the first."""
        with self._lock:
            is_first = not self._counts[name]
            self._counts[name] += by
        return is_first


def _nameless(one: Instance) -> Instance:
    kept = {key: value for key, value in one.facts.items() if key not in WHOSE}
    return replace(one, facts=kept)


def _reply(selections: Selections, *, as_objects: bool) -> list[Any]:
    """Per instance its Selection objects, or the one dict that preceded them."""
    if as_objects:
        return [[selection_primitive(one) for one in each] for each in selections]
    return [selection_dict(each[0]) for each in selections]


def _check_cells(selections: Selections) -> None:
    """Raises NoValidHost for a host that a conductor could not reach: it looks up the
    cell of a selection."""
    for each in selections:
        for one in each:
            if one.cell_uuid is None or one.compute_node_uuid is None:
                missing = "cell" if one.cell_uuid is None else "uuid"
                raise NoValidHost(
                    f"No valid host was found. The one selected, {one.service_host!r}, "
                    f"has no {missing} that a conductor could use: it is mapped to no "
                    "cell, or was not read from a cell's database."
                )


class LifeSigns:
    """What each service of Nova answers: namespace ``baseapi``, version 1.1."""

    target = messaging.Target(namespace="baseapi", version="1.1")

    def ping(self, context: Context, arg: Any) -> dict[str, Any]:
        """The argument, and the service's name."""
        del context
        return {"service": "scheduler", "arg": arg}

    def get_backdoor_port(self, context: Context) -> None:
        """There is none."""
        del context


def _request(
    context: Context,
    spec: Any,
    filter_properties: Any,
    instance_uuids: Any,
    return_alternates: bool,
) -> ScheduleRequest:
    """Raises Invalid, which names the object and the field. Without a lease, since
    conductors confirm nothing."""
    uuids: Sequence[str] | None = None
    if instance_uuids is not None:
        uuids = fleet.read_uuids("instance_uuids", instance_uuids)
        if not uuids:
            raise Invalid("instance_uuids is empty; it must name the instances.")
    return ScheduleRequest(
        spec=read_spec(spec, filter_properties),
        instance_uuids=None if uuids is None else tuple(uuids),
        return_alternates=return_alternates,
        request_id=_text(context, "request_id", MAX_NAME) or "",
        user_id=_text(context, "user_id"),
        project_id=_text(context, "project_id"),
        replaces=True,
    )


def _about(request: ScheduleRequest) -> dict[str, str | None]:
    project = request.spec.project_id or request.project_id
    named = request.request_id, request.user_id, project, request.instance_uuids
    return request_context(*named)


def _id_of(context: Context) -> str:
    """The request's id for the log; "" where it cannot be read."""
    try:
        return _text(context, "request_id", MAX_NAME) or ""
    except Invalid:
        return ""


def _text(context: Context, name: str, longest: int = MAX_TEXT) -> str | None:
    value = context.get(name)
    return None if value is None else scalars.text(f"context.{name}", value, longest)
