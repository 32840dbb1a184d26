"""A message that gets no host leaves one line in the log: which instance, whose, in
which request, why, and what would help."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import oslo_messaging as messaging
import pytest

import gantt
from gantt.conf import load
from gantt.connection import connect
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.observe.context_lines import context_formatter
from gantt.observe.logs import JsonFormatter
from gantt.openstack.rpc.methods import SchedulerMethods
from gantt.scheduler.options import SchedulerOptions
from tests.brokers import Rabbitmq
from tests.openstack import fleet
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import WARNED_BY_NOVA
from tests.openstack.processes import new_books, scheduler

pytestmark = WARNED_BY_NOVA

FORMS = (
    "logging_context_format_string = %(levelname)s %(name)s "
    "[%(request_id)s %(user_identity)s] %(instance)s%(message)s\n"
    "logging_user_identity_format = %(user)s %(project)s\n"
)
REFUSED = {"request_id": "req-1", "user_id": "ann", "project_id": "blue"}


@pytest.fixture
def books() -> Iterator[Gantt]:
    chosen = EngineOptions(scheduler=SchedulerOptions(names_are_checked=True))
    found = gantt.connect("memory://", options=chosen)
    assert isinstance(found, Gantt)
    with closing(found):
        fleet.add_hosts(found, "a", "b")
        yield found


def refused(
    books: Gantt, caplog: pytest.LogCaptureFixture, **asked: Any
) -> tuple[str, logging.LogRecord]:
    """The instance of a request that is refused, and the one line about it."""
    uuids = instances()
    sent = spec(project_id="blue", **asked).obj_to_primitive()
    with caplog.at_level(logging.INFO), pytest.raises(messaging.ExpectedException):
        SchedulerMethods(books, None).select_destinations(
            REFUSED, spec_obj=sent, instance_uuids=uuids
        )
    (line,) = (one for one in caplog.records if "req-1" in one.getMessage())
    return uuids[0], line


def in_form(record: logging.LogRecord, folder: Path) -> str:
    """As ``gantt scheduler`` writes it with a nova.conf that has forms of lines."""
    path = folder / "nova.conf"
    path.write_text(f"[DEFAULT]\n{FORMS}")
    form = context_formatter(load(config_files=[str(path)]).log)
    assert form is not None
    return form.format(record)


def test_no_host_is_told_once_with_reason_and_change(
    books: Gantt, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    uuid, record = refused(books, caplog, ignore_hosts=["a", "b"])
    head = "INFO gantt.engine.scheduling.records [req-1 ann blue] "
    line = in_form(record, tmp_path)
    assert line.startswith(f"{head}[instance: {uuid}] req-1: 1 instance ({uuid}) ")
    reason, change = "requested hosts", "ignore no hosts"
    assert "of project blue, 2 hosts: No valid host was found. " in line
    assert f"{reason} left none of 2 hosts. a: refused by {reason}." in line
    assert line.endswith(f"This would help: {change}.")
    fields = json.loads(JsonFormatter().format(record))
    told = {**fields, "user_id": fields["user"], "project_id": fields["project"]}
    assert REFUSED.items() <= told.items()
    assert fields["instance_uuid"] == uuid
    assert (fields["reason"], fields["change"]) == (reason, change)


def test_what_cannot_be_asked_for_is_told_with_its_instance_and_project(
    books: Gantt, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    odd = {"extra_specs": {"hw:cpu_policy": "odd"}}
    uuid, record = refused(books, caplog, flavor=odd)
    head = "WARNING gantt.openstack.rpc.faults [req-1 ann blue] "
    line = in_form(record, tmp_path)
    said = f"[instance: {uuid}] req-1 (instance {uuid}, project blue): refused: "
    assert line.startswith(head + said)
    assert "hw:cpu_policy" in line


@pytest.mark.server("rabbitmq")
def test_the_program_writes_lines_as_its_nova_conf_asks(
    tmp_path: Path, rabbitmq: Rabbitmq
) -> None:
    books, (uuid,) = new_books(tmp_path, 2), instances()
    ignored = spec(ignore_hosts=["host0", "host1"])
    with (
        conductor(rabbitmq.url) as api,
        scheduler(tmp_path, rabbitmq.url, books, more=FORMS) as running,
    ):
        with pytest.raises(Exception, match="No valid host"):
            api.select_destinations(context("req-1"), ignored, [uuid], True)
        running.wait_for(f"[req-1 user project] [instance: {uuid}] req-1: 1 instance")
        assert running.stop() == 0
    assert running.text.count("No valid host") == 1
    with closing(connect(books)) as found:
        assert not found.get_allocations(uuid)
