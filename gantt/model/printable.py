"""Text that is safe for a terminal or a log line.

Names are untrusted: a terminal would execute an escape sequence in one, a newline would
start a line that looks like another, and a direction override would hide text. Separate
from both doors because the same rule applies to them.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` on one line, with an escape such as ``\\x1b`` for each character that
    is not printable."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def counted(number: int, noun: str) -> str:
    """``1 host``, ``2,000 hosts``: for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
