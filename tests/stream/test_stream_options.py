"""Options of streams that would undo one another are refused at start."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.errors import Refused
from gantt.stream.options import StreamOptions
from tests.configured import settings_of


def options(folder: Path, text: str) -> StreamOptions:
    return settings_of(folder, f"[stream]\n{text}").stream


@pytest.mark.parametrize(
    "text",
    [
        "dead_letters_topic = gantt-reports",
        "changes_topic = gantt-reports",
        "changes_topic = letters\ndead_letters_topic = letters",
        "topic_per_host = true\ndead_letters_topic = gantt-reports.dead",
        "topic_per_host = true\nchanges_topic = gantt-reports.changes",
    ],
)
def test_each_topic_has_a_name_of_its_own(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match=r"_topic .*of \[stream\]"):
        options(tmp_path, text)


def test_names_that_differ_are_taken(tmp_path: Path) -> None:
    found = options(tmp_path, "dead_letters_topic = gantt-reports.dead")
    assert found.dead_letters_topic == "gantt-reports.dead"
    found = options(tmp_path, "changes_topic =\ntopic_per_host = true")
    assert found.changes_topic == ""
