"""Lines in oslo.log's form, where a configuration asks for it."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import oslo_context.context
import pytest
from oslo_context.context import RequestContext

import gantt
from gantt.conf import LogOptions, load
from gantt.errors import NoValidHost, Refused
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.observe.context_lines import context_formatter
from gantt.observe.logs import JsonFormatter

CONTEXT = "%(name)s [%(request_id)s %(user_identity)s] %(instance)s%(message)s"
NOVA_CONF = f"""
[DEFAULT]
logging_context_format_string = {CONTEXT}
logging_default_format_string = %(name)s [-] %(instance)s%(message)s
logging_user_identity_format = %(user)s %(project)s
"""


@pytest.fixture
def options(tmp_path: Path) -> LogOptions:
    path = tmp_path / "nova.conf"
    path.write_text(NOVA_CONF)
    return load(config_files=[str(path)]).log


@pytest.fixture
def form(options: LogOptions) -> logging.Formatter:
    found = context_formatter(options)
    assert found is not None
    return found


def refusal(caplog: pytest.LogCaptureFixture, instance: str) -> logging.LogRecord:
    """The line of a request that no host can take."""
    caplog.set_level(logging.INFO, "gantt.engine.scheduling.records")
    request = ScheduleRequest(
        RequestSpec(Flavor(vcpus=64), project_id="blue"),
        (instance,),
        request_id="req-1",
        user_id="ann",
        project_id="blue",
    )
    with closing(gantt.connect("memory://")) as books:
        books.update_host("one", "one", HostStats(vcpus=4, memory_mb=4096))
        with pytest.raises(NoValidHost):
            books.schedule(request)
    (record,) = (one for one in caplog.records if hasattr(one, "context"))
    return record


def test_a_refusal_has_its_request_user_project_and_instance(
    form: logging.Formatter, caplog: pytest.LogCaptureFixture
) -> None:
    instance = str(uuid4())
    line = form.format(refusal(caplog, instance))
    head = f"gantt.engine.scheduling.records [req-1 ann blue] [instance: {instance}] "
    assert line.startswith(head)
    assert f"1 instance ({instance}) of project blue, 1 host: No valid host" in line
    assert "one: 0 of 4 VCPU in use (64 asked). This would help: ask for 4" in line


def test_json_has_them_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    instance = str(uuid4())
    line = json.loads(JsonFormatter().format(refusal(caplog, instance)))
    assert (line["request_id"], line["user"], line["project"]) == (
        "req-1",
        "ann",
        "blue",
    )
    assert line["instance_uuid"] == instance


def test_other_lines_have_the_default_form(
    form: logging.Formatter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a thread where another package left what it was about."""
    store = threading.local()
    monkeypatch.setattr(oslo_context.context, "_request_store", store)
    store.context = oslo_context.context.RequestContext(overwrite=False)
    record = logging.LogRecord(
        "gantt.a", logging.INFO, "", 0, "said\n%s", ("%d",), None
    )
    assert form.format(record) == "gantt.a [-] said\\n%d"
    assert record.args == ("%d",), "other handlers see it as it was"


def test_lines_of_guests_may_have_a_context_of_oslo(form: logging.Formatter) -> None:
    record = logging.LogRecord("a", logging.INFO, "", 0, "said", (), None)

    def says() -> str:
        # The library keeps the last one of each thread.
        record.context = RequestContext(request_id="req-2")
        return form.format(record)

    with ThreadPoolExecutor(1) as another:
        assert another.submit(says).result().startswith("a [req-2 ")
    assert json.loads(JsonFormatter().format(record))["message"] == "said"


def test_what_logging_is_configured_with_stays(
    options: LogOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oslo.log adds a handler of its own, for which ours would then not be added."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    assert context_formatter(options) is not None
    assert root.handlers == []


def test_without_such_an_option_lines_are_our_own() -> None:
    assert context_formatter(LogOptions()) is None


@pytest.mark.parametrize("form", ["%(nothing)s", "%(message)", "100 %"])
def test_a_form_that_no_line_can_have_is_refused_at_once(form: str) -> None:
    with pytest.raises(Refused, match="logging_default_format_string"):
        context_formatter(LogOptions(logging_default_format_string=form))
