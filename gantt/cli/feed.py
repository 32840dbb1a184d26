"""``gantt feed``: learn the fleet from Nova's databases, for the books at --url."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from gantt.cli.failure import refusals_reported
from gantt.cli.session import DEFAULT_URL, open_books


@click.command("feed")
@click.option(
    "--config-file",
    "config_files",
    multiple=True,
    metavar="FILE",
    help="nova.conf, with [api_database] and [database]; may be repeated.",
)
@click.option(
    "--url",
    envvar="GANTT_URL",
    default=DEFAULT_URL,
    show_default=True,
    show_envvar=True,
    help="Books to feed: a service (http://…) or a database (sqlite:///…).",
)
@click.option(
    "--token",
    envvar="GANTT_TOKEN",
    default="admin",
    show_envvar=True,
    help="Token for the service, sent as X-Auth-Token.",
)
@click.option(
    "--metrics-listen",
    metavar="HOST:PORT",
    help="Answer /metrics, /livez and /readyz here; default: [gantt] metrics_listen.",
)
@click.option("--log-json", is_flag=True, help="Log one JSON object per line.")
def feed(
    config_files: tuple[str, ...],
    url: str,
    token: str,
    metrics_listen: str | None,
    log_json: bool,
) -> None:
    """Read hosts, services, aggregates, server groups and instances from Nova's
    databases, and what changes in them, until SIGTERM or SIGINT.

    Nothing is written there. Not needed beside 'gantt scheduler', which feeds itself.
    """
    with refusals_reported():
        from gantt.conf import feed_options, load
        from gantt.observe.endpoint import answering
        from gantt.observe.logs import configure_logging
        from gantt.openstack.feed import Feed
        from gantt.openstack.meters import FeedSigns

        with _waiting() as signals:
            settings = load(config_files)
            configure_logging(debug=settings.log.debug, use_json=log_json)
            with closing(open_books(url, token)) as books:
                options = feed_options(config_files, settings.engine.scheduler)
                running = Feed(options, books)
                listen = metrics_listen or settings.serve.metrics_listen
                with answering(listen, FeedSigns(running)):
                    try:
                        running.start()
                        signal.sigwait(signals)
                    finally:
                        running.stop()


@contextmanager
def _waiting() -> Iterator[set[signal.Signals]]:
    """Signals that wait to be taken; afterwards as before, as programs that this one
    starts inherit it."""
    signals = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield signals
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
