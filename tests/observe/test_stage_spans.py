"""The spans within that of a decision: filter, score, pick, and explain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from gantt.engine.options import EngineOptions, RecordOptions
from gantt.errors import ClaimLost
from gantt.model.selection import Decision
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.observe.traced import PARENT, SIZE, UNSAMPLED, Traced, number, parent

HOSTS = 12
LOOK = ScheduleRequest(RequestSpec(Flavor(1, 512, 1)), dry_run=True)


@pytest.fixture(params=["alone", "recorded"])
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Traced]:
    """A fleet so large that the shape of a request is kept when a host changes; its
    decisions are recorded, or not."""
    is_recorded = request.param == "recorded"
    recording = RecordOptions(record=str(tmp_path) if is_recorded else "")
    found = Traced(options=EngineOptions(recording=recording))
    for each in range(2, HOSTS + 1):
        found.add_host(f"h{each}")
    found.clear()
    yield found
    found.books.close()


def asked(
    traced: Traced, *, vcpus: int = 1, headers: dict[str, str] = PARENT
) -> list[str]:
    """The stages within a decision, after a look at their times."""
    traced.clear()
    body = {
        "request_spec": {"flavor": {**SIZE, "vcpus": vcpus}},
        "instance_uuids": [str(uuid4())],
    }
    answer = traced.client("POST", "/gantt/select", body=body, headers=headers)
    assert answer.status == (200 if vcpus < 9 else 409), answer.text
    return stages(traced.ended())


def stages(spans: tuple[ReadableSpan, ...]) -> list[str]:
    decides = [one for one in spans if one.name == "gantt.decide"]
    if not decides:
        return []
    (decide,) = decides
    found = [one for one in spans if parent(one) == number(decide)]
    times = [when(decide)[0], *(at for one in found for at in when(one))]
    times.append(when(decide)[1])
    assert all(before <= after for before, after in pairwise(times))
    return [one.name for one in found]


def when(span: ReadableSpan) -> tuple[int, int]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time, span.end_time


def hits(traced: Traced) -> float:
    return traced.books.counts()["shape_hits"]


def test_a_cold_decision_filters_scores_and_picks(traced: Traced) -> None:
    before = hits(traced)
    assert asked(traced) == ["gantt.filter", "gantt.score", "gantt.pick"]
    assert hits(traced) == before


def test_a_warm_decision_has_the_stages_that_it_needs(traced: Traced) -> None:
    asked(traced)
    before = hits(traced)
    # The claim changed a host, which is judged again.
    assert asked(traced) == ["gantt.filter", "gantt.score", "gantt.pick"]
    traced.books.decide(LOOK)  # has judged the next one that changed
    assert asked(traced) == ["gantt.pick"]
    assert hits(traced) == before + 3


def test_a_refusal_is_explained(traced: Traced) -> None:
    assert asked(traced, vcpus=99) == ["gantt.filter", "gantt.explain"]
    assert asked(traced, vcpus=99) == ["gantt.explain"]


def test_stages_of_a_lost_attempt_are_not_those_of_the_decision(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = traced.books._committer
    real: Any = committer.submit
    lost: list[object] = []

    def loses_once(command: object, *rest: object) -> object:
        if not lost:
            lost.append(command)
            raise ClaimLost("a test took it")
        return real(command, *rest)

    monkeypatch.setattr(committer, "submit", loses_once)
    assert asked(traced) == ["gantt.pick"]
    assert len(lost) == 1


def test_stages_are_timed_only_for_what_is_exported(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def decided(decision: Decision, stages: tuple[object, ...]) -> None:
        told.append(len(stages))

    monkeypatch.setattr(traced.traces, "decided", decided)
    asked(traced, headers=UNSAMPLED)
    asked(traced, headers=PARENT)
    assert told == [0, 3]
