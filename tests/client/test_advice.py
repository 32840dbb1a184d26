"""Advice by the library: in process and over HTTP alike."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from gantt.errors import Invalid
from gantt.model.advice import AdviceHost, AdviceRequest
from gantt.model.hosts import HostStats
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec

SPEC = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_hosts_come_back_in_an_order(books: GanttProtocol, mode: Any) -> None:
    small, big = f"small-{uuid4()}", f"big-{uuid4()}"
    for host, memory_mb in ((small, 1024), (big, 4096)):
        stats = HostStats(vcpus=4, memory_mb=memory_mb, free_ram_mb=memory_mb)
        books.update_host(host, host, stats)
    request = AdviceRequest(
        SPEC,
        (AdviceHost("x", "y"), AdviceHost(small), AdviceHost(big, big)),
        {small: 1.5},
        mode=mode,
        operation="create",
        instance_uuid=str(uuid4()),
        request_id="req-1",
    )
    found = books.advise(request)
    assert (found.decided, found.why, found.decision) == (True, "", "req-1")
    known = [("x", "y"), (small, None), (big, big)]
    order = known
    if mode == "advise":
        order = [(big, big), (small, None), ("x", "y")]
    assert [(one.host, one.node) for one in found.hosts] == order
    assert found.hosts[order.index(("x", "y"))].weight is None


def test_over_http_a_request_is_checked(books: GanttProtocol) -> None:
    request = AdviceRequest(SPEC, (AdviceHost("h"),), stage="sort")  # type: ignore[arg-type]
    try:
        found = books.advise(request)
    except Invalid:
        return
    assert [one.host for one in found.hosts] == ["h"]
