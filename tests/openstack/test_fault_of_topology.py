"""What hosts lack of cells and devices is for the log: tenants read the fault."""

from __future__ import annotations

import logging

import pytest

from gantt.errors import NoValidHost
from gantt.model.selection import Near, Step, Why
from gantt.openstack.rpc.faults import fault_of

LACKS = "cell 1 has 3 of 4 free pinned CPUs"

NO_HELP = "No single change of the request would help."


def test_what_the_nearest_hosts_lack_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nearest = (Near("a", "a", ("NUMATopologyFilter",), LACKS), Near("b", "b", ("x",)))
    why = Why((Step("NUMATopologyFilter", 2, 0, 2),), nearest)
    with caplog.at_level(logging.INFO):
        fault = fault_of(NoValidHost("None.", why), "req-1")
    assert caplog.messages == [f"req-1: None. a: {LACKS}. b: refused by x. {NO_HELP}"]
    assert "pinned" not in str(fault)
    with caplog.at_level(logging.INFO):
        fault_of(NoValidHost("None.", Why(nearest=nearest[1:])), "req-2")
    assert caplog.messages[1:] == [f"req-2: None. b: refused by x. {NO_HELP}"]
