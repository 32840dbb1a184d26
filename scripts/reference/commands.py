"""The commands of all programs, from the help that they print themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from scripts import manual
from scripts.reference.markdown import cell, escaped, fenced, table


def page() -> str:
    """A section for each program, with one for each of its commands."""
    lines: list[str] = []
    for name, command in manual.PROGRAMS.items():
        context = manual.context_of(command, name)
        lines += [f"## {name}", "", *_described(context)]
        for below in _below(context):
            depth = "###" if below.parent is context else "####"
            lines += [f"{depth} {below.command_path}", ""]
            lines += _described(below)
    return "\n".join(lines) + "\n"


def overview() -> list[str]:
    """Lines of a table with a row for each command of each program."""
    rows = []
    for name, command in manual.PROGRAMS.items():
        for word, one in manual.commands(manual.context_of(command, name)):
            below = manual.commands(manual.context_of(one, word))
            words = ", ".join(f"`{below_word}`" for below_word, _ in below)
            rows.append((f"`{name} {word}`", words, _short(one)))
    return table(("command", "below it", "what it does"), rows)


def _anchor(context: click.Context) -> str:
    """What readers of Markdown make of its heading."""
    return context.command_path.replace(" ", "-")


def _below(context: click.Context) -> Iterator[click.Context]:
    """All commands below, each before its own."""
    for word, command in manual.commands(context):
        child = manual.context_of(command, word, context)
        yield child
        yield from _below(child)


def _described(context: click.Context) -> list[str]:
    command = context.command
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    lines = [*fenced(usage, "text"), *_paragraphs(command.help or "")]
    below = manual.commands(context)
    rows = [
        (f"[{word}](#{_anchor(manual.context_of(one, word, context))})", _short(one))
        for word, one in below
    ]
    lines += table(("command", ""), rows)
    records = [
        ("`{}`".format(record[0].replace("|", "\\|")), cell(record[1]))
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) and record[1]
    ]
    return lines + table(("option", ""), records)


def _short(command: click.Command) -> str:
    return cell(command.get_short_help_str(10_000))


def _paragraphs(text: str) -> list[str]:
    """As click has them: blocks that begin with a backspace keep their lines."""
    lines: list[str] = []
    for block in inspect.cleandoc(text).split("\n\n"):
        if block.startswith("\b"):
            lines += _kept(block.removeprefix("\b").strip("\n"))
        elif block.strip():
            lines += [escaped(" ".join(block.split())), ""]
    return lines


def _kept(text: str) -> list[str]:
    """Lines as they are; examples as a block of commands below their word."""
    word, _, rest = text.partition("\n")
    if not word.startswith("Example"):
        return fenced(text, "text")
    return [word, "", *fenced(inspect.cleandoc(rest), "sh")]
