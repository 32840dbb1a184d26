"""The options of advice, in ``[gantt]``, and their values.

Separate from the other options of that group because each door to a cloud has a table
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oslo_config import cfg

from gantt.conf.option_table import rows, values_of
from gantt.conf.values import ApiOptions
from gantt.errors import Refused
from gantt.scheduler.options import AdviceOptions

_LOOPBACK: Final = ("127.0.0.0/8", "::1")

OPTIONS: Sequence[cfg.Opt] = [
    cfg.IntOpt(
        "advice_subset_size",
        default=0,
        min=0,
        max=10_000,
        help="Draw the best host at random from this many of the best. 0: from as many "
        "as there are workers, because workers do not see each other's holds. Mode "
        "observe draws none.",
    ),
    *rows(
        AdviceOptions(),
        {
            "advice_placement": "Placement in which the cloud that asks for advice "
            "claims. own: this Gantt's; advice judges amounts, and a hold ends with "
            "the claim. other: another one, which the cloud asked before; advice does "
            "not judge amounts.",
            "advice_weights": "What the caller's weights do. ties: Gantt's weighers "
            "order hosts, the caller's weights order equals; add: the caller's "
            "weights, normalised from 0 to 1, are added to Gantt's.",
            "advice_deadline_s 0.01..60": "Seconds after which an advice is the "
            "caller's own order.",
            "advice_threads 1..256": "Threads per worker in which advice is made. When "
            "all are occupied, requests wait.",
            "advice_waiting 0..100000": "Maximum requests for advice per worker that "
            "wait for a thread; to more, the answer is the caller's own order at once.",
            "advice_hosts 1": "Maximum hosts per request for advice; for more, the "
            "answer is the caller's own order.",
            "advice_evacuate_subset_size 1..10000": "The same as advice_subset_size, "
            "for evacuations: many of them come at once when a host dies.",
            "advice_hold_s 0..600": "Seconds that the best host of an advice is held "
            "for its instance, so that a burst is not advised to the same host. The "
            "hold is no allocation: it lowers the host's weight for others. 0: hold "
            "none.",
            "advice_holds 1..100000": "Maximum hosts held at once per worker; the "
            "oldest hold gives way.",
        },
    ),
    cfg.ListOpt(
        "advice_from",
        help="Networks from which requests for advice need no token: callers of the "
        "external-scheduler protocol send none. Requests that came through a proxy "
        "need one in any case. Empty: all need one. Default: none, and with "
        "auth_strategy noauth2 loopback addresses.",
    ),
    *rows(
        ApiOptions(),
        {
            "advice_shortens": "Leave hosts that Gantt refuses out of the answers of "
            "the external-scheduler protocol, even if none is left, instead of putting "
            "them last. Needs advice_placement=own."
        },
    ),
]


def trusted(own: Any, strategy: str) -> tuple[str, ...]:
    """The networks that need no token, by the group ``own``."""
    if own.advice_from is None:
        return _LOOPBACK if strategy == "noauth2" else ()
    return tuple(own.advice_from)


def advice_options(own: Any) -> AdviceOptions:
    """The values in the group ``own``. Raises Refused."""
    if own.advice_shortens and own.advice_placement != "own":
        raise Refused(
            "advice_shortens of [gantt] needs advice_placement = own: amounts in "
            "another Placement are not known here."
        )
    subset_size = own.advice_subset_size or own.workers
    return values_of(own, AdviceOptions, advice_subset_size=subset_size)
