"""Filter and weigher, the same for every service.

A service adds its own base classes, and how its hosts and its requests are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.settings import ADVISE, DECIDE, OBSERVE, Settings
from gantt_nova_plugin.wire import FILTER, WEIGH, Answer, Candidate, Question, finite

Host = TypeVar("Host")


class Ranks(NamedTuple):
    """1.0 for the best host down to 0.0 for the last, and what to multiply them by;
    None where all are 0.0."""

    ranks: list[float]
    multiplier: float | None


class Reading(NamedTuple):
    """How a service's objects are read: the name of a host; of a request the object
    that is the same at all its stages, what is sent of it, and its instance.
    """

    candidate: Callable[[Any], Candidate]
    identity: Callable[[Any], object]
    spec: Callable[[Any], object]
    instance_uuid: Callable[[Any], str | None] = lambda _: None


class Stages:
    """Both stages of one service. Nothing that goes wrong comes out of them."""

    def __init__(self, advisor: Advisor, reading: Reading) -> None:
        self._advisor = advisor
        self._reading = reading

    def begin(self) -> None:
        """Tell the log what is configured, before the first request."""
        self._advisor.safely(self._advisor.settings, None)

    def keep(self, hosts: list[Host], request: object) -> list[Host]:
        """The hosts that are left: all of them, but in mode decide."""
        return self._advisor.safely(lambda: self._keep(hosts, request), hosts)

    def weigh(
        self, hosts: Sequence[object], weights: Sequence[float], request: object
    ) -> Ranks:
        """Ranks in the order of the hosts; all 0.0 where nothing is to change.

        ``weights``: what other weighers have said of each host so far.
        """
        nothing = Ranks([0.0] * len(hosts), None)
        return self._advisor.safely(
            lambda: self._weigh(hosts, weights, request) or nothing, nothing
        )

    def _keep(self, hosts: list[Host], request: object) -> list[Host]:
        settings = self._advisor.settings()
        if settings is None or settings.mode == ADVISE or not hosts:
            return hosts
        sent = self._candidates(hosts)
        answer = self._ask(settings, FILTER, sent, request)
        if answer is None or settings.mode != DECIDE:
            return hosts
        left = [host for host, each in zip(hosts, sent) if each not in answer.refused]
        self._advisor.journal.count("hosts_removed", len(hosts) - len(left))
        return left

    def _weigh(
        self, hosts: Sequence[object], weights: Sequence[float], request: object
    ) -> Ranks | None:
        settings = self._advisor.settings()
        if settings is None or not hosts:
            return None
        sent = self._candidates(hosts)
        heaviest = sorted(range(len(sent)), key=lambda n: -weights[n])
        answer = self._ask(
            settings,
            WEIGH,
            [sent[n] for n in heaviest],  # the order without advice
            request,
            _by_host(sent, weights),
        )
        if answer is None or settings.mode == OBSERVE:
            return None
        place = {candidate: n for n, candidate in enumerate(answer.order)}
        last = max(len(place) - 1, 1)
        ranks = [1.0 - place[candidate] / last for candidate in sent]
        return Ranks(ranks, settings.weight_multiplier)

    def _candidates(self, hosts: Sequence[object]) -> list[Candidate]:
        return [self._reading.candidate(host) for host in hosts]

    def _ask(
        self,
        settings: Settings,
        stage: str,
        sent: Sequence[Candidate],
        request: object,
        weights: dict[str, float] | None = None,
    ) -> Answer | None:
        question = Question(
            stage,
            settings.mode,
            lambda: self._reading.spec(request),
            tuple(sent),
            self._reading.instance_uuid(request),
            weights,
        )
        return self._advisor.ask(settings, self._reading.identity(request), question)


class AdvisedFilter:
    """Removes what Gantt refuses, in mode decide; passes everything otherwise."""

    stages: ClassVar[Stages]

    # Each instance of a request finds the hosts in another state.
    run_filter_once_per_request = False

    def __init__(self) -> None:
        super().__init__()
        self.stages.begin()

    def filter_all(
        self, filter_obj_list: Iterable[Host], request: object
    ) -> list[Host]:
        """Those of the hosts that are left, in the same order."""
        return self.stages.keep(list(filter_obj_list), request)


class AdvisedWeigher:
    """Ranks hosts as Gantt orders them, in modes advise and decide."""

    stages: ClassVar[Stages]
    _multiplier = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.stages.begin()

    def weight_multiplier(self, host_state: object = None) -> float:  # noqa: ARG002
        """The same for all hosts; Nova names one since Stein, others none."""
        return self._multiplier

    def weigh_objects(
        self, weighed_obj_list: list[Any], request: object
    ) -> list[float]:
        """A rank between 0.0 and 1.0 for each; the best has the highest."""
        hosts = [weighed.obj for weighed in weighed_obj_list]
        so_far = [weighed.weight for weighed in weighed_obj_list]
        ranks, multiplier = self.stages.weigh(hosts, so_far, request)
        if multiplier is not None:
            # Other threads share this weigher, and multiply ranks by it meanwhile.
            self._multiplier = multiplier
        return ranks

    def _weigh_object(self, obj: object, request: object) -> float:  # noqa: ARG002
        """Base classes want it; `weigh_objects` never asks it."""
        return 0.0


def _by_host(
    sent: Sequence[Candidate], weights: Sequence[float]
) -> dict[str, float] | None:
    """Weights by host; None where a host has several nodes, which they cannot name."""
    named = {each.host: weight for each, weight in zip(sent, weights)}
    return finite(named) if len(named) == len(sent) else None
