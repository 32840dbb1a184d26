"""Options of commands, of the kinds that most of them are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def switch(names: str, text: str) -> Callable[[F], F]:
    """An option without a value. ``names``: of the option and, where it has another, of
    the argument that it becomes; ``text``: its help."""
    return click.option(*names.split(), is_flag=True, help=text)


def preset(
    names: str, kind: click.ParamType[Any], value: Any, text: str
) -> Callable[[F], F]:
    """An option with a default, which its help shows."""
    return click.option(
        *names.split(), type=kind, default=value, show_default=True, help=text
    )


def repeated(names: str, metavar: str, text: str) -> Callable[[F], F]:
    """An option that may be given several times."""
    return click.option(*names.split(), multiple=True, metavar=metavar, help=text)
