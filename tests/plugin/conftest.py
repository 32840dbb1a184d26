"""A server that answers as Gantt does, and Nova told to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.settings import Settings
from nova.conf import CONF

from tests import live
from tests.plugin.fake_gantt import FakeGantt
from tests.plugin.service import start


@pytest.fixture
def gantt() -> Iterator[FakeGantt]:
    """Reverses the order of hosts, unless it is told otherwise."""
    fake = FakeGantt()
    yield fake
    fake.close()


@pytest.fixture
def configure(
    gantt: FakeGantt, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Advisor]]:
    """Sets options of `[gantt]` in Nova's configuration; url is the fake's. What Nova
    has loaded begins anew: counters, breaker, connections.
    """
    from gantt_nova_plugin import nova as plugin

    def configured(**options: object) -> Advisor:
        for name, value in {"url": gantt.url, **options}.items():
            CONF.set_override(name, value, group="gantt")
        plugin.ADVISOR._begin()
        return plugin.ADVISOR

    yield configured
    for name in Settings._fields:
        CONF.clear_override(name, group="gantt")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live.Live]:
    """A real one, for tests that leave it as it is."""
    found = start(tmp_path_factory.mktemp("gantt"))
    yield found
    found.kill()
