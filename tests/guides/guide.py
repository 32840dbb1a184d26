"""The guides of docs/how-to, as texts to follow, and their blocks."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.shown import document
from tests.tidy.source import ROOT

# A block between fences, also one below an item of a list, or indented lines.
_BLOCK = re.compile(
    r"^( *)```(?P<language>[\w{}]*)\n(?P<fenced>.*?)^\1```$"
    r"|(?<=\n\n)(?P<indented>(?: {4}\S[^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
_EXCERPT = re.compile(r"<!-- Not run by the tests: (.+?)\. -->\s*\Z", re.DOTALL)


class Shown(NamedTuple):
    """``excerpt``: why no test runs it, or ""."""

    language: str
    text: str
    excerpt: str = ""

    @property
    def name(self) -> str:
        """Its first line."""
        return self.text.splitlines()[0].strip()

    @property
    def commands(self) -> list[str]:
        """What is typed, without what is printed; lines that go on are one command."""
        text = self.text.replace("\\\n", "")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if self.language == "console":
            return [line[2:] for line in lines if line.startswith("$ ")]
        return lines


def values(command: str, option: str) -> list[str]:
    """What ``option`` is given, each time."""
    return re.findall(rf"--{option} (\S+)", command)


def guide(name: str) -> str:
    """The text of one."""
    return document(f"docs/how-to/{name}.md")


def names() -> list[str]:
    """Of all guides but their index."""
    found = {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")}
    return sorted(found - {"index"})


def shown(name: str) -> list[Shown]:
    """All blocks of a guide but what is printed by the one directly above; indented
    ones have the language ``indented``."""
    text = guide(name)
    found: list[Shown] = []
    end = 0
    for hit in _BLOCK.finditer(text):
        between, end = text[end : hit.start()], hit.end()
        language = hit["language"] if hit["indented"] is None else "indented"
        if language == "text" and found and not between.strip():
            continue
        reason = _EXCERPT.search(between)
        inside = hit["indented"] or hit["fenced"]
        found.append(Shown(language, inside, reason[1] if reason else ""))
    return found
