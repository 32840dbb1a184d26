"""Whether every link inside the built documentation leads somewhere: `make docs`.

Usage: python -m scripts.reference.links FOLDER

Sphinx warns of links between documents that it cannot resolve; this looks at what a
browser gets: files, and the places in them.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Made by the theme for searching, with content of its own.
_OTHERS = frozenset({"genindex.html", "search.html", "py-modindex.html"})


class _Page(HTMLParser):
    """The links of a page, and the places in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        for name in ("id", "name"):
            if value := known.get(name):
                self.places.add(value)
        link = known.get({"a": "href", "img": "src"}.get(tag, ""))
        if link:
            self.links.append(link)


@cache
def _page(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def broken(folder: Path) -> list[str]:
    """Every link that leads nowhere, with the page that has it."""
    return [
        f"{file.relative_to(folder)}: {link}"
        for file in sorted(folder.rglob("*.html"))
        if file.name not in _OTHERS
        for link in dict.fromkeys(_page(file).links)
        if not _leads(file, link)
    ]


def _leads(file: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return False
    place = unquote(parts.fragment)
    if not place or target.suffix != ".html":
        return True
    return place in _page(target).places


def main(folder: Path) -> None:
    """Print broken links, and end with status 1 if there are any."""
    found = broken(folder)
    if found:
        sys.exit("Links that lead nowhere:\n" + "\n".join(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
