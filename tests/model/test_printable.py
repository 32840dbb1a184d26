"""What reaches a terminal or a log is printable, and told apart by its escapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantt.model.printable import printable


@given(st.text())
def test_output_is_printable(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_printable_text_is_unchanged(text: str) -> None:
    assert printable(text + " ") == text + " "


def test_escapes() -> None:
    assert printable("\x1b[2J\x00\n\r\t\x7f\x9b\u202e\ufeff\ud800") == (
        r"\x1b[2J\x00\n\r\t\x7f\x9b\u202e\ufeff\ud800"
    )
