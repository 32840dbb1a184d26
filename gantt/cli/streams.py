"""Standard output and error as a program finds them: closed, or not in UTF-8.

Separate from the output itself, because click prints help before any command runs.
"""

from __future__ import annotations

import codecs
import errno
import io
from typing import Final, NoReturn, TextIO, cast

_HANDLER: Final = "gantt.plain"
# What help and messages have beyond Latin-1.
_PLAIN: Final = str.maketrans({"\u2026": "...", "\u2013": "-", "\u2192": "->"})


class _Closed(io.TextIOBase):
    """Fails where something is written: a program that prints nothing needs none."""

    def write(self, _text: str) -> NoReturn:
        raise OSError(errno.EBADF, "standard output is closed")


def prepared(output: TextIO | None, errors: TextIO | None) -> TextIO:
    """The output, where what cannot be encoded is printed plainly, or escaped, as among
    errors; a closed one fails where it is used."""
    codecs.register_error(_HANDLER, _plainly)
    for stream in (output, errors):
        if isinstance(stream, io.TextIOWrapper) and not _is_utf_8(stream):
            stream.reconfigure(errors=_HANDLER)
    return cast(TextIO, _Closed()) if output is None else output


def _is_utf_8(stream: io.TextIOWrapper) -> bool:
    try:
        return codecs.lookup(stream.encoding).name == "utf-8"
    except LookupError:
        return False


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end
