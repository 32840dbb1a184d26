"""``python -m tests.simulation``: replay one seed as a trace, or try many and count.

Separate from the run because this has all of its output.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from gantt.model.addresses import without_secrets
from gantt.model.commands import Claim
from tests.simulation.fault_schedule import KINDS
from tests.simulation.run import GALERA, MEMORY, Plan, Result, Run

SQLITE = "sqlite"
_WIDTH = 60  # of the line that tells how far it is


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 when no law was violated."""
    options = _parser().parse_args(arguments)
    # The pool warns about connections of killed processes.
    with _silent("gantt", "sqlalchemy.pool"), _url_of(options.store) as store:
        plan = Plan(
            options.seed,
            store,
            options.steps,
            options.engines,
            options.clients,
            frozenset(options.without),
        )
        if options.seeds is None and options.minutes is None:
            return _replay(plan, options.store)
        return _try_many(plan, options.store, options.seeds, options.minutes)


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """What these loggers say goes nowhere meanwhile."""
    loggers = [logging.getLogger(name) for name in names]
    before = [(one.handlers, one.propagate) for one in loggers]
    for one in loggers:
        one.handlers, one.propagate = [logging.NullHandler()], False
    try:
        yield
    finally:
        for one, (handlers, propagates) in zip(loggers, before, strict=True):
            one.handlers, one.propagate = handlers, propagates


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description="Several engines on one database, with faults, from a seed.",
    )
    parser.add_argument("--seed", type=int, default=0, help="the (first) seed")
    parser.add_argument(
        "--store",
        default=MEMORY,
        help=f"{MEMORY}, {GALERA}, {SQLITE}, or the URL of a database that may be "
        'emptied: its name must contain "sim"',
    )
    parser.add_argument("--steps", type=int, default=150, help="what clients do in all")
    parser.add_argument("--engines", type=int, default=3)
    parser.add_argument("--clients", type=int, default=3, help="per engine")
    parser.add_argument(
        "--without", action="append", default=[], choices=KINDS, help="leave out faults"
    )
    parser.add_argument("--seeds", type=int, help="try so many, and count")
    parser.add_argument(
        "--minutes", type=float, help="try seeds for so long, and count"
    )
    return parser


@contextmanager
def _url_of(store: str) -> Iterator[str]:
    if store != SQLITE:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="gantt-sim-") as folder:
        yield f"sqlite:///{Path(folder) / 'sim.db'}"


def _replay(plan: Plan, store: str) -> int:
    result = Run(plan).go()
    if result.findings:
        plan, result = _shrunk(plan, result)
    for event in result.trace:
        _say(f"{event.tick:7} {event.time:10.4f} s  {event.who:12} {event.text}")
    for finding in result.findings:
        _say(f"BROKEN {finding}")
    if result.findings:
        _say(f"replay: {command(plan, store)}")
    _say(_summary(result))
    return 1 if result.findings else 0


def _shrunk(plan: Plan, result: Result) -> tuple[Plan, Result]:
    """The shortest run that still violates the same law, found by bisection: a shorter
    run is a prefix of the longer one."""
    law = result.findings[0].law
    good, bad = 0, plan.steps
    while bad - good > 1:
        middle = (good + bad) // 2
        shorter = replace(plan, steps=middle)
        found = Run(shorter).go()
        if any(finding.law == law for finding in found.findings):
            bad, plan, result = middle, shorter, found
        else:
            good = middle
    return plan, result


def _try_many(plan: Plan, store: str, seeds: int | None, minutes: float | None) -> int:
    began = time.monotonic()
    end = began + 60 * minutes if minutes is not None else float("inf")
    tried, broken = 0, 0
    sums: Counter[str] = Counter()
    struck: Counter[str] = Counter()
    for number in range(seeds) if seeds is not None else itertools.count():
        if time.monotonic() > end:
            break
        one = replace(plan, seed=plan.seed + number)
        result = Run(one).go()
        tried += 1
        _tell_progress(tried, seeds, time.monotonic() - began, end - time.monotonic())
        sums.update(tally(result))
        struck.update(result.struck)
        if result.findings:
            broken += 1
            _say(f"seed {one.seed}: {len(result.findings)} laws broken")
            _say(f"  {result.findings[0]}")
            _say(f"  replay: {command(one, store)}")
    _say(f"{store}: {tried:,} seeds from {plan.seed}, {broken:,} broke a law")
    _say("  " + ", ".join(f"{n:,} {what}" for what, n in sums.items()))
    _say("  faults: " + ", ".join(f"{struck[kind]:,} {kind}" for kind in KINDS))
    return 1 if broken else 0


def _tell_progress(tried: int, seeds: int | None, took_s: float, left_s: float) -> None:
    """Seeds so far, their rate and the time left, on standard error if that is a
    terminal; the next line that is printed overwrites it."""
    if not sys.stderr.isatty():
        return
    rate = tried / took_s
    if seeds is not None:
        left_s = min(left_s, (seeds - tried) / rate)
    of = "" if seeds is None else f" of {seeds:,}"
    text = f"{tried:,}{of} seeds, {rate:.1f}/s, {max(0, left_s):.0f} s left"
    sys.stderr.write(f"\r{text:<{_WIDTH}}\r")
    sys.stderr.flush()


def tally(result: Result) -> dict[str, int]:
    """A summary of the commands of a run, and their outcomes."""
    outcomes = Counter(op.outcome for op in result.history.ops)
    return {
        "commands": len(result.history.ops),
        "acknowledged": outcomes["ok"],
        "refused": outcomes["refused"],
        "without an answer": outcomes["open"] + outcomes["unknown"],
        "revisions": len(result.history.log),
        "reads": len(result.history.reads),
        **_topology_tally(result),
        "commits without an answer": result.counts.get("unknown_outcomes", 0),
    }


def _topology_tally(result: Result) -> dict[str, int]:
    """Claims on pinned CPUs or devices, and those that others had left no room for."""
    claims = [
        op
        for op in result.history.ops
        if isinstance(op.command, Claim) and op.command.wanted is not None
    ]
    lost = [op for op in claims if "the topology no longer fits" in op.text]
    return {
        "claims on cells or devices": sum(op.outcome == "ok" for op in claims),
        "that no longer fitted": len(lost),
    }


def command(plan: Plan, store: str) -> str:
    """The command that replays ``plan``, complete except for a password."""
    store = without_secrets(store)
    rest = "".join(f" --without '{kind}'" for kind in sorted(plan.without))
    return (
        f"python -m tests.simulation --seed {plan.seed} --store {store}"
        f" --steps {plan.steps} --engines {plan.engines} --clients {plan.clients}{rest}"
    )


def _summary(result: Result) -> str:
    told = ", ".join(f"{n:,} {what}" for what, n in tally(result).items())
    return f"seed {result.plan.seed}: {told}; {len(result.findings)} laws broken"


def _say(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{'':<{_WIDTH}}\r")
        sys.stderr.flush()
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    # The order of sets is part of the schedule.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        words = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execv(sys.executable, words)
    sys.exit(main())
