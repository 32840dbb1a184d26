"""Write the manual pages, from the help that the programs print themselves.

Usage: python -m scripts.manual FOLDER

A page for each program, and for each command of gantt, as gantt-serve(1); a command
that is a program as well has the page of that. Nothing of them is committed: packages
build them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from gantt import __version__
from gantt.cli import agent, launch
from gantt.cli.main import gantt
from gantt.cli.manage import manage
from gantt.cli.status import status

PROGRAMS = {
    "gantt": gantt,
    "gantt-agent": agent.program,
    "gantt-launch": launch.program,
    "gantt-manage": manage,
    "gantt-status": status,
}
# As wide as no help is, so that roff alone breaks lines.
_WIDE = 10_000
_VERBATIM = "\b"


def escaped(text: str) -> str:
    """``text`` so that roff prints it as it is; hyphens stay those of options."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page."""
    for program, command in PROGRAMS.items():
        context = context_of(command, program)
        yield program, page(context)
        if program == "gantt":
            for name, below in commands(context):
                if f"gantt-{name}" in PROGRAMS:
                    continue
                yield f"gantt-{name}", page(context_of(below, name, context))


def page(context: click.Context) -> str:
    """The page of one command, with those below it that have none of their own."""
    command = context.command
    name = context.command_path.replace(" ", "-")
    is_program = context.parent is None
    lines = [
        f'.TH {name.upper()} 1 "" "gantt {__version__}" "Gantt"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(_clause(command))}",
        ".SH SYNOPSIS",
        *_synopsis(context),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        *_options(context, ".SH OPTIONS"),
    ]
    below = commands(context)
    if below:
        lines.append(".SH COMMANDS")
    for word, child in below:
        if is_program and name == "gantt":
            lines += [".TP", f".BR gantt\\-{escaped(word)} (1)"]
            lines += [escaped(child.get_short_help_str(_WIDE))]
        else:
            lines += _command(context_of(child, word, context))
    lines += [*_environment(context), *_ending(name)]
    return "\n".join(lines) + "\n"


def _clause(command: click.Command) -> str:
    """What a command does, in one line for apropos(1)."""
    text = command.get_short_help_str(_WIDE)
    return re.split(r"[;:] |\.$", text)[0]


def examples(command: click.Command) -> list[str]:
    """The lines that its help shows as examples."""
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    shown = [one for one in blocks if re.match(rf"{_VERBATIM}\nExamples?:\n", one)]
    return [line.strip() for one in shown for line in one.splitlines()[2:]]


def every(command: click.Command, name: str) -> list[click.Context]:
    """The command and all below it."""
    found = [context_of(command, name)]
    for context in found:
        for word, below in commands(context):
            found.append(context_of(below, word, context))
    return found


def commands(context: click.Context) -> list[tuple[str, click.Command]]:
    """The commands directly below, with their names."""
    group = context.command
    if not isinstance(group, click.Group):
        return []
    found = [
        (word, group.get_command(context, word)) for word in sorted(group.commands)
    ]
    return [(word, one) for word, one in found if one is not None and not one.hidden]


def context_of(
    command: click.Command, name: str, parent: click.Context | None = None
) -> click.Context:
    """The context in which a command prints its help, in lines of any length."""
    return click.Context(
        command,
        info_name=name,
        parent=parent,
        max_content_width=_WIDE,
        terminal_width=_WIDE,
        resilient_parsing=True,
        help_option_names=["-h", "--help"],
    )


def _synopsis(context: click.Context) -> list[str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return [f".B {escaped(context.command_path)}", escaped(pieces)]


def _paragraphs(text: str) -> list[str]:
    """As click has them: blocks that begin with a backspace keep their lines."""
    lines: list[str] = []
    for number, block in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number:
            lines.append(".PP")
        if block.startswith(_VERBATIM):
            kept = escaped(block.removeprefix(_VERBATIM).strip("\n"))
            lines += [".nf", kept, ".fi"]
        else:
            lines.append(escaped(block))
    return lines


def _options(context: click.Context, heading: str) -> list[str]:
    records = [
        record
        for parameter in context.command.get_params(context)
        if (record := parameter.get_help_record(context)) and record[1]
    ]
    lines = [heading] if records else []
    for words, text in records:
        lines += [".TP", f".B {escaped(words)}", escaped(text)]
    return lines


def _command(context: click.Context) -> list[str]:
    """One that has no page of its own, and those below it."""
    path = context.command_path
    lines = [f'.SS "{escaped(path)}"', *_synopsis(context), ".PP"]
    lines += _paragraphs(context.command.help or "")
    lines += _options(context, ".PP")
    for word, child in commands(context):
        lines += _command(context_of(child, word, context))
    return lines


def _environment(context: click.Context) -> list[str]:
    found = {
        variable: parameter.help or ""
        for below in _all(context)
        for parameter in below.command.params
        if isinstance(parameter, click.Option)
        for variable in _variables(parameter)
    }
    lines = [".SH ENVIRONMENT"] if found else []
    for variable, text in sorted(found.items()):
        lines += [".TP", f".B {escaped(variable)}", escaped(text)]
    return lines


def _all(context: click.Context) -> Iterator[click.Context]:
    """This command, and those below it but the nouns of gantt."""
    yield context
    if context.command is not gantt:
        for word, child in commands(context):
            yield from _all(context_of(child, word, context))


def _variables(option: click.Option) -> list[str]:
    named = option.envvar
    return [named] if isinstance(named, str) else list(named or ())


def _ending(name: str) -> list[str]:
    others = {*PROGRAMS} if name in PROGRAMS else {"gantt"}
    if name == "gantt-serve":
        others.add("gantt-manage")
    seen = [f".BR {escaped(one)} (1)" for one in sorted(others - {name})]
    ending = [".SH EXIT STATUS"]
    if name == "gantt-status":
        ending.append("0 success, 1 warnings, 2 failures, 255 not checked.")
    else:
        ending.append("0 success, 1 refused or failed, 2 wrong usage.")
    return [*ending, ".SH SEE ALSO", ",\n".join(seen)]


def main(folder: Path) -> None:
    """Write all pages into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
