"""Reports that are read in one pass are judged as all others are."""

from __future__ import annotations

from typing import Any
from unittest import mock

import msgspec
import pytest

from gantt.errors import GanttError
from gantt.model.forms import reports
from gantt.model.hosts import HostStats
from gantt.model.reports import Report

LONGEST = 200_000
ODD: Any = [5, -1, 2**31, 2**53, 2**63, 1.5, 1e39, True, "", "x", None, [], {}, [[]]]
ODD += ["x" * 70_000, "0-3", [5], ["x"], [["a", "b", "c"]], [["a"]], ["é"], "{}"]
ODD += [{"a": {"b": [1, {"c": [2**63 - 1]}]}}, {"a": 2**63}, {"": {"": ""}}]
ODD += [[{"name": "a", "value": n}] for n in (1, 2**40, 1e39, "x", None)]
ODD += [[{"name": n, "value": 1}] for n in ("", "a" * 256, 5)]
ODD += [[{"count": n}] for n in (1, -1, 2**40, "1")]
ODD += [[{"count": 1, "tags": {"a": "b"}}], [{"nova_object.name": "PciDevicePool"}]]
ODD += [{"num_instances": n} for n in (1, "3", -1, "x", 2**40)]
ODD += [{"cells": [cell]} for cell in ({}, {"id": 0, "cpuset": [0], "memory": 1})]
ODD += [["11111111-2222-3333-4444-555555555555"], ["1111"]]


def text(**fields: Any) -> bytes:
    report = {"host": "h", "node": "h", "incarnation": "i", "sequence": 1}
    return msgspec.json.encode({**report, "taken_at": 1, **fields})


def outcome(raw: bytes) -> object:
    """What comes of it: the report, or the words of the refusal."""
    try:
        found = reports.report(raw, LONGEST)
    except GanttError as error:
        return error.message
    assert type(found.fields) is HostStats
    return found


def by_fields(raw: bytes) -> object:
    with mock.patch.object(reports, "_plain", return_value=None):
        return outcome(raw)


@pytest.mark.parametrize("field", HostStats.__struct_fields__)
def test_fields_are_judged_alike_in_one_pass(field: str) -> None:
    for odd in ODD:
        raw = text(fields={field: odd})
        assert outcome(raw) == by_fields(raw), odd


@pytest.mark.parametrize("field", [*Report.__struct_fields__, "unknown"])
def test_heads_are_judged_alike_in_one_pass(field: str) -> None:
    for odd in ODD:
        raw = text(**{field: odd})
        assert outcome(raw) == by_fields(raw), odd


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", text()[:-1], text() + b"x"])
def test_what_is_no_report_is_refused(raw: bytes) -> None:
    assert isinstance(outcome(raw), str)
    assert outcome(raw) == by_fields(raw)


def test_nanoseconds_do_not_take_the_slow_way() -> None:
    metrics = [{"name": "cpu.user.time", "value": 7 * 10**15, "source": "gantt"}]
    with mock.patch.object(reports, "read_report") as slow:
        found = reports.report(text(fields={"metrics": metrics}), LONGEST)
    assert not slow.called
    assert found.fields.metrics == metrics


def test_the_limit_of_a_report_holds_in_one_pass() -> None:
    raw = text(fields={"host_ip": "x" * 100})
    with pytest.raises(GanttError, match=f"has {len(raw)} bytes"):
        reports.report(raw, len(raw) - 1)
