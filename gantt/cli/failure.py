"""How every program ends when it cannot do what was asked: a sentence and a status.

0   done
1   refused or failed; standard error says what was asked, what is, what to do
2   the command line itself is wrong (click's own status)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from gantt.errors import GanttError


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn a refusal into a message on standard error and exit status 1."""
    try:
        yield
    except GanttError as error:
        raise click.ClickException(error.message) from error
    except UnicodeEncodeError as error:
        # The shell hands over bytes that are no UTF-8 as halves of surrogate pairs.
        text = f"{error.object!r} is no UTF-8 text: write it in UTF-8."
        raise click.ClickException(text) from error
