"""Launchers by name: ours, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final, cast

from gantt.errors import Invalid, Refused
from gantt.launch.contract import Launcher
from gantt.launch.process import ProcessLauncher
from gantt.launch.simulated import SimulatedLauncher

PLUGINS: Final = "gantt.launchers"
OURS: Final[dict[str, Callable[[], Launcher]]] = {
    "process": ProcessLauncher,
    "simulated": SimulatedLauncher,
}


def launcher(name: str) -> Launcher:
    """The launcher ``name``: "process", "simulated", or an entry point of
    ``gantt.launchers``. Raises Invalid (there is none), Refused (it cannot be used)."""
    if name in OURS:
        return OURS[name]()
    found = {entry.name: entry for entry in entry_points(group=PLUGINS)}
    if name not in found:
        raise Invalid(
            f"There is no launcher {name!r}: there are "
            f"{', '.join(sorted({*OURS, *found}))}. Install the package whose entry "
            f"point of {PLUGINS} has this name."
        )
    try:
        one: Any = found[name].load()()
        if not callable(one.launch):
            raise TypeError("launch is not a method")
    except Exception as error:
        raise Refused(
            f"The entry point {name!r} of {PLUGINS} ({found[name].value}) cannot be "
            f"used: {type(error).__name__}: {error}. Repair or remove the package "
            "that installed it."
        ) from error
    return cast(Launcher, one)
