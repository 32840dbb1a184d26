"""How boots spread that come every second: faster than Nova's databases are read.

``scripts/cloud --every-second [--out FILE]``. On equal hosts, so that no scheduler has
a reason to use one of them twice in a row.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.report import Row, say, tell
from gantt.bench.figures import duration
from tests.cloud.cloud import SIZES, Cloud
from tests.cloud.schedulers import (
    Advised,
    Notified,
    Observed,
    Ordered,
    Replaced,
    Setup,
    Upstream,
)
from tests.cloud.settings import Size
from tests.cloud.tenant import SMALL, Tenant
from tests.cloud.test_shadow import Shadow

EQUAL = dict.fromkeys(SIZES, Size(16, 32_768, 400))
BOOTS = 24
APART_S = 1.0
SHADOWS: dict[type[Setup], str] = {Notified: "notifications", Observed: "the plug-in"}
SETUPS: tuple[type[Setup], ...] = (Upstream, *SHADOWS, Ordered, Replaced)


class Spread:
    """Where the servers of a set-up went, in the order in which they were asked for,
    and what a shadow reports of them."""

    def __init__(self, hosts: Sequence[str], report: Any) -> None:
        self.in_a_row = max(len([*group]) for _, group in groupby(hosts))
        self.on_one_host = max(Counter(hosts).values())
        self.report = report


def main() -> None:
    """As the module's documentation says."""
    parser = argparse.ArgumentParser(
        prog="scripts/cloud --every-second", description=__doc__
    )
    parser.add_argument("--out", type=Path, help="keep the results in this file")
    options = parser.parse_args()
    tell(parser.prog, measured, options.out)


def measured() -> list[Row]:
    """On a new cloud. Logs of a run that fails are kept."""
    folder = Path(tempfile.mkdtemp(prefix="gantt-cloud-"))
    say(f"Logs are in {folder}")
    cloud = Cloud(folder, sizes=EQUAL)
    try:
        tenant = Tenant(cloud.connection)
        found = {one.name: spread(one(cloud), tenant) for one in SETUPS}
    finally:
        cloud.close()
    shutil.rmtree(folder)
    return [*rows_of(found)]


def spread(setup: Setup, tenant: Tenant) -> Spread:
    """Of servers asked for in turn, on empty hosts."""
    say(setup.name)
    setup.start()
    tenant.boot()
    tenant.clear()
    if isinstance(setup, Advised):
        setup.wait_for_empty_hosts()
        shadow = Shadow(setup.url)
    began = time.monotonic()
    servers = []
    for number in range(BOOTS):
        time.sleep(max(0.0, began + number * APART_S - time.monotonic()))
        servers.append(tenant.ask(SMALL))
    tenant.running(servers)
    report = None
    if type(setup) in SHADOWS:
        shadow.wait_for(*servers)
        report = shadow("report")
        for one in report["disagreements"]:
            say(f"{one['count']} × {one['verdict']}: {one['reason']}")
    found = Spread([tenant.host(one) for one in servers], report)
    tenant.clear()
    setup.stop()
    return found


def rows_of(found: dict[str, Spread]) -> list[Row]:
    """Gantt's beside those of nova-scheduler alone."""
    theirs = found[Upstream.name]
    rows = []
    for setup, name in ((Replaced, "`gantt scheduler`"), (Ordered, "advice")):
        ours = found[setup.name]
        for work, count, other in (
            ("in a row on one host", ours.in_a_row, theirs.in_a_row),
            (f"of {BOOTS} on one host", ours.on_one_host, theirs.on_one_host),
        ):
            rows.append(Row(f"{name}, most {work}", "", str(count), str(other)))
    for shadow, way in SHADOWS.items():
        report = found[shadow.name].report
        same, facts = report["verdicts"].get("same", 0), report["facts"]
        ages = f"{duration(facts['p50_s'])}, {duration(facts['p99_s'])}"
        equal = sum(
            one["count"]
            for one in report["disagreements"]
            if one["reason"] == "equal weight"
        )
        for work, value in (
            ("the same host as Nova", f"{same} of {BOOTS}"),
            ("another host of equal weight", f"{equal} of {BOOTS}"),
            ("age of its facts, median and 99th percentile", ages),
        ):
            rows.append(Row(f"a shadow by {way}, {work}", "", value))
    return rows


if __name__ == "__main__":
    main()
