"""Listens to Nova's versioned notifications, so that Gantt can decide beside Nova.

Nothing is answered and nothing is kept: each notification is passed on once, and one
that cannot be is counted and dropped, since Nova's own decision does not wait for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import oslo_messaging as messaging
from oslo_config import cfg

from gantt.conf import add_references, check_written, guests
from gantt.errors import GanttError, Invalid, Refused
from gantt.model.forms.notification import read_payload
from gantt.model.shadow import Phase, ShadowEvent
from gantt.openstack.rpc.message_bus import open_transport

LOG = logging.getLogger(__name__)
_STARTS: Final = "scheduler.select_destinations."
_PHASES: Final[dict[str, Phase]] = {"start": "start", "end": "end"}
_TOPICS: Final = cfg.ListOpt(
    "versioned_notifications_topics", default=["versioned_notifications"]
)


class ShadowTarget(Protocol):
    """What is told of requests: a Gantt, in process or over HTTP."""

    def shadow_event(self, event: ShadowEvent) -> None:
        """See GanttProtocol."""


class NotificationEndpoint:
    """What the library calls for each notification of priority info."""

    filter_rule = messaging.NotificationFilter(
        event_type=r"^scheduler\.select_destinations\.(start|end)$"
    )

    def __init__(self, observer: ShadowTarget) -> None:
        self._observer = observer
        self._is_away = False
        self.passed_on = self.unread = self.lost = 0

    def info(
        self,
        context: Mapping[str, Any],
        publisher: str,
        event_type: str,
        payload: Any,
        metadata: Mapping[str, Any],
    ) -> str:
        """Pass it on. Never raises: the library would log the whole notification."""
        request_id = str(context.get("request_id") or "")
        try:
            event = event_of(event_type, payload, request_id, metadata.get("timestamp"))
        except Invalid as error:
            self.unread += 1
            LOG.warning("%s of %s cannot be read: %s", event_type, publisher, error)
            return str(messaging.NotificationResult.HANDLED)
        try:
            self._observer.shadow_event(event)
        except GanttError as error:
            self._lose(error)
        except Exception:  # a bug must not stop the listener
            self.lost += 1
            LOG.exception("%s: it could not be observed", request_id)
        else:
            self.passed_on += 1
            if self._is_away:
                self._is_away = False
                LOG.info("notifications are passed on again; %d were lost", self.lost)
        return str(messaging.NotificationResult.HANDLED)

    def _lose(self, error: GanttError) -> None:
        """Log the first of several."""
        self.lost += 1
        if not self._is_away:
            self._is_away = True
            LOG.warning("notifications are lost until they can be passed on: %s", error)


def event_of(
    event_type: str, payload: Any, request_id: str, timestamp: Any
) -> ShadowEvent:
    """The event that a notification describes. Raises Invalid, which names the
    field."""
    phase = _PHASES[event_type.removeprefix(_STARTS)]
    return ShadowEvent(
        read_payload(payload), phase, request_id=request_id, at=_micros(timestamp)
    )


def _micros(timestamp: Any) -> int | None:
    """Microseconds since the epoch; None: the notification does not say when."""
    if timestamp is None:
        return None
    try:
        found = datetime.fromisoformat(str(timestamp))
    except ValueError:
        raise Invalid(
            f"timestamp must be a time such as 2026-11-22 08:00:00.1, not "
            f"{str(timestamp)[:40]!r}."
        ) from None
    at = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(at.timestamp() * 1_000_000)


_TURN_S: Final = 0.2


class Listener:
    """Listens from ``start`` to ``stop``. ``pool``: listeners of one name share the
    notifications, and other consumers get each as well; None: the queue that consumers
    without a pool share."""

    def __init__(
        self, conf: cfg.ConfigOpts, observer: ShadowTarget, pool: str | None
    ) -> None:
        """Raises Refused."""
        self.endpoint = NotificationEndpoint(observer)
        conf.register_opt(_TOPICS, "notifications")
        topics: Sequence[str] = conf.notifications.versioned_notifications_topics
        self._listener = messaging.get_notification_listener(
            open_transport(conf, messaging.get_notification_transport),
            [messaging.Target(topic=name) for name in topics],
            [self.endpoint],
            executor="threading",
            pool=pool,
        )
        # In order: the end of a request must not overtake its start.
        conf.set_override("executor_thread_pool_size", 1)

    def start(self, ended: threading.Event) -> bool:
        """Begin to listen, once the broker answers; whether it did before ``ended``.
        The library waits for it without an end, so that happens in another thread;
        later it reconnects by itself."""
        failures: list[Exception] = []

        def begin() -> None:
            try:
                self._listener.start()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=begin, name="gantt-listen", daemon=True)
        thread.start()
        while thread.is_alive() and not ended.is_set():
            thread.join(_TURN_S)
        if failures:
            raise failures[0]
        return not thread.is_alive()

    def stop(self) -> None:
        """Finish what has begun."""
        self._listener.stop()
        self._listener.wait()


def read_conf(files: Sequence[str]) -> cfg.ConfigOpts:
    """The options in these files, such as ``nova.conf``. Raises Refused."""
    conf = cfg.ConfigOpts()
    try:
        conf([], project="nova", default_config_files=list(files))
        add_references(conf)
        for warning in check_written(files):
            LOG.warning("%s", warning)
        guests.lend(files, ())
    except (cfg.Error, OSError) as error:
        raise Refused(f"{', '.join(files)} cannot be read: {error}") from error
    return conf
