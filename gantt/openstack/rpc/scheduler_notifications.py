"""Notifications before and after a selection, as nova-scheduler sends them.

Whether anything is sent is for ``[oslo_messaging_notifications] driver`` to say.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import oslo_messaging as messaging
from oslo_config import cfg

from gantt.conf import RpcOptions
from gantt.openstack.rpc import payloads
from gantt.openstack.rpc.message_bus import open_transport

LOG = logging.getLogger(__name__)

_EVENT: Final = "scheduler.select_destinations"
# Of a context, what no listener needs.
_SECRET: Final = frozenset({"auth_token", "service_catalog"})


class _Redacted(dict[str, Any]):
    """A context that the library does not drop: it asks for what may be shown."""

    def redacted_copy(self) -> dict[str, Any]:
        """All of it."""
        return dict(self)


class Notifications:
    """In the formats of ``options``."""

    def __init__(self, conf: cfg.ConfigOpts, options: RpcOptions) -> None:
        self._transport = open_transport(conf, messaging.get_notification_transport)
        wanted = options.notification_format
        self._legacy = self._versioned = None
        if wanted != "versioned":
            self._legacy = messaging.Notifier(
                self._transport, publisher_id=f"scheduler.{options.host}"
            )
        if wanted != "unversioned":
            self._versioned = messaging.Notifier(
                self._transport,
                publisher_id=f"nova-scheduler:{options.host}",
                topics=list(options.versioned_notifications_topics),
            )

    @property
    def are_sent(self) -> bool:
        """Whether a driver is configured that sends."""
        drivers = self._transport.conf.oslo_messaging_notifications.driver
        return any(driver != "noop" for driver in drivers)

    def selecting(
        self, context: Mapping[str, Any], spec: Mapping[str, Any], phase: str
    ) -> None:
        """``spec``: the primitive of a RequestSpec. A failure is logged: no request
        fails for it."""
        shown = _Redacted(
            (key, one) for key, one in context.items() if key not in _SECRET
        )
        event = f"{_EVENT}.{phase}"
        try:
            if self._legacy is not None:
                body = {"request_spec": payloads.legacy(spec)}
                self._legacy.info(shown, event, body)
            if self._versioned is not None:
                self._versioned.info(shown, event, payloads.versioned(spec))
        except Exception:
            LOG.warning("a notification was not sent: %s", event, exc_info=True)

    def close(self) -> None:
        """Close the transport."""
        self._transport.cleanup()
