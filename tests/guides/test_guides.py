"""How-to guides, followed command by command in an empty folder.

Those that need a server of databases, root or a cloud are followed by the tests of that
part.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guides.guide import guide
from tests.shown import Terminal


@pytest.mark.parametrize(
    "name",
    [
        "batch",
        "locality",
        "no-valid-host",
        "own-database",
        "plain-machines",
        "reserve-before-you-create",
        "write-a-filter",
    ],
)
def test_it_is_followed(name: str, tmp_path: Path) -> None:
    with Terminal(folder=tmp_path) as terminal:
        assert terminal.follow(guide(name)) >= 4
