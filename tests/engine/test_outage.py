"""An outage is told when it begins, once a minute while it lasts, and at its end."""

from __future__ import annotations

import pytest

from gantt.engine.outage import REMIND_S, Outage
from gantt.engine.threads import SystemThreads
from gantt.errors import StoreFailed

AWAY = StoreFailed("canary is away")


class Stopped:
    """A clock that a test turns."""

    at_s = 0.0

    def now(self) -> int:
        return int(self.at_s * 1_000_000)

    def monotonic(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


@pytest.fixture
def clock() -> Stopped:
    return Stopped()


@pytest.fixture
def outage(clock: Stopped) -> Outage:
    return Outage("the database", clock, SystemThreads())


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one for one in caplog.records if one.name == "gantt.engine.outage"]
    assert all(one.exc_info is None for one in found)
    caplog.clear()
    return [one.message for one in found]


def test_a_thousand_refusals_are_one_line_a_minute(
    outage: Outage, clock: Stopped, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        outage.failed("read", AWAY)
        assert outage.refuses(AWAY)
        clock.sleep(0.01)
    assert len(told(caplog)) == 1
    clock.sleep(REMIND_S)
    outage.failed("read", AWAY)
    assert outage.refuses(AWAY)
    (again,) = told(caplog)
    assert "70 s; 1000 requests" in again
    outage.succeeded("read")
    outage.succeeded("read")
    (end,) = told(caplog)
    assert end == (
        "the database is back after 70.0 s; 1001 requests were refused meanwhile"
    )


def test_without_an_outage_nothing_counts(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    assert not outage.refuses(AWAY)
    outage.succeeded("write")
    assert told(caplog) == []


@pytest.mark.parametrize(
    ("met", "does_end"),
    [
        (("write",), {"read": False, "write": True}),
        (("read",), {"read": True, "write": True}),
        (("write", "read"), {"read": True, "write": True}),
    ],
)
def test_writes_alone_may_fail(
    met: tuple[str, ...], does_end: dict[str, bool], clock: Stopped
) -> None:
    for kind, ends in does_end.items():
        outage = Outage("the database", clock, SystemThreads())
        for one in met:
            outage.failed(one, AWAY)  # type: ignore[arg-type]
        outage.succeeded(kind)  # type: ignore[arg-type]
        assert outage.is_on is not ends
