"""Lines in the form that oslo.log's options ask for, as in ``[req-… user project]``.

Separate from ``logs`` because only what is configured by a service's file, such as
nova.conf, needs oslo.log: collectors of logs then read Gantt's lines like Nova's.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Final

from msgspec import structs

from gantt.errors import Refused, shortened
from gantt.model.printable import printable
from gantt.observe.logs import LONGEST

if TYPE_CHECKING:
    from gantt.conf import LogOptions

FORMS: Final = (
    "logging_context_format_string",
    "logging_default_format_string",
    "logging_user_identity_format",
    "log_date_format",
)


def context_formatter(options: LogOptions) -> logging.Formatter | None:
    """The formatter that ``options`` ask for; None: none of its forms is set. Raises
    Refused (a form that no line can have, oslo.log is not installed)."""
    given = structs.asdict(options)
    asked = {name: given[name] for name in FORMS if given[name]}
    if not asked:
        return None
    try:
        from oslo_config import cfg
        from oslo_log import formatters, log
    except ImportError:
        raise Refused(
            f"[DEFAULT] {next(iter(asked))} is set, and oslo.log, which reads it, is "
            "not installed: install that package, or take the option out."
        ) from None
    conf = cfg.ConfigOpts()
    root = logging.getLogger()
    before = list(root.handlers)
    log.register_options(conf)  # adds a handler where there is none
    root.handlers[:] = before
    conf([], default_config_files=[], default_config_dirs=[])
    for name, value in asked.items():
        conf.set_override(name, value)
    found = _Printable(
        formatters.ContextFormatter(datefmt=conf.log_date_format, config=conf)
    )
    _try(found, asked)
    return found


class _Printable(logging.Formatter):
    """A message is one line, whatever names it and its request have; ``context`` of a
    record tells of the request: ``request_id``, ``user``, ``project``,
    ``instance_uuid``."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        record = copy.copy(record)
        record.msg = printable(shortened(record.getMessage(), LONGEST))
        record.args = ()
        if record.name.partition(".")[0] == "gantt":
            # What a guest left in this thread is not about our lines.
            record.context = getattr(record, "context", {})
        context = getattr(record, "context", None)
        if isinstance(context, dict):  # else it is oslo.context's, by a guest
            # Callers write these: with a line end in one they could forge a line.
            context = {name: _on_a_line(value) for name, value in context.items()}
            record.context = context
            record.instance_uuid = context.get("instance_uuid")
        lines = shortened(self._inner.format(record), 2 * LONGEST).split("\n")
        return "\n".join(map(printable, lines))


def _on_a_line(value: object) -> object:
    return printable(shortened(value, LONGEST)) if isinstance(value, str) else value


def _try(found: logging.Formatter, asked: dict[str, str]) -> None:
    record = logging.LogRecord("gantt", logging.INFO, "", 0, "a line", (), None)
    with_request = copy.copy(record)
    with_request.context = {"request_id": "req-a"}
    try:
        found.format(record)
        found.format(with_request)
    except (KeyError, ValueError, TypeError) as error:
        what = ", ".join(f"[DEFAULT] {name}" for name in asked)
        raise Refused(
            f"No line of the log can have the form that {what} asks for: {error!r}. "
            "Name attributes of Python's log records, or of oslo.context, as in "
            "%(request_id)s; a % by itself is written %%."
        ) from error
