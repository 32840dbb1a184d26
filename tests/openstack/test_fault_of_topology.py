"""What hosts lack of cells and devices is for the log: tenants read the fault."""

from __future__ import annotations

import logging

import pytest
from msgspec.structs import replace

from gantt.engine.scheduling.records import Records
from gantt.errors import NoValidHost
from gantt.model.log_context import request_context
from gantt.model.selection import Decision, Near, Step, Why
from gantt.openstack.rpc.faults import fault_of

LACKS = "cell 1 has 3 of 4 free pinned CPUs"

NO_HELP = "No single change of the request would help."
NEAREST = (Near("a", "a", ("NUMATopologyFilter",), LACKS), Near("b", "b", ("x",)))
STEPS = (Step("NUMATopologyFilter", 2, 0, 2),)


def refusal(name: str, why: Why) -> Decision:
    """The record of one."""
    made = Decision(name, (), None, 1, 0, "filter", 2, why.steps, ())
    return replace(made, why=why, failure="None.")


def test_what_the_nearest_hosts_lack_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    why, records = Why(STEPS, NEAREST), Records(2)
    with caplog.at_level(logging.INFO):
        records.add(refusal("req-1", why))
        fault = fault_of(NoValidHost("None.", why), request_context("req-1"))
        records.add(refusal("req-2", Why(nearest=NEAREST[1:])))
    assert "pinned" not in str(fault)
    asked = "0 instances, 2 hosts: None."
    assert caplog.messages == [
        f"req-1: {asked} NUMATopologyFilter left none of 2 hosts. a: {LACKS}. "
        f"b: refused by x. {NO_HELP}",
        f"req-2: {asked} b: refused by x. {NO_HELP}",
    ]
