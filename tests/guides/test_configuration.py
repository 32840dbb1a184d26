"""Configuration that guides show is read as Gantt reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.conf import load
from tests.guides.guide import names, shown
from tests.guides.table import OTHERS

SHOWN = [
    pytest.param(block.text, id=f"{name}-{number}")
    for name in names()
    for number, block in enumerate(shown(name))
    if block.language == "ini" and not block.excerpt
    if block.name not in OTHERS.get(name, {})
]


@pytest.mark.parametrize("text", SHOWN)
def test_every_option_is_known_and_its_value_taken(text: str, tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(text, encoding="utf-8")
    assert load([str(file)], environ={}).unknown == ()
