"""Bodies: what is sent of a request, and the form of external schedulers."""

from __future__ import annotations

import datetime
import json
from typing import Any
from uuid import UUID

import pytest
from gantt_nova_plugin.wire import (
    NATIVE,
    BadAnswer,
    Candidate,
    Question,
    decode,
    encode,
    external,
    finite,
)

UUID_TEXT = "00000000-0000-0000-0000-000000000001"
SENT = (Candidate("a", None), Candidate("b", None), Candidate("c", None))


class Versioned:
    """As objects of oslo.versionedobjects are."""

    def obj_to_primitive(self) -> object:
        return {"nova_object.name": "Thing"}


def sent(spec: object) -> Any:
    question = Question("filter", "decide", lambda: spec, SENT)
    return json.loads(encode(NATIVE, question))["spec"]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({2, 1}, [1, 2]),
        (frozenset(), []),
        ((1, 2), [1, 2]),
        (UUID(UUID_TEXT), UUID_TEXT),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05Z"),
        (Versioned(), {"nova_object.name": "Thing"}),
        ({3: "x"}, {"3": "x"}),
        ("ü\udcff", "ü\udcff"),
    ],
)
def test_values_are_sent_as_nova_would(value: object, form: object) -> None:
    assert sent({"field": value}) == {"field": form}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_does_not_have_are_not_sent(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        sent({"field": value})
    assert finite({"a": value, "b": 1}) == {"b": 1.0}


CINDER = external("cinder")


def external_answer(hosts: object) -> Any:
    return decode(CINDER, json.dumps({"hosts": hosts}).encode(), SENT)


def test_external_form_has_a_weight_for_each_host() -> None:
    question = Question("weigh", "advise", dict, SENT, None, {"a": 2.5})
    assert CINDER.path == "/scheduler/cinder/external"
    assert json.loads(encode(CINDER, question)) == {
        "spec": {},
        "hosts": [{"host": "a"}, {"host": "b"}, {"host": "c"}],
        "weights": {"a": 2.5, "b": 0.0, "c": 0.0},
    }


def test_hosts_that_an_external_answer_leaves_out_are_refused() -> None:
    a, b, c = SENT
    found = external_answer(["c", "a"])
    assert found.order == (c, a, b)
    assert found.refused == {b}
    assert found.is_decided


def test_empty_external_answer_decides_nothing() -> None:
    assert not external_answer([]).is_decided


@pytest.mark.parametrize("hosts", [["x"], ["a", "a"], [1], [["a"]], "abc", None])
def test_bad_external_answer_is_not_used(hosts: object) -> None:
    with pytest.raises(BadAnswer):
        external_answer(hosts)
