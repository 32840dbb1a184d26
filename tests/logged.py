"""What programs have logged of their start and end, as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

from tests.tidy.source import ROOT

DOCUMENT = ROOT / "docs" / "reference" / "logging.md"
USUAL = frozenset({"time", "pid", "level", "logger", "message"})


def milestones(text: str) -> list[dict[str, Any]]:
    """Their lines; each has a field beside the usual ones, and all are documented."""
    lines = [json.loads(one) for one in text.splitlines() if one.startswith("{")]
    found = [one for one in lines if one["logger"] == "gantt.observe.milestones"]
    page = DOCUMENT.read_text(encoding="utf-8")
    for line in found:
        assert line["level"] == "INFO"
        own = line.keys() - USUAL
        assert own
        assert [name for name in own if f"\n| `{name}` |" not in page] == []
    return found
