"""The options of the feed from Nova's databases, read from a ``nova.conf``.

Separate because they are read together with Nova's own options of its databases, whose
names other sections of Gantt's files have for other things.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from oslo_config import cfg

from gantt.conf.option_table import rows, values_of
from gantt.conf.references import add_references
from gantt.conf.suspect_values import check_written
from gantt.errors import Refused
from gantt.model.hosts import IMAGE_REF
from gantt.scheduler.options import SchedulerOptions


class FeedOptions(Struct, frozen=True):
    """Where Nova's databases are, and how often they are read.

    ``api_url``: of the API database; ``database_url``: that of ``[database]``, from
    which templates in cell mappings are filled. ``feed_user``, ``feed_password``: in
    place of those in all of these URLs; "": as they are. ``feed_interval``: seconds
    between two rounds. ``feed_overlap``: each round reads what was written since so
    many seconds before the last one began: writers' clocks may differ by as much.
    ``feed_full_interval``: seconds in which all rows are read again; 0: never.
    ``feed_timeout``: seconds to wait for a connection or an answer. ``feed_retry``:
    longest pause before a cell that failed is tried again. ``feed_cells``: cells that
    are read at the same time. ``service_down_time``: seconds. ``facts``: of instances,
    that filters or weighers read. ``feed_names``: whether names and projects of
    instances are read as well, for those who look for one.
    """

    api_url: str = ""
    database_url: str = ""
    feed_user: str = ""
    feed_password: str = ""
    feed_interval: float = 5.0
    feed_overlap: float = 10.0
    feed_full_interval: float = 3600.0
    feed_timeout: float = 10.0
    feed_retry: float = 60.0
    feed_cells: int = 16
    service_down_time: float = 60.0
    facts: frozenset[str] = frozenset()
    feed_names: bool = True


FLAVOR: Final = "flavorid"
IMAGE: Final = "image_properties"

NOVA: Sequence[cfg.Opt] = [
    *rows(
        FeedOptions(),
        {
            "feed_user": "User that reads Nova's databases, in place of the one in "
            "their URLs; docs/how-to/feed.md has the rights that it needs. Unset: the "
            "user of each URL.",
            "feed_password secret": "Password of feed_user.",
            "feed_interval 0.1..3600": "Seconds between two readings of what changed "
            "in Nova's databases.",
            "feed_overlap 2..3600": "Each reading includes this many seconds before "
            "the last one; the clocks of Nova's services may differ by as much.",
            "feed_full_interval 0..604800": "Seconds in which all rows are read again, "
            "a part in each reading: what was committed more than feed_overlap after "
            "it was written is found so. 0: never.",
            "feed_timeout 0.1..600": "Seconds to wait for a connection to one of "
            "Nova's databases, or for its answer.",
            "feed_retry 1..3600": "Maximum seconds between two attempts to read a cell "
            "whose database fails.",
            "feed_cells 1..1000": "Maximum cells that are read at the same time.",
            "feed_names": "Whether names (display_name) and projects of instances are "
            "read and kept, so that they are shown and found. False: those that are "
            "kept are forgotten.",
        },
    ),
]

LOG = logging.getLogger(__name__)
_THEIRS: Final = (
    ("api_database", [cfg.StrOpt("connection", secret=True)]),
    ("database", [cfg.StrOpt("connection", secret=True)]),
    ("DEFAULT", [cfg.FloatOpt("service_down_time", default=60.0, min=0.0)]),
)


def feed_options(
    config_files: Sequence[str], scheduler: SchedulerOptions
) -> FeedOptions:
    """From ``nova.conf`` files; ``scheduler``: what they say of the scheduler. Raises
    Refused."""
    conf = cfg.ConfigOpts()
    for group, opts in (("nova", NOVA), *_THEIRS):
        conf.register_opts(opts, None if group == "DEFAULT" else group)
    try:
        conf(args=[], project="gantt", default_config_files=list(config_files))
        add_references(conf)
        for warning in check_written(config_files):
            LOG.warning("%s", warning)
        api_url = conf.api_database.connection
        if not api_url:
            raise Refused(
                "There is no connection in [api_database] of "
                f"{', '.join(config_files) or 'any file'}: the feed needs the URL of "
                "Nova's API database."
            )
        return values_of(
            conf.nova,
            FeedOptions,
            api_url=api_url,
            database_url=conf.database.connection or "",
            service_down_time=conf.service_down_time,
            facts=facts_read(scheduler),
        )
    except (cfg.Error, OSError, ValueError) as error:
        raise Refused(f"The configuration cannot be used: {error}") from error


def facts_read(options: SchedulerOptions) -> frozenset[str]:
    """Facts of instances that the filters and weighers of ``options`` read."""
    found = set()
    if "TypeAffinityFilter" in options.enabled_filters:
        found.add(FLAVOR)
    if options.multiplier("image_props_weight_multiplier"):
        found.add(IMAGE)
    if options.image_locality:
        found.add(IMAGE_REF)
    return frozenset(found)
