"""``gantt feed``: learn the fleet from Nova's databases, for the books at --url."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import click
from msgspec.structs import replace

from gantt.cli.connection_options import BooksLocation, open_books, where_options
from gantt.cli.failure import refusals_reported
from gantt.cli.program import (
    config_file_option,
    log_json_option,
    metrics_listen_option,
)
from gantt.cli.stop_signals import stop_signals


@click.command("feed")
@config_file_option("nova.conf, with [api_database] and [database]; may be repeated.")
@where_options("Books to feed")
@metrics_listen_option
@log_json_option
def feed(
    config_files: tuple[str, ...],
    where: BooksLocation,
    metrics_listen: str | None,
    log_json: bool,
) -> None:
    """Read hosts, services, aggregates, server groups and instances from Nova's
    databases, and what changes in them, until SIGTERM or SIGINT.

    Nothing is written there. Not needed beside 'gantt scheduler', which feeds itself.
    Of several for one Gantt, one reads, and the others stand by.

    \b
    Example:
      gantt feed --config-file /etc/nova/nova.conf
    """
    with refusals_reported():
        from gantt.conf import feed_options, load
        from gantt.observe.endpoint import answering
        from gantt.observe.log_file import begin_logging
        from gantt.observe.milestones import log_feeding, log_stopping
        from gantt.observe.supervisor import Supervisor
        from gantt.openstack.feed import Feed, Standby
        from gantt.openstack.meters import FeedSigns

        supervisor = Supervisor.of_process()
        with stop_signals() as ended:
            settings = load(config_files)
            log = replace(settings.log, use_json=log_json or settings.log.use_json)
            begin_logging(log, "gantt-feed", tells=True)
            with closing(open_books(where)) as books:
                options = feed_options(config_files, settings.engine.scheduler)

                def started(running: Feed, took_s: float) -> None:
                    supervisor.ready("feeding")
                    log_feeding(books.url, running.counts(), took_s)

                feeds = Standby(books, lambda: Feed(options, books), started)
                listen = metrics_listen or settings.serve.metrics_listen
                with answering(listen, FeedSigns(feeds)), closing(feeds):
                    feeds.run(partial(supervisor.ready, "standing by"), ended)
                    supervisor.stopping()
                    log_stopping(ended.number)
