"""Markdown that MyST reads as it is meant: tables, code, and words of other texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any


def cell(text: str) -> str:
    """``text`` in one line, as a cell of a table."""
    return " ".join(escaped(text).split()).replace("|", "\\|")


def escaped(text: str) -> str:
    """Docstrings mark code by two backticks; outside of code, no character is markup
    or a tag."""
    pieces = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    pieces[::2] = [re.sub(r"([<>*_\[\]{}$\\])", r"\\\1", one) for one in pieces[::2]]
    pieces[1::2] = [f"`{one.strip('`')}`" for one in pieces[1::2]]
    return "".join(pieces)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, followed by an empty one; none without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return []
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines, ""]


def fenced(text: str, language: str) -> list[str]:
    """Lines of a block of code, followed by an empty one."""
    return [f"```{language}", *text.strip("\n").splitlines(), "```", ""]


def as_json(value: Any) -> list[str]:
    """A block of JSON, short things in one line."""
    return fenced(_json(value), "json")


def _json(value: Any, indent: str = "") -> str:
    flat = json.dumps(value)
    if len(flat) + len(indent) <= 76 or not isinstance(value, dict | list) or not value:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}: {_json(v, deeper)}" for k, v in value.items()]
        left, right = "{", "}"
    else:
        parts, (left, right) = [_json(one, deeper) for one in value], "[]"
    inside = ",\n".join(deeper + part for part in parts)
    return f"{left}\n{inside}\n{indent}{right}"
