"""ARCHITECTURE.md tells the truth: its rooms, its tour, its words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gantt.api.routes import ROUTES
from tests.tidy.source import ROOT, sources
from tests.tidy.test_words import texts

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
LONGEST_GLOSSARY = 50
WAYS = (
    "How a write works",
    "How a read works",
    "How a decision works",
    "How a report works",
)
# Words that the project once used for what has a name in the field.
RETIRED = frozenset(
    "gate gates ticket tickets hearing hearings patience premise premises follower "
    "followers chore chores weather".split()
)
RETIRED_CLASSES = frozenset({"Field", "Round", "Places", "Kept"})
# Release notes tell of the past; a migration is never edited.
PAST = ("releasenotes/", "gantt/store/migrations/versions/")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
MIGRATION = re.compile(r"\b\d{4}_\w+")


def section(heading: str) -> str:
    """The text below ``heading``, up to the next one of its level."""
    _, _, rest = ARCHITECTURE.partition(f"\n## {heading}\n")
    assert rest, f"ARCHITECTURE.md has no heading {heading!r}"
    return rest.partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def rooms() -> set[str]:
    """Every folder of the package that holds code."""
    folders = {source.path.parent for source in sources()}
    package = ROOT / "gantt"
    return {str(one.relative_to(package)) for one in folders if one != package}


def test_every_room_is_in_the_table_and_nothing_else() -> None:
    named = [room.strip("`") for room, _ in rows(section("Rooms"))]
    assert len(named) == len(set(named))
    assert set(named) == rooms()


def test_every_room_says_what_it_holds() -> None:
    assert [room for room, holds in rows(section("Rooms")) if not holds] == []


@pytest.mark.parametrize("heading", WAYS)
def test_every_way_is_drawn_within_88_columns(heading: str) -> None:
    drawing = section(heading).split("```")[1]
    assert ">|" in drawing
    assert drawing.isascii()
    assert max(map(len, drawing.splitlines())) <= 88


def test_the_ways_that_are_drawn_are_routes() -> None:
    """With the methods that the table of routes has for them."""
    known = {
        f"{method} {path}" for path, methods in ROUTES.items() for method in methods
    }
    drawn = {
        found
        for heading in WAYS
        for found in re.findall(r"^`([A-Z]+ /\S+)`", section(heading), re.MULTILINE)
    }
    assert len(drawn) == len(WAYS)
    assert {_unnamed(one) for one in drawn} <= {_unnamed(one) for one in known}


def _unnamed(route: str) -> str:
    return re.sub(r"\{\w+(:\w+)?\}", "{}", route)


def test_the_tour_is_short() -> None:
    tour = section("A tour of ten files")
    (most,) = re.findall(r"[Ff]ewer than ([\d,]+) lines", tour)
    files = re.findall(r"`(gantt/[\w/]+\.py)`", tour)
    assert len(files) == len(re.findall(r"^\d+\. ", tour, re.MULTILINE)) == 10
    assert "gantt/scheduler/cycle.py" in files
    lines = sum(len((ROOT / one).read_text().splitlines()) for one in files)
    assert lines < int(most.replace(",", ""))


def test_every_module_that_is_named_exists() -> None:
    """A path without ``gantt/`` is one below it."""
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", ARCHITECTURE))
    assert named
    missing = {
        one
        for one in named
        if not any((base / one).exists() for base in (ROOT, ROOT / "gantt"))
    }
    assert missing == set()


def test_the_glossary_is_short_and_sorted() -> None:
    lines = [line for line in section("Glossary").splitlines() if line]
    assert len(lines) <= LONGEST_GLOSSARY
    words = [word for word, _ in rows(section("Glossary"))]
    assert len(words) == len(lines) - 2
    assert words == sorted(set(words), key=str.casefold)


def test_every_word_of_the_glossary_is_used() -> None:
    """In code (as a name, too) or in another document."""
    text = " ".join(
        " ".join(_words(content))
        for name, content in texts()
        if name.startswith(("gantt/", "docs/")) or name == "README.md"
    )
    words = [word.lower() for word, _ in rows(section("Glossary"))]
    assert [word for word in words if f" {word}" not in text] == []


def _words(text: str) -> Iterator[str]:
    """The words of names and prose: ``CandidateSource`` is two."""
    return (word.lower() for word in WORD.findall(text))


def _seen() -> Iterator[tuple[str, int, str]]:
    """Every line of the package and the documents."""
    for name, text in texts():
        is_seen = name.startswith("gantt/") or name.endswith(".md")
        if is_seen and not name.startswith(PAST):
            for number, line in enumerate(text.splitlines(), 1):
                yield name, number, line


def test_no_retired_word_is_used() -> None:
    used = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, number, line in _seen()
        if not RETIRED.isdisjoint(_words(MIGRATION.sub("", line)))
    ]
    assert used == []


def test_no_class_has_a_retired_name() -> None:
    pattern = re.compile(r"^\s*class _?(\w+)\b")
    used = [
        f"{name}:{number}: {line}"
        for name, number, line in _seen()
        if (found := pattern.match(line)) and found.group(1) in RETIRED_CLASSES
    ]
    assert used == []
