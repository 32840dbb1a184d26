"""Text as it may reach a terminal or a line of a log.

Names come from anywhere: an escape sequence in one would be obeyed, a newline would
begin a line that looks like another, and an override of direction would hide what is
there. Apart from both doors because one rule holds for them.
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
