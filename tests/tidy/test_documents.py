"""What code and documents cite is there: files, their headings, and make's targets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.tidy.source import ROOT
from tests.tidy.test_words import texts

# Written by hand or by sphinx; release notes tell of the past.
SEEN = re.compile(r"\.(py|md|toml|cfg|yaml|txt|service)$|^(scripts|\.ci)/|Makefile$")
PAST = "releasenotes/"
# The four kinds of documents.
PARTS = ("tutorial", "how-to", "reference", "explanation")
DOCUMENT = re.compile(r"(?<![\w/.:-])((?:[\w.-]+/)*[\w-]+\.(?:md|rst))\b")
# A path from the root of the repository, as prose and commands name it.
PATH = re.compile(
    r"(?<![\w/.*-])((?:gantt|tests|docs|bench|scripts|deploy|\.ci)/[\w./-]*\w)(/?)"
)
DOCS = ("docs", *(f"docs/{part}" for part in PARTS))
HEADING = re.compile(r'([\w/-]+\.md), "([^"]+)"')
ELSEWHERE = re.compile(r"§ ?\d|\b(DESIGN|ECOSYSTEM|STYLE)\b|\bfacts/")
# Made when they are needed, so not in the repository.
MADE = re.compile(r"docs/_build|gantt/gantt\.db|.*\.db$")


def _lines() -> Iterator[tuple[str, str, str]]:
    """Where it stands, the folder of its file, and each line of what is looked at."""
    for name, text in texts():
        if SEEN.search(name) and not name.startswith(PAST) and name != _OWN:
            for number, line in enumerate(text.splitlines(), 1):
                yield f"{name}:{number}", name.rpartition("/")[0], line


_OWN = "tests/tidy/test_documents.py"


def test_every_document_that_is_cited_exists() -> None:
    missing = [
        f"{at}: {cited}"
        for at, folder, line in _lines()
        for cited in DOCUMENT.findall(line)
        if not any((ROOT / base / cited).exists() for base in ("", folder, *DOCS))
    ]
    assert missing == []


def test_every_heading_that_is_cited_exists() -> None:
    found = [
        (at, document, heading)
        for at, _, line in _lines()
        for document, heading in HEADING.findall(line)
    ]
    assert found, "engine/writer.py cites one"
    missing = [
        one for one in found if f"# {one[2]}\n" not in (ROOT / one[1]).read_text()
    ]
    assert missing == []


def test_no_document_outside_the_repository_is_cited() -> None:
    assert [at for at, _, line in _lines() if ELSEWHERE.search(line)] == []


def test_every_path_in_the_documents_exists() -> None:
    missing = [
        f"{at}: {path}"
        for at, _, line in _lines()
        if re.match(r"[^:]*\.md:", at)
        for path, _ in PATH.findall(line)
        if not (ROOT / path).exists() and not MADE.match(path)
    ]
    assert missing == []


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for at, _, line in _lines()
        if re.match(r"[^:]*\.md:", at)
        for target in re.findall(r"(?:^|[`(])make ([a-z]+)\b", line)
    }
    assert named
    assert named <= targets


def test_every_link_between_documents_leads_to_a_file() -> None:
    """From where the document is, as GitHub and the built documentation follow it."""
    links = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)")
    followed = [
        (at, folder, link)
        for at, folder, line in _lines()
        if re.match(r"[^:]*\.md:", at)
        for link in links.findall(line)
    ]
    assert followed
    broken = [
        f"{at}: {link}"
        for at, folder, link in followed
        if not (ROOT / folder / link).exists()
    ]
    assert broken == []
