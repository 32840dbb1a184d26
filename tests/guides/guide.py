"""The guides of docs/how-to, as texts to follow."""

from __future__ import annotations

from tests.shown import document


def guide(name: str) -> str:
    """The text of one."""
    return document(f"docs/how-to/{name}.md")
