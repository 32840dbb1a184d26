"""Services that record, for the tests of records."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions, RecordOptions
from gantt.errors import NoValidHost
from gantt.model.answers import Inventory
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.replay.machines import Machine, empty_stats
from gantt.replay.process_records import open_records
from gantt.replay.redecision import play
from gantt.replay.redecision_results import Played, Redecided
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions

# Chance decides among equals, so that a seed is needed to repeat it.
DRAWING = SchedulerOptions(host_subset_size=3, shuffle_best_same_weighed_hosts=True)


@contextmanager
def service(
    folder: Path,
    *,
    scheduler: SchedulerOptions = DRAWING,
    url: str = "",
    record: Path | None = None,
    **options: int,
) -> Iterator[Gantt]:
    """An engine on a database in ``folder`` that records there."""
    recording = RecordOptions(record=str(record or folder / "record"), **options)
    gantt = open_gantt(
        url or f"sqlite:///{folder}/gantt.db",
        EngineOptions(
            scheduler=scheduler, recording=recording, store=StoreOptions(create=True)
        ),
    )
    try:
        yield gantt
    finally:
        gantt.close()


def add_hosts(gantt: Gantt, *names: str, vcpus: int = 16) -> None:
    """They report that they are empty."""
    amounts = {"VCPU": Inventory(vcpus), "MEMORY_MB": Inventory(65_536)}
    for name in names:
        gantt.update_host(name, name, empty_stats(Machine(name, amounts)))


def flush(gantt: Gantt) -> None:
    """Write what waits to be recorded."""
    recording = gantt._recording
    assert recording is not None
    recording.flush()


def uuid(number: int) -> str:
    """Of an instance."""
    return str(UUID(int=number + 1))


def ask(
    gantt: Gantt,
    *numbers: int,
    vcpus: int = 1,
    group: InstanceGroup | None = None,
    spec: RequestSpec | None = None,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """The hosts of these instances; () if refused."""
    asked = spec or RequestSpec(Flavor(vcpus, 1024), instance_group=group)
    request = ScheduleRequest(asked, tuple(map(uuid, numbers)), dry_run=dry_run)
    try:
        found = gantt.decide(request).chosen if dry_run else gantt.schedule(request)
    except NoValidHost:
        return ()
    return tuple(mine[0].service_host for mine in found)


def played(*paths: Path) -> tuple[Played, list[Redecided]]:
    """All decisions of these records, made again."""
    counts = Played()
    return counts, list(play(open_records(paths, counts.early), counts))


def text_of(folder: Path) -> str:
    """All that is written in the record of ``folder``."""
    files = sorted((folder / "record").iterdir())
    return "".join(gzip.decompress(one.read_bytes()).decode() for one in files)
