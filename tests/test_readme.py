"""The README is short, what it shows runs, and it says what ``make run`` does."""

from __future__ import annotations

import json
from pathlib import Path

from gantt.agent.machine import machine_name
from tests import live
from tests.shown import Block, Terminal, blocks, document, said_as_shown
from tests.test_tutorial import SERVED

README = document("README.md")
LONGEST = 120


def test_it_is_short_and_has_one_picture() -> None:
    assert len(README.splitlines()) <= LONGEST
    assert README.count("![") == 1


def test_its_commands_are_the_two_a_place_and_a_refusal(tmp_path: Path) -> None:
    """What a newcomer types, from nothing to a refusal that says why."""
    typed = [one for one in blocks(README) if one.language == "sh"]
    assert [one.text.strip() for one in typed[:2]] == ["make run", "make test"]
    (asked,) = typed[2:]
    placed, refused = asked.text.replace(".venv/bin/", "").splitlines()
    (told,) = [one for one in blocks(README) if one.language == "text"]
    service = live.start(
        f"sqlite:///{tmp_path}/gantt.db", tmp_path / "log", options=SERVED
    )
    try:
        terminal = Terminal(service.url)
        (chosen,) = json.loads(terminal.type(f"{placed} -o json"))["placements"]
        assert chosen["host"] == machine_name()
        said_as_shown(Block("sh", refused, printed=told.text), terminal.type(refused))
        ended = terminal.type(f"gantt placement release {chosen['name']}")
        assert ended == ""
    finally:
        service.kill()
