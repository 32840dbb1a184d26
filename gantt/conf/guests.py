"""The options of other packages: libraries, and filters written for Nova.

oslo.config has one ConfigOpts for a whole process, in which these register theirs and
read them. Gantt reads none of it. What its files say goes there, unless the application
that Gantt runs in has read files of its own into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from oslo_config import cfg

from gantt.conf.references import add_references
from gantt.errors import Refused

_PROGRAM: Final = "gantt"


def lend(files: Sequence[str], directories: Sequence[str]) -> None:
    """Have others read these files. Raises Refused."""
    conf = cfg.CONF
    given = list(files), list(directories)
    # What is set by the first call; no method tells.
    known = vars(conf)
    program = known.get("prog")
    if program not in (None, _PROGRAM) or (program is None and not any(given)):
        return
    if (known.get("default_config_files"), known.get("default_config_dirs")) == given:
        # Read anew and then exchanged: a filter may be reading.
        if not conf.reload_config_files():
            raise Refused(
                "The configuration cannot be read again for libraries and filters of "
                "other packages; the log says why."
            )
        return
    try:
        conf(
            args=[],
            project="nova",
            prog=_PROGRAM,
            default_config_files=given[0],
            default_config_dirs=given[1],
        )
    except (cfg.Error, OSError, ValueError) as error:
        raise Refused(
            "The configuration cannot be used by libraries and filters of other "
            f"packages: {error}"
        ) from error


def check() -> None:
    """Whether each value can be read that they have registered so far; plug-ins do so
    when they are loaded. Raises Refused."""
    for place, read in _values():
        value_of(place, read)


def value_of(place: str, read: Callable[[], Any]) -> Any:
    """What ``read`` finds at ``place``, also where that refers to an option of Nova's
    which no plug-in brought along. Raises Refused."""
    try:
        try:
            return read()
        except cfg.NoSuchOptError:
            add_references(cfg.CONF)
            return read()
    except (cfg.Error, ValueError) as error:
        raise Refused(
            f"{place}, an option of another package, cannot be read: {error}"
        ) from error


def _values() -> Iterator[tuple[str, Any]]:
    conf = cfg.CONF
    for name in conf:
        group = None
        try:
            group = conf[name]
        except (cfg.Error, ValueError):
            yield f"[DEFAULT] {name}", lambda name=name: conf[name]
        if isinstance(group, cfg.ConfigOpts.GroupAttr):
            for option in group:
                yield f"[{name}] {option}", lambda g=group, o=option: g[o]
