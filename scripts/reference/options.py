"""All options of the configuration, from the table that reads it."""

from __future__ import annotations

from typing import Any

from gantt.conf import list_opts
from scripts.reference.markdown import cell, table

_WORDS = {
    "String": "text",
    "Boolean": "true or false",
    "Integer": "integer",
    "_Finite": "float",
}


def page() -> str:
    """A section for each group, with a row for each option."""
    lines: list[str] = []
    for group, opts in list_opts():
        lines += [f"## \\[{group}]", ""]
        rows = [
            (f"`{one.dest}`", kind(one), default(one), _help(one))
            for one in sorted(opts, key=lambda one: str(one.dest))
        ]
        lines += table(("option", "value", "default", ""), rows)
    return "\n".join(lines) + "\n"


def kind(option: Any) -> str:
    """What values the option takes, with their bounds."""
    told = option.type
    choices = getattr(told, "choices", None)
    if choices:
        return ", ".join(f"`{one}`" for one in choices)
    name = type(told).__name__
    found = _WORDS.get(name, name.lower())
    least, most = getattr(told, "min", None), getattr(told, "max", None)
    if least is not None or most is not None:
        found += f", {'' if least is None else least} … {'' if most is None else most}"
    return found


def default(option: Any) -> str:
    """The default, as it stands in a file."""
    value = option.sample_default or option.default
    if value is None or value == "" or value == []:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list | tuple):
        return f"`{', '.join(map(str, value))}`"
    return f"`{value}`"


def _help(option: Any) -> str:
    return cell(option.help or "")
