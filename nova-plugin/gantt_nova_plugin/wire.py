"""The form of questions and answers of `POST /gantt/advise`.

An answer is checked as a whole: the scheduler asks the plug-in about its own hosts, so
a name that it did not send, or a host that is missing, makes all of it worthless.
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
    spec: Callable[[], object]  # as it is sent; making it takes time
    candidates: tuple[Candidate, ...]
    instance_uuid: str | None = None
    weights: Mapping[str, float] | None = None


class Answer(NamedTuple):
    """Exactly the candidates that were sent, best first."""

    order: tuple[Candidate, ...]
    refused: frozenset[Candidate]
    is_decided: bool
    why: str


def encode(question: Question) -> bytes:
    """The body of a request. TypeError or ValueError if JSON cannot hold it."""
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
    return json.dumps(
        body, default=_primitive, allow_nan=False, separators=(",", ":")
    ).encode()


def decode(body: bytes, sent: Sequence[Candidate]) -> Answer:
    """The answer in ``body`` about ``sent``; `BadAnswer` if it is not one."""
    document = _document(body)
    entries = _typed(document, "hosts", list)
    order = []
    refused = set()
    for entry in entries:
        candidate, is_refused = _entry(entry)
        order.append(candidate)
        if is_refused:
            refused.add(candidate)
    _check_names(order, sent)
    return Answer(
        tuple(order),
        frozenset(refused),
        _typed(document, "decided", bool),
        _typed(document, "why", str) if "why" in document else "",
    )


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
    known = set(sent)
    if not known.issuperset(order):
        raise BadAnswer("the answer names a host that was not sent")
    if len(order) != len(sent) or len(set(order)) != len(order):
        raise BadAnswer("the answer does not name each host that was sent once")


def _primitive(value: object) -> object:
    """What JSON has no word for, as the services' own serializers write it."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    to_primitive = getattr(value, "obj_to_primitive", None)
    return to_primitive() if callable(to_primitive) else str(value)
