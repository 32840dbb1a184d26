"""The segments of requested networks, looked up before hosts are decided on.

Deciders call no service, so the answer goes with the request. Neutron has a limited
time to give it, and what it says of networks and subnets, which hardly ever change, is
used again for some seconds; ports are asked for each time. Whatever fails becomes the
reason why no host is found.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from gantt.client.transport import SessionTransport
from gantt.conf import RpcOptions
from gantt.engine.clock import Clock, SystemClock
from gantt.engine.reading.outage import Outage
from gantt.engine.threads import SystemThreads
from gantt.errors import AnswerTooLarge, Forbidden, GanttError, Unavailable
from gantt.model.spec import RequestedNetwork, ScheduleRequest
from gantt.openstack.neutron import Asking, Neutron

LOG = logging.getLogger(__name__)

Segments: TypeAlias = frozenset[str]
_NONE: Final[Segments] = frozenset()
# In place of a network: Nova makes one, or attaches none.
_NO_NETWORK: Final = frozenset({None, "", "auto", "none"})
_ADVICE: Final = "Check that Neutron runs, and the options of [neutron]."
_LARGER: Final = (
    "Raise neutron_answer_size_limit of [scheduler] if the network has so many subnets."
)


class RoutedNetworks:
    """Safe for many threads; off until ``ask`` names a session. ``threads``: look-ups
    at the same time, late ones included."""

    def __init__(
        self, options: RpcOptions, threads: int, clock: Clock | None = None
    ) -> None:
        self._timeout_s = options.neutron_timeout_s
        self._retries = options.http_retries
        self._size_limit = options.neutron_answer_size_limit
        self._clock = clock or SystemClock()
        self._recent = _Recent(
            options.neutron_answers, options.neutron_answers_s, self._clock
        )
        self._neutron: Neutron | None = None
        self._pool = ThreadPoolExecutor(threads, "neutron")
        self._outage = Outage("Neutron", self._clock, SystemThreads())
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def ask(self, session: Any) -> None:
        """Use this keystoneauth session from now on; None: look nothing up."""
        if session is None:
            self._neutron = None
            return
        transport = SessionTransport(
            session,
            "",
            timeout_s=self._timeout_s,
            service="network",
            advice=_ADVICE,
            size_limit=self._size_limit,
        )
        self._neutron = Neutron(transport, self._retries)

    def close(self) -> None:
        """Wait for no answer any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def with_segments(self, request: ScheduleRequest) -> ScheduleRequest:
        """``request``, where each network has its segments, or the trouble in finding
        them."""
        neutron, spec = self._neutron, request.spec
        if neutron is None or spec.is_rebuild or not spec.requested_networks:
            return request
        self._count("neutron_requests")
        began = self._clock.monotonic()
        look_up = _LookUp(
            neutron,
            self._recent,
            request.request_id,
            is_late=lambda: self._clock.monotonic() - began > self._timeout_s,
            count=self._count,
        )
        answer = self._pool.submit(look_up.all_of, spec.requested_networks)
        try:
            networks = answer.result(self._timeout_s)
            self._outage.succeeded("read")
        except TimeoutError:
            answer.cancel()
            self._count("neutron_late")
            networks = self._failed(request, _late(self._timeout_s))
        except GanttError as error:
            networks = self._failed(request, error)
        self._count("neutron_seconds", self._clock.monotonic() - began)
        return replace(request, spec=replace(spec, requested_networks=networks))

    def _failed(
        self, request: ScheduleRequest, error: GanttError
    ) -> tuple[RequestedNetwork, ...]:
        """All networks, with what may be told of ``error``: no address, no user."""
        self._count("neutron_failures")
        if isinstance(error, AnswerTooLarge):
            self._count("neutron_oversize")
            error = AnswerTooLarge(f"{error.message} {_LARGER}")
        if isinstance(error, Unavailable | Forbidden):
            self._outage.failed("read", error)
            trouble = "Neutron did not answer; the log of gantt scheduler has more."
        else:
            self._outage.succeeded("read")
            trouble = error.message
        LOG.warning("%s: segments of networks: %s", request.request_id, trouble)
        return tuple(
            replace(one, trouble=trouble) for one in request.spec.requested_networks
        )

    def counts(self) -> dict[str, float]:
        """What was looked up so far, by name; for metrics."""
        with self._lock:
            found: dict[str, float] = dict(self._counts)
        return {
            **found,
            "neutron_answers": len(self._recent),
            "neutron_answers_limit": self._recent.most,
            "neutron_answer_size_limit": self._size_limit,
        }

    def _count(self, name: str, by: float = 1) -> None:
        with self._lock:
            self._counts[name] += by  # type: ignore[assignment]


def _late(seconds: float) -> Unavailable:
    return Unavailable(
        f"Neutron did not answer within {seconds:g} s (neutron_timeout_s of "
        "[scheduler])."
    )


class _LookUp:
    """The networks of one request. ``is_late``: its caller has stopped waiting."""

    def __init__(
        self,
        neutron: Neutron,
        recent: _Recent,
        request_id: str,
        *,
        is_late: Callable[[], bool],
        count: Callable[[str], None],
    ) -> None:
        self._neutron = neutron
        self._recent = recent
        self._asking = Asking(request_id, self._begin)
        self._is_late = is_late
        self._count = count

    def all_of(
        self, networks: tuple[RequestedNetwork, ...]
    ) -> tuple[RequestedNetwork, ...]:
        """``networks`` with their segments. Raises what Neutron does."""
        return tuple(replace(one, segments=self._segments(one)) for one in networks)

    def _segments(self, network: RequestedNetwork) -> Segments:
        """Those of the subnet of a port's first address; else those of the network."""
        neutron, uuid = self._neutron, network.network_id
        if network.port_id is not None:
            port = neutron.port(network.port_id, self._asking)
            subnet = port.fixed_ips[0].subnet_id if port.fixed_ips else None
            if subnet is not None:
                return self._told(subnet, neutron.segments_of_subnet)
            uuid = port.network_id
        if uuid is None or uuid in _NO_NETWORK:
            return _NONE
        return self._told(uuid, neutron.segments_of_network)

    def _told(self, uuid: str, question: Callable[[str, Asking], Segments]) -> Segments:
        found = self._recent.get(uuid)
        if found is not None:
            self._count("neutron_hits")
            return found
        found = question(uuid, self._asking)
        self._recent.put(uuid, found)
        return found

    def _begin(self) -> None:
        if self._is_late():
            raise Unavailable("There was not enough time left to ask Neutron.")
        self._count("neutron_questions")


class _Recent:
    """At most ``most`` answers, each for ``seconds``, by the uuid asked for."""

    def __init__(self, most: int, seconds: float, clock: Clock) -> None:
        self.most = most
        self._seconds = seconds
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Segments]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, uuid: str) -> Segments | None:
        """An answer that is young enough."""
        with self._lock:
            until, found = self._answers.get(uuid, (0.0, _NONE))
            return found if self._clock.monotonic() < until else None

    def put(self, uuid: str, found: Segments) -> None:
        """The oldest gives way."""
        if not self.most or not self._seconds:
            return
        with self._lock:
            self._answers.pop(uuid, None)
            self._answers[uuid] = self._clock.monotonic() + self._seconds, found
            while len(self._answers) > self.most:
                self._answers.popitem(last=False)
