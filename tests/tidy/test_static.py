"""The dashboard's files: small, of this repository alone, and data never as markup."""

from __future__ import annotations

import re

from gantt.api.ui.dashboard import STATIC

MOST_BYTES = 170_000
MOST_LINES = 600
# What makes markup or code of text, and what a strict policy refuses.
UNSAFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    r"|setHTMLUnsafe|parseFromString|createContextualFragment|srcdoc|javascript:"
    r"|\bset(?:Timeout|Interval)\(\s*[\"'`]"
)
HANDLER = re.compile(r"<[^>]*\s(on\w+|style)\s*=|<style|<script(?![^>]*\ssrc=)")
# A name space is an address that is never asked for.
ELSEWHERE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)\w[\w-]*\.\w")
IMPORT = re.compile(r"""(?:import|from)\s*\(?\s*["']([^"']+)["']""")
COOKIE = re.compile(r"document\.cookie|credentials: \"(?!omit)")


def _texts() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(STATIC.iterdir())}


def test_all_of_it_is_small() -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) <= MOST_BYTES
    long = {n for n, text in _texts().items() if len(text.splitlines()) > MOST_LINES}
    assert long == set()


def test_data_never_becomes_markup_or_code() -> None:
    texts = _texts()
    assert [n for n, text in texts.items() if UNSAFE.search(text)] == []
    assert [n for n, text in texts.items() if COOKIE.search(text)] == []
    assert HANDLER.findall(texts["index.html"]) == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    texts = _texts()
    found = {n: ELSEWHERE.findall(text) for n, text in texts.items()}
    assert {n: some for n, some in found.items() if some} == {}
    for name, text in texts.items():
        for target in IMPORT.findall(text) if name.endswith(".js") else ():
            assert target.removeprefix("./") in texts, (name, target)
