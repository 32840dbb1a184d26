"""The README is short, what it shows runs, and it says what ``make run`` does."""

from __future__ import annotations

import re
from pathlib import Path

from tests import live
from tests.shown import Terminal, blocks, document
from tests.test_tutorial import SERVED

README = document("README.md")
LONGEST = 120


def test_it_is_short_and_has_one_picture() -> None:
    assert len(README.splitlines()) <= LONGEST
    assert README.count("![") == 1


def test_its_commands_are_the_two_and_a_refusal(tmp_path: Path) -> None:
    typed = [one.text.strip() for one in blocks(README) if one.language == "sh"]
    assert typed[:2] == ["make run", "make test"]
    (refused,) = typed[2:]
    service = live.start(
        f"sqlite:///{tmp_path}/gantt.db", tmp_path / "log", options=SERVED
    )
    try:
        said = Terminal(service.url).type(refused.replace(".venv/bin/", ""))
    finally:
        service.kill()
    assert said.startswith("Error: No valid host was found."), said
    assert re.search(
        "^This would help: ask for [0-9]+( [GM]iB)? instead of", said, re.M
    )
