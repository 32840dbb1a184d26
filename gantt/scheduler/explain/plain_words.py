"""A refusal in plain words, for those who asked in such.

Separate from the reasons, which have the words of Nova and of Placement: each of those
is translated here, and names of resource classes, traits and aggregates become what the
caller called them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gantt.errors import NoValidHost
from gantt.model.artifacts import NEED
from gantt.model.demand import CLASSES
from gantt.model.diagnosis import Relaxation
from gantt.model.quantities import quantity
from gantt.model.selection import Near, Step, Why
from gantt.scheduler.evaluation.feasible_hosts import HOST_LABELS, IN_SERVICE, TARGETS
from gantt.scheduler.explain.refusal_reason import EXACT, PICKED
from gantt.scheduler.feasibility.candidate_sources import AMOUNTS, BOOKS, LABELS
from gantt.scheduler.relations.locality import HOLDING
from gantt.scheduler.request.plain_item import Wish
from gantt.scheduler.selection.start_picks import STARTS

_MOST_NEAR: Final = 3
_NAME: Final = re.compile(r"\w[\w-]*", re.ASCII)
_UNITS: Final = {
    "cpu": "CPUs",
    "memory": "memory",
    "disk": "GiB of disk",
    "gpu": "GPUs",
}
_CLASSES: Final = {CLASSES[plain]: word for plain, word in _UNITS.items()}
_MANY: Final = frozenset({"CPUs", "GPUs"})
_WORDS: Final = {
    "trait": "label",
    "traits": "labels",
    "aggregates": "aggregates",
    NEED: "need_artifacts",
    "resource": "amount",
}
# What removed hosts -> what is said of these.
_CAUSES: Final = {
    BOOKS: "without enough free, or without what is asked for",
    AMOUNTS: "without enough free",
    LABELS: "without a label or aggregate that is asked for",
    HOST_LABELS: "without a label, or with one that is ruled out",
    TARGETS: "ruled out by host or not_with",
    IN_SERVICE: "not in service",
    PICKED: "filled by this demand",
    STARTS: "starting as many at once as they may",
    EXACT: "without a place for all amounts together",
    "ComputeFilter": "disabled, or without a report",
}
_CHANGES: Final = {
    "root_required": "ask without the label {}",
    "root_forbidden": "allow the label {}",
    "member_of": "ask without {}",
    "not_member_of": "allow {}",
    "label": "ask without the label {}",
    "not_label": "allow the label {}",
    "zone": "ask without the zone {}",
    "requested_host": "ask without the host {}",
    "ignore_hosts": "ask without not_with",
    "hint": "ask without {}",
    "filter": "have an operator disable the filter {}",
}


def plainly(refusal: NoValidHost, wish: Wish) -> NoValidHost:
    """``refusal`` of what was wished."""
    item, words = wish.item, {**_CLASSES, **_WORDS, **wish.words}
    why = refusal.why if isinstance(refusal.why, Why) else Why()
    amounts = ", ".join(
        f"{quantity(name, amount)} {_one_of(words.get(name, name), amount)}"
        for name, amount in item.amounts.items()
    )
    many = f"{item.count} of " if item.count > 1 else ""
    message = (
        f"There is no room for {many}{item.name!r} ({amounts}). Nothing was placed."
    )
    said = tuple(_lines(why, words)) or (_in_words(refusal.message, words),)
    return NoValidHost(message, Why(said=said))


def _one_of(word: str, amount: int) -> str:
    return word.removesuffix("s") if amount == 1 and word in _MANY else word


def _lines(why: Why, words: Mapping[str, str]) -> Iterator[str]:
    if why.steps:
        total = why.steps[0].before
        if not total:
            yield "No host is known: report what hosts have first."
            return
        lost = "; ".join(map(_step, filter(_is_loss, why.steps)))
        hosts = "1 host" if total == 1 else f"{total} hosts"
        yield f"Of {hosts}, {lost or 'none is left'}."
    yield from why.related
    for near in why.nearest[:_MOST_NEAR]:
        yield f"{near.host}: {_near(near, words)}."
    if why.given_up:
        changes = " and ".join(_change(one, words) for one in why.given_up)
        yield f"This would help: {changes}."
    elif why.help:
        yield "No single change of what is asked for would help."


def _is_loss(step: Step) -> bool:
    return step.after < step.before


def _step(step: Step) -> str:
    return f"{step.before - step.after} {_cause(step.name)}"


def _cause(name: str) -> str:
    if name.startswith(HOLDING):
        return f"without the {name}"
    if " by " in name:
        return f"ruled out by {name}"
    return _CAUSES.get(name) or f"refused by the filter {name}"


def _near(near: Near, words: Mapping[str, str]) -> str:
    if near.lacks is not None:
        return _in_words(near.lacks, words)
    return "; ".join(map(_cause, near.removed_by))


def _change(one: Relaxation, words: Mapping[str, str]) -> str:
    names = ", ".join(dict.fromkeys(words.get(name, name) for name in one.names))
    if one.kind == "instances":
        return f"place {one.lowered} of it instead of {one.amount}"
    if one.kind in _CHANGES:
        return _CHANGES[one.kind].format(names)
    return _in_words(one.text, words)


def _in_words(text: str, words: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: words.get(found[0], found[0]), text)
