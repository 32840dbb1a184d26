"""The forms of questions and answers, as JSON.

`NATIVE` is Gantt's own, for Nova. `external` is the form of external schedulers, which
Gantt serves for Cinder and Manila. An answer is checked as a whole: one that names a
host that was not sent is not used at all.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

FILTER = "filter"
WEIGH = "weigh"


class BadAnswer(Exception):
    """An answer that breaks the form; the message says where."""


class Candidate(NamedTuple):
    """One host that the scheduler has left; `node` where a host has several."""

    host: str
    node: str | None


class Question(NamedTuple):
    """One stage of one instance's request."""

    stage: str
    mode: str
    spec: Callable[[], object]  # what is sent of the request; making it takes time
    candidates: tuple[Candidate, ...]
    instance_uuid: str | None = None
    weights: Mapping[str, float] | None = None


class Answer(NamedTuple):
    """Exactly the candidates that were sent, best first."""

    order: tuple[Candidate, ...]
    refused: frozenset[Candidate]
    is_decided: bool


class Form(NamedTuple):
    """Where a question is sent, its body, and how the body of an answer is read.

    ``encode`` raises TypeError or ValueError for what JSON cannot hold, ``decode``
    `BadAnswer`.
    """

    path: str
    encode: Callable[[Question], dict[str, object]]
    decode: Callable[[Mapping[str, object], Sequence[Candidate]], Answer]


def encode(form: Form, question: Question) -> bytes:
    """The body of a request. TypeError or ValueError if JSON cannot hold it."""
    body = form.encode(question)
    return json.dumps(
        body, default=_primitive, allow_nan=False, separators=(",", ":")
    ).encode()


def decode(form: Form, body: bytes, sent: Sequence[Candidate]) -> Answer:
    """The answer in ``body`` about ``sent``; `BadAnswer` if it is not one."""
    return form.decode(_document(body), sent)


def _native_body(question: Question) -> dict[str, object]:
    body: dict[str, object] = {
        "spec": question.spec(),
        "hosts": [candidate._asdict() for candidate in question.candidates],
        "stage": question.stage,
        "mode": question.mode,
    }
    if question.instance_uuid is not None:
        body["instance_uuid"] = question.instance_uuid
    if question.weights is not None:
        body["weights"] = question.weights
    return body


def _native_answer(document: Mapping[str, object], sent: Sequence[Candidate]) -> Answer:
    entries = [_entry(entry) for entry in _typed(document, "hosts", list)]
    order = [candidate for candidate, _ in entries]
    _check_names(order, sent)
    if len(order) != len(sent):
        raise BadAnswer("the answer leaves out hosts that were sent")
    refused = frozenset(candidate for candidate, is_refused in entries if is_refused)
    return Answer(tuple(order), refused, _typed(document, "decided", bool))


def _external_body(question: Question) -> dict[str, object]:
    """The callers of this form send a weight for each host."""
    names = [candidate.host for candidate in question.candidates]
    weights = question.weights or {}
    return {
        "spec": question.spec(),
        "hosts": [{"host": name} for name in names],
        "weights": {name: weights.get(name, 0.0) for name in names},
    }


def _external_answer(
    document: Mapping[str, object], sent: Sequence[Candidate]
) -> Answer:
    """Hosts that are left out are refused. An empty list decides nothing, since this
    form has no word for being sure."""
    names = _typed(document, "hosts", list)
    if not all(isinstance(name, str) for name in names):
        raise BadAnswer("hosts of the answer are not all names")
    order = [Candidate(name, None) for name in names]
    _check_names(order, sent)
    known = set(order)
    rest = [candidate for candidate in sent if candidate not in known]
    return Answer((*order, *rest), frozenset(rest), bool(order))


NATIVE = Form("/gantt/advise", _native_body, _native_answer)


def external(service: str) -> Form:
    """The form of external schedulers. ``service``: cinder or manila."""
    return Form(f"/scheduler/{service}/external", _external_body, _external_answer)


def finite(weights: Mapping[str, float]) -> dict[str, float]:
    """Those weights that JSON can hold."""
    return {name: float(w) for name, w in weights.items() if math.isfinite(w)}


def _document(body: bytes) -> dict[str, object]:
    try:
        document = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadAnswer("the answer is not JSON") from error
    if not isinstance(document, dict):
        raise BadAnswer("the answer is not an object")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _typed(document: Mapping[str, object], name: str, kind: type) -> Any:
    value = document.get(name)
    if not isinstance(value, kind):
        raise BadAnswer(f"{name} of the answer is not of type {kind.__name__}")
    return value


def _entry(entry: object) -> tuple[Candidate, bool]:
    if not isinstance(entry, dict):
        raise BadAnswer("an entry of hosts is not an object")
    host, node = entry.get("host"), entry.get("node")
    weight, refused_by = entry.get("weight"), entry.get("refused_by")
    if not isinstance(host, str):
        raise BadAnswer("an entry of hosts has no host")
    if not (node is None or isinstance(node, str)):
        raise BadAnswer("an entry of hosts has a node that is not a string")
    if not (weight is None or type(weight) in (int, float)):
        raise BadAnswer("an entry of hosts has a weight that is not a number")
    if not (refused_by is None or isinstance(refused_by, str)):
        raise BadAnswer("an entry of hosts has a refused_by that is not a string")
    return Candidate(host, node), refused_by is not None


def _check_names(order: Sequence[Candidate], sent: Sequence[Candidate]) -> None:
    if not set(sent).issuperset(order):
        raise BadAnswer("the answer names a host that was not sent")
    if len(set(order)) != len(order):
        raise BadAnswer("the answer names a host twice")


def _primitive(value: object) -> object:
    """What JSON has no word for, as the services' own serializers write it."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    to_primitive = getattr(value, "obj_to_primitive", None)
    return to_primitive() if callable(to_primitive) else str(value)
