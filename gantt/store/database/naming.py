"""What to type: commands of ``gantt-manage`` on this very database.

Apart from the messages that bear them, because how a database was named decides how it
is named again: by an option, by a file, or by the file that is found without a word.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from gantt.store.database.url import shown

if TYPE_CHECKING:
    from gantt.store.database.dialect import Database


def command(database: Database, words: str) -> str:
    """``gantt-manage`` and ``words``, ready to paste but for a password."""
    named = database.options.named
    if named is None:
        named = shlex.join(("--database", _with_driver(database)))
    return f"`gantt-manage {named} {words}`" if named else f"`gantt-manage {words}`"


def _with_driver(database: Database) -> str:
    """The URL with its driver, its secrets hidden."""
    url = database.engine.url
    if url.get_backend_name() == "sqlite":
        return database.url  # its engine opens files by itself
    return shown(url)
