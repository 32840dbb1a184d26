"""What the guides of plug-ins show is right: it is typed, and passes the kit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mypy import api

from gantt.testing import check_filter
from tests.shown import blocks, document, programs
from tests.tidy.source import ROOT

GUIDES = ("filter", "weigher", "driver")


def test_what_is_kept_passes_the_kit() -> None:
    names: dict[str, Any] = {"__name__": "shown"}
    for block in programs(document("docs/how-to/plugins.md")):
        exec(block.text, names)
    assert check_filter(names["RamFilter"], seeds=range(8), limit_s=30.0).refused


def test_what_is_shown_is_typed(tmp_path: Path) -> None:
    shown = [
        block
        for guide in GUIDES
        for block in blocks(document(f"docs/how-to/write-a-{guide}.md"))
        if block.file.endswith(".py")
    ]
    assert len(shown) == 2 * len(GUIDES)
    shown += programs(document("docs/how-to/plugins.md"))
    for number, block in enumerate(shown):
        package = block.file.replace(
            "gantt-packing/gantt_packing/__init__", "gantt_packing"
        )
        name = Path(package or f"shown_{number}.py").name
        (tmp_path / name).write_text(block.text, encoding="utf-8")
    cache = str(ROOT / ".mypy_cache")
    said, _, status = api.run(["--strict", "--cache-dir", cache, str(tmp_path)])
    assert status == 0, said
