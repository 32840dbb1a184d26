"""``TRACEPARENT``: the trace that a command belongs to, if it is one."""

from __future__ import annotations

import pytest

from gantt.cli.command_traces import traced

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize("given", [PARENT, f"{PARENT}-later"])
def test_the_trace_of_a_caller_is_sent_along(given: str) -> None:
    with traced("host list", {"TRACEPARENT": given}) as propagate:
        assert propagate() == {"traceparent": given}


@pytest.mark.parametrize(
    "given", ["", "nonsense", f"{PARENT}\nX-Auth-Token: x", "\u20ac" * 55, "0" * 10_000]
)
def test_nonsense_is_no_header(given: str) -> None:
    with traced("host list", {"TRACEPARENT": given}) as propagate:
        assert propagate() == {}
