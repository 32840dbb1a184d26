"""Launches the instances of a request: host by host, until each runs or gives up.

In rounds: all instances that do not run yet are launched on their next host, what
failed is given back, then the claims of what runs are confirmed. A claim that several
instances share is so confirmed when all of them are settled, and not before: until then
its lease protects against a crash.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from gantt.errors import GanttError, Invalid, shortened
from gantt.launch.contract import Launcher, StartedInstance, Work
from gantt.launch.launch_claims import LaunchClaims, give_back
from gantt.launch.launcher_call import LaunchTimedOut, Starting, stop
from gantt.launch.outcome import Attempt, Launch, LaunchOptions, Stage
from gantt.model.protocol import GanttProtocol
from gantt.model.scheduling import Selections
from gantt.model.selection import Selection
from gantt.model.spec import ScheduleRequest


class LaunchObserver(Protocol):
    """Is told what became of launches; for metrics. Called in the launching thread."""

    def tried(self, outcome: str) -> None:
        """A host was tried. ``outcome``: running, or what failed: claim, launch,
        timeout, confirm."""

    def ended(self, outcome: str, seconds: float) -> None:
        """An instance is ``running``, or was ``given_up``, after so many seconds."""


class Launching:
    """Launches with one launcher on hosts that ``gantt`` selected."""

    def __init__(
        self,
        gantt: GanttProtocol,
        launcher: Launcher,
        options: LaunchOptions = LaunchOptions(),
        observer: LaunchObserver | None = None,
    ) -> None:
        self._gantt = gantt
        self._observer = observer
        self._launcher = launcher
        self._options = options

    def launch(
        self,
        request: ScheduleRequest,
        selections: Selections,
        command: Sequence[str] = (),
    ) -> tuple[Launch, ...]:
        """Launch what ``request`` asked for where ``selections``, the answer to it,
        say: per instance, in order, what became of it. One that fails everywhere holds
        nothing afterwards, and does not keep the others from running.

        Raises Invalid for a request without instances or without a lease that outlasts
        a launch, or one that selections do not match.
        """
        check(request, selections, self._options)
        names = request.instance_uuids or ()
        claims = LaunchClaims(self._gantt, request)
        shared = Counter(mine[0].claim for mine in selections)
        instances = [
            _InstanceLaunch(
                Work(uuid, request.spec, tuple(command)),
                mine,
                claims,
                is_alone=shared[mine[0].claim] == 1,
            )
            for uuid, mine in zip(names, selections, strict=True)
        ]
        began = time.monotonic()
        try:
            while waiting := [
                one for one in instances if one.is_waiting(self._options)
            ]:
                self._round(waiting)
                self._tell(waiting, time.monotonic() - began)
        except BaseException:
            for one in instances:
                one.abandon()
            raise
        return tuple(one.outcome() for one in instances)

    def release(self, launch: Launch) -> None:
        """The workload has ended: free what it used. Raises Unavailable."""
        if launch.selection is not None:
            give_back(
                self._gantt,
                launch.selection,
                launch.instance_uuid,
                is_alone=launch.is_alone,
            )

    def _tell(self, tried: list[_InstanceLaunch], seconds: float) -> None:
        """What became of the last attempt of each of ``tried``, and of the instance."""
        if self._observer is None:
            return
        for one in tried:
            self._observer.tried(one.last_outcome)
            if one.is_running:
                self._observer.ended("running", seconds)
            elif not one.is_waiting(self._options):
                self._observer.ended("given_up", seconds)

    def _round(self, instances: list[_InstanceLaunch]) -> None:
        timeout_s = self._options.timeout_s
        for batch in _batches(instances, self._options.parallel):
            started = [one for one in batch if one.start(self._launcher)]
            until = time.monotonic() + timeout_s
            for one in started:
                one.finish(until - time.monotonic(), timeout_s)
        for one in instances:
            one.confirm()
        for one in instances:
            one.release_again()


class _InstanceLaunch:
    """One instance on its way to a host."""

    def __init__(
        self,
        work: Work,
        choices: Sequence[Selection],
        claims: LaunchClaims,
        *,
        is_alone: bool,
    ) -> None:
        self._work = work
        self._claims = claims
        self._left = list(choices)
        self._is_alone = is_alone
        self._attempts: list[Attempt] = []
        self._at: Selection | None = choices[0]
        self._owed: Selection | None = None
        self._starting: Starting | None = None
        self._workload: StartedInstance | None = None
        self.last_outcome = ""

    @property
    def is_running(self) -> bool:
        return self._workload is not None

    def is_waiting(self, options: LaunchOptions) -> bool:
        """Whether another host is to be tried."""
        is_open = self._workload is None and len(self._attempts) < options.max_attempts
        return is_open and bool(self._left)

    def start(self, launcher: Launcher) -> bool:
        """Begin on the next host, which is claimed first if it is an alternate."""
        choice = self._left.pop(0)
        if self._attempts:
            try:
                self._at = self._claims.claim(self._work.instance_uuid, choice)
            except GanttError as error:
                self._note(choice, "claim", error.message)
                return False
            self._is_alone = True
        assert self._at is not None
        self._starting = Starting(launcher, self._at, self._work)
        return True

    def finish(self, remaining_s: float, timeout_s: float) -> None:
        """Wait for the launcher; a failure gives the claim back."""
        assert self._starting is not None
        try:
            self._workload = self._starting.result(remaining_s)
        except LaunchTimedOut:
            self._fail("launch", f"the launcher did not return within {timeout_s:g} s")
            self.last_outcome = "timeout"
        except Exception as error:
            # Whatever a launcher of another package raises.
            self._fail("launch", _words(error))
        self._starting = None

    def confirm(self) -> None:
        """The claim stays, if the instance runs."""
        if self._workload is None or self._at is None or self._is_settled():
            return
        try:
            self._claims.confirm(self._at, self._work.instance_uuid)
        except GanttError as error:
            stop(self._workload)
            self._workload = None
            self._fail("confirm", error.message)
        else:
            self._note(self._at, "running")

    def release_again(self) -> None:
        """What could not be released may now be part of a confirmed claim, which does
        not end by itself."""
        last = self._attempts[-1]
        if last.unreleased and self._owed is not None:
            unreleased, self._owed = self._free(self._owed), None
            self._attempts[-1] = replace(last, unreleased=unreleased)

    def abandon(self) -> None:
        """The whole launch is cut short: stop what was started, free what is held."""
        if self._starting is not None:
            self._starting.abandon()
        if self._workload is not None:
            stop(self._workload)
        if self._at is not None:
            self._free(self._at)

    def outcome(self) -> Launch:
        """What became of it."""
        return Launch(
            self._work.instance_uuid,
            tuple(self._attempts),
            self._at,
            self._workload,
            0 if self._workload else len(self._left),
            self._is_alone,
        )

    def _is_settled(self) -> bool:
        return bool(self._attempts) and self._attempts[-1].stage == "running"

    def _fail(self, stage: Stage, failure: str) -> None:
        assert self._at is not None
        at, self._at = self._at, None
        unreleased = self._free(at)
        self._owed = at if unreleased else None
        self._note(at, stage, failure, unreleased)

    def _free(self, at: Selection) -> str:
        return self._claims.give_back(
            at, self._work.instance_uuid, is_alone=self._is_alone
        )

    def _note(
        self, at: Selection, stage: Stage, failure: str = "", unreleased: str = ""
    ) -> None:
        found = Attempt(at.service_host, at.nodename, stage, failure, unreleased)
        self._attempts.append(found)
        self.last_outcome = stage


def check(
    request: ScheduleRequest, selections: Selections, options: LaunchOptions
) -> None:
    """Raises Invalid for what cannot be launched safely."""
    names = request.instance_uuids or ()
    if not request.is_claiming or not names:
        raise Invalid(
            "Nothing of this request is claimed, so it cannot be launched: name its "
            "instances in instance_uuids, without dry_run."
        )
    if len(names) != len(selections) or not all(selections):
        raise Invalid(
            f"The request has {len(names)} instances and the selections are for "
            f"{len(selections)}, or one has no host: pass the answer to this request."
        )
    if options.max_attempts < 1 or options.parallel < 1 or options.timeout_s <= 0:
        raise Invalid(
            "max_attempts and parallel must be at least 1, timeout_s above 0; got "
            f"{options.max_attempts}, {options.parallel}, {options.timeout_s:g}."
        )
    if request.lease_s is None or request.lease_s <= options.timeout_s:
        raise Invalid(
            f"A launch may take {options.timeout_s:g} s, and the lease of its claim is "
            f"{request.lease_s}: set lease_s above timeout_s, so that a claim ends by "
            "itself where the launching process dies, and not before it is launched."
        )


def _batches(
    instances: list[_InstanceLaunch], size: int
) -> Iterator[list[_InstanceLaunch]]:
    rest = iter(instances)
    while batch := list(islice(rest, size)):
        yield batch


def _words(error: Exception) -> str:
    if isinstance(error, GanttError):
        return error.message
    return shortened(f"{type(error).__name__}: {error}", 500)
