"""The settings in force: those that were last found good, whatever files say by now.

Apart from the server because a worker that replaces another must be told the same as
those that live on, also while somebody is in the middle of editing a file.
"""

from __future__ import annotations

from typing import Any

from gantt.conf import Settings, Source
from gantt.engine.opening import check_options


class Configured:
    """Read once at start, and again whenever ``reread`` finds nothing wrong.

    A worker that is forked has what its parent had; one that is spawned reads anew.
    """

    def __init__(self, source: Source) -> None:
        """Raises Refused."""
        self._source = source
        self.settings = self._read()

    def reread(self) -> Settings:
        """What is configured now. Raises Refused, and then all stays as it was."""
        self.settings = self._read()
        return self.settings

    def __reduce__(self) -> tuple[Any, ...]:
        return (Configured, (self._source,))

    def _read(self) -> Settings:
        settings = self._source.load()
        check_options(settings.engine)
        return settings
