"""Errors as callers of a nova-scheduler know them.

A caller makes an exception anew from the name of its class and module, its arguments
and ``kwargs``, if the module is one that it trusts: ``nova.exception``. So the classes
here say that they are of it. What is in them reaches the tenant: the reason is vague,
and what an operator needs is in the log and in the record of the decision. Only
settings that contradict each other are quoted, as Nova's API would.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import oslo_messaging as messaging

from gantt import errors
from gantt.model.selection import Why
from gantt.scheduler.feasibility.candidate_sources import BOOKS

LOG = logging.getLogger(__name__)

NOT_ENOUGH: Final = "There are not enough hosts available."
LONGEST_REASON: Final = 1_000
"""Characters: the fault has the reason twice, and what was sent is not sent back."""


class Fault(Exception):
    """``args``: the message; ``kwargs``: what the caller passes on besides it."""

    __module__ = "nova.exception"
    code = 500

    def __init__(self, message: str, **kwargs: str) -> None:
        super().__init__(message)
        self.kwargs: dict[str, str | int] = {**kwargs, "code": self.code}


class NovaException(Fault):
    """The scheduler failed."""

    __module__ = "nova.exception"


class NoValidHost(Fault):
    """No host can take the request."""

    __module__ = "nova.exception"

    def __init__(self, reason: str) -> None:
        super().__init__(f"No valid host was found. {reason}", reason=reason)


class Invalid(Fault):
    """The payload cannot be read; the message names the object and the field."""

    __module__ = "nova.exception"
    code = 400


class ServiceUnavailable(Fault):
    """Not now."""

    __module__ = "nova.exception"
    code = 503


def raised(fault: Fault) -> messaging.ExpectedException:
    """``fault`` as the RPC library sends it without a traceback of its cause: that
    would quote what tenants must not read."""
    try:
        raise fault from None
    except Fault:
        return messaging.ExpectedException()


def fault_of(error: Exception, context: Mapping[str, str | None]) -> Fault:
    """``error`` as a fault. It is logged, with the ``context`` of the request; but not
    that no host was found, of which the decision's own line tells."""
    if isinstance(error, errors.NoValidHost):
        return NoValidHost(_reason(error.why))
    about, head = {"context": context}, _head(context)
    if isinstance(error, errors.Invalid):
        LOG.warning("%s: refused: %s", head, error.message, extra=about)
        is_told = isinstance(error, errors.NeverFits)
        return NoValidHost(
            errors.shortened(error.message, LONGEST_REASON) if is_told else ""
        )
    if not isinstance(error, errors.GanttError):
        LOG.error("%s: the scheduler failed", head, exc_info=error, extra=about)
        request_id = context["request_id"] or ""
        said = f"The scheduler failed; its log has the reason: {request_id}."
        return NovaException(said)
    LOG.error("%s: %s", head, error.message, extra=about)
    is_away = isinstance(error, errors.Unavailable)
    return (ServiceUnavailable if is_away else NovaException)(error.public)


def _head(context: Mapping[str, str | None]) -> str:
    """The request, which instance it is for, and whose."""
    of = {"instance": "instance_uuid", "project": "project"}
    known = [f"{word} {context[name]}" for word, name in of.items() if context[name]]
    request_id = context["request_id"] or "-"
    return f"{request_id} ({', '.join(known)})" if known else request_id


def _reason(why: object) -> str:
    """Empty where the books have no candidate, as in Nova."""
    steps = why.steps if isinstance(why, Why) else ()
    if not steps or any(step.name == BOOKS and not step.after for step in steps):
        return ""
    return NOT_ENOUGH
