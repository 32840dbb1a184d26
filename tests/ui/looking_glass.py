"""Services with fleets to look at, and pages that are opened with parameters."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import gantt
from gantt.model.protocol import GanttProtocol
from tests.live import Live, start
from tests.ui import fleets
from tests.ui.browser import Window


@contextmanager
def serving(
    folder: Path,
    hosts: int,
    *,
    names: Sequence[str] = (),
    zones: Sequence[str] = (),
    furnish: Callable[[str], None] = lambda _: None,
) -> Iterator[Live]:
    """A service with so many hosts; ``furnish`` is called with the URL of the database
    before it starts, the rest is as in ``fleets.write``."""
    file = folder / "gantt.db"
    fleets.write(file, hosts, names=names, zones=zones)
    furnish(f"sqlite:///{file}")
    with served(file) as live:
        yield live


@contextmanager
def served(file: Path) -> Iterator[Live]:
    """A service on books that are there."""
    live = start(f"sqlite:///{file}", file.with_name("serve.log"))
    try:
        yield live
    finally:
        live.kill()


def written_once(place: Path, folder: Path, hosts: int) -> Path:
    """A copy in ``folder`` of books with so many hosts. They are written once to
    ``place``, which the workers of a run share."""
    whole, file = place / f"hosts-{hosts}.db", folder / "gantt.db"
    with (place / f"hosts-{hosts}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            fleets.write(file, hosts)
            shutil.copy(file, whole.with_suffix(".new"))
            whole.with_suffix(".new").rename(whole)
    shutil.copy(whole, file)
    return file


@contextmanager
def admin_of(live: Live) -> Iterator[GanttProtocol]:
    """Its library, as an operator."""
    with closing(gantt.connect(live.url, token="admin")) as found:
        yield found


def opened(window: Window, page: str, **params: str) -> None:
    """Open a page with these parameters in its address."""
    window.open(token=None)
    window.run("sessionStorage.setItem('gantt.token', 'admin')")
    window.run(
        "location.hash = `#/${arguments[0]}?${new URLSearchParams(arguments[1])}`",
        page,
        params,
    )
    window.driver.refresh()
