"""The private broker greets, ends with its folder, and comes back on its port."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.brokers import Rabbitmq, start_rabbitmq
from tests.guarded import Missing


def test_a_missing_program_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rabbitmq, "programs", tmp_path)
    with pytest.raises(Missing, match="install rabbitmq-server"):
        Rabbitmq.find()


@pytest.mark.server("rabbitmq")
def test_it_starts_again_on_its_port_and_leaves_nothing() -> None:
    running = []
    with start_rabbitmq() as broker:
        url = broker.url
        broker.kill()
        running.append(broker.is_running)
        broker.start()
        running.append(broker.is_running)
        assert broker.url == url
    running.append(broker.is_running)
    assert running == [False, True, False]
    assert not broker.folder.exists()
