"""From selections to running instances: alternates, claims, and the story told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import gantt as package
from gantt.errors import ClaimExpired, Invalid, LaunchFailed, Unavailable
from gantt.launch.contract import StartedInstance, Work
from gantt.launch.launching import Launching
from gantt.launch.outcome import LaunchOptions
from gantt.launch.simulated import SimulatedLauncher
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Selection
from tests import inprocess
from tests.launch.fleet import HOSTS, add_hosts, asked, in_use, pending


@pytest.fixture(params=inprocess.DOORS)
def gantt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    with inprocess.opened(request.param, tmp_path) as books:
        add_hosts(books)
        yield books


def is_permanent(gantt: GanttProtocol, claim: str | None) -> bool:
    """Whether the claim stands; it can be confirmed again."""
    assert claim is not None
    try:
        gantt.confirm_claim(claim)
    except ClaimExpired:
        return False
    return True


def test_an_instance_runs_on_its_host_and_keeps_its_claim(gantt: GanttProtocol) -> None:
    launcher, request = SimulatedLauncher(), asked()
    found = gantt.schedule(request)
    launching = Launching(gantt, launcher)
    (one,) = launching.launch(request, found, ("run", "it"))
    selection, workload = one.running()
    assert selection == found[0][0]
    assert launcher.started == [workload]
    ((seen, work),) = launcher.asked
    assert seen == selection
    assert work == Work(one.instance_uuid, request.spec, ("run", "it"))
    assert in_use(gantt) == {"host-3": 1}
    assert is_permanent(gantt, selection.claim)
    launching.release(one)
    assert in_use(gantt) == {} and pending(gantt) == 0


def test_a_failed_launch_goes_to_the_alternate(gantt: GanttProtocol) -> None:
    launcher, request = SimulatedLauncher({"host-3": "no such image"}), asked()
    found = gantt.schedule(request)
    launching = Launching(gantt, launcher)
    (one,) = launching.launch(request, found)
    selection, _ = one.running()
    assert selection.service_host == found[0][1].service_host == "host-2"
    assert selection.claim not in (None, found[0][0].claim)
    assert in_use(gantt) == {"host-2": 1} and pending(gantt) == 1
    assert not is_permanent(gantt, found[0][0].claim)
    assert is_permanent(gantt, selection.claim)
    assert [(a.host, a.stage) for a in one.attempts] == [
        ("host-3", "launch"),
        ("host-2", "running"),
    ]
    assert "host-3: launch failed: no such image" in one.story
    launching.release(one)
    assert in_use(gantt) == {} and pending(gantt) == 0


def test_every_host_fails_and_the_story_names_each(gantt: GanttProtocol) -> None:
    failures = {"host-1": "on fire", "host-2": "no power", "host-3": "no image"}
    launcher, request = SimulatedLauncher(failures), asked()
    (one,) = Launching(gantt, launcher).launch(request, gantt.schedule(request))
    with pytest.raises(LaunchFailed) as caught:
        one.running()
    for number, host in enumerate(("host-3", "host-2", "host-1"), 1):
        expected = f"{number}. {host}: launch failed: {failures[host]}"
        assert expected in caught.value.message
    assert "No alternate is left" in one.story
    assert in_use(gantt) == {} and pending(gantt) == 0


def test_it_gives_up_after_max_attempts(gantt: GanttProtocol) -> None:
    launcher = SimulatedLauncher(dict.fromkeys(("host-3", "host-2"), "no"))
    request = asked()
    launching = Launching(gantt, launcher, LaunchOptions(max_attempts=2))
    (one,) = launching.launch(request, gantt.schedule(request))
    assert one.workload is None and one.untried == 1
    assert len(launcher.asked) == len(one.attempts) == 2
    assert "max_attempts" in one.story
    assert in_use(gantt) == {}


def test_an_alternate_that_is_full_by_now_is_not_launched_on(
    gantt: GanttProtocol,
) -> None:
    launcher, request = SimulatedLauncher({"host-3": "no"}), asked()
    found = gantt.schedule(request)
    gantt.delete_host("host-2", "host-2")
    (one,) = Launching(gantt, launcher).launch(request, found)
    assert [(a.host, a.stage) for a in one.attempts] == [
        ("host-3", "launch"),
        ("host-2", "claim"),
        ("host-1", "running"),
    ]
    assert [s.service_host for s, _ in launcher.asked] == ["host-3", "host-1"]


def test_instances_of_one_claim_are_settled_each_by_itself(
    gantt: GanttProtocol,
) -> None:
    # No chosen host of a request is an alternate in it.
    more = (*HOSTS, "host-4")
    add_hosts(gantt, more)
    launcher, request = SimulatedLauncher({"host-3": "no"}), asked(3)
    found = gantt.schedule(request)
    first = [mine[0].service_host for mine in found]
    assert "host-3" in first and len({mine[0].claim for mine in found}) == 1
    launching = Launching(gantt, launcher)
    launches = launching.launch(request, found)
    hosts = [one.running()[0].service_host for one in launches]
    moved = [before != after for before, after in zip(first, hosts, strict=True)]
    assert moved == [host == "host-3" for host in first]
    assert in_use(gantt, more) == {host: hosts.count(host) for host in set(hosts)}
    assert is_permanent(gantt, found[0][0].claim)
    # One ends: the others stay.
    launching.release(launches[0])
    assert sum(in_use(gantt, more).values()) == 2 and pending(gantt) == 2
    for one in launches[1:]:
        launching.release(one)
    assert in_use(gantt, more) == {} and pending(gantt) == 0


def test_one_of_a_claim_fails_everywhere_and_the_others_run(
    gantt: GanttProtocol,
) -> None:
    request = asked(2)
    found = gantt.schedule(request)

    class Partial(SimulatedLauncher):
        def launch(self, selection: Selection, work: Work) -> StartedInstance:  # type: ignore[override]
            if work.instance_uuid == (request.instance_uuids or ())[0]:
                raise RuntimeError("it is cursed")
            return super().launch(selection, work)

    launches = Launching(gantt, Partial()).launch(request, found)
    assert [one.workload is None for one in launches] == [True, False]
    assert "RuntimeError: it is cursed" in launches[0].story
    assert in_use(gantt) == {found[1][0].service_host: 1} and pending(gantt) == 1


def test_a_launcher_that_hangs_is_bounded_and_what_it_starts_late_is_stopped(
    gantt: GanttProtocol,
) -> None:
    launcher, request = SimulatedLauncher(hanging=frozenset({"host-3"})), asked()
    launching = Launching(gantt, launcher, LaunchOptions(timeout_s=0.2))
    (one,) = launching.launch(request, gantt.schedule(request))
    assert one.running()[0].service_host == "host-2"
    assert "did not return within 0.2 s" in one.attempts[0].failure
    assert in_use(gantt) == {"host-2": 1}
    launcher.resumed.set()
    until = time.monotonic() + 10
    while len(launcher.started) < 2 or not launcher.started[1].is_stopped:
        assert time.monotonic() < until, "the late instance was not stopped"
        time.sleep(0.01)
    assert not launcher.started[0].is_stopped


def test_a_claim_that_ended_meanwhile_stops_the_instance(
    gantt: GanttProtocol,
) -> None:
    request = asked()
    found = gantt.schedule(request)
    assert found[0][0].claim is not None
    gantt.release_claim(found[0][0].claim)
    launcher = SimulatedLauncher()
    (one,) = Launching(gantt, launcher).launch(request, found)
    assert one.attempts[0].stage == "confirm"
    assert launcher.started[0].is_stopped
    assert one.running()[0].service_host == "host-2"
    assert in_use(gantt) == {"host-2": 1}


def test_a_host_that_names_the_instance_during_the_launch_is_no_failure(
    gantt: GanttProtocol,
) -> None:
    class Named(SimulatedLauncher):
        def launch(self, selection: Selection, work: Work) -> StartedInstance:  # type: ignore[override]
            gantt.sync_instances(selection.service_host, [work.instance_uuid])
            return super().launch(selection, work)

    request = asked()
    launching = Launching(gantt, Named())
    (one,) = launching.launch(request, gantt.schedule(request))
    assert [a.stage for a in one.attempts] == ["running"]
    assert in_use(gantt) == {"host-3": 1}
    launching.release(one)
    assert in_use(gantt) == {}
    assert gantt.list_hosts(host="host-3")[0].instances == ()


def test_a_launch_that_is_cut_short_leaves_nothing(gantt: GanttProtocol) -> None:
    request = asked(2)
    found = gantt.schedule(request)
    launcher = SimulatedLauncher(hanging=frozenset({found[1][0].service_host}))

    class Interrupted(Launching):
        def _round(self, seats: list) -> None:  # type: ignore[type-arg]
            for seat in seats:
                assert seat.start(launcher)
            seats[0].finish(10, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted(gantt, launcher).launch(request, found)
    launcher.resumed.set()
    until = time.monotonic() + 10
    while len(launcher.started) < 2 or not launcher.started[1].is_stopped:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert launcher.started[0].is_stopped
    assert in_use(gantt) == {} and pending(gantt) == 0


def test_not_more_are_launched_at_once_than_allowed() -> None:
    books = package.connect("memory://")
    add_hosts(books)
    launcher, request = SimulatedLauncher(hanging=frozenset({"host-3"})), asked(3)
    found = tuple(mine[:1] for mine in books.schedule(request))
    at_3 = [mine[0].service_host for mine in found].count("host-3")
    assert at_3 >= 1
    options = LaunchOptions(timeout_s=0.1, parallel=1)
    began = time.monotonic()
    launches = Launching(books, launcher, options).launch(request, found)
    assert time.monotonic() - began >= 0.1 * at_3
    assert [one.workload is None for one in launches].count(True) == at_3
    launcher.resumed.set()
    books.close()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"lease_s": None}, "lease_s"),
        ({"lease_s": 60.0}, "timeout_s"),
        ({"dry_run": True}, "dry_run"),
        ({"instance_uuids": None}, "instance_uuids"),
        ({"instance_uuids": ("a", "b")}, "selections"),
    ],
)
def test_what_cannot_be_launched_is_refused(
    change: dict[str, object], word: str
) -> None:
    books = package.connect("memory://")
    add_hosts(books)
    request, launcher = asked(), SimulatedLauncher()
    found = books.schedule(request)
    with pytest.raises(Invalid, match=word):
        Launching(books, launcher).launch(replace(request, **change), found)
    assert launcher.asked == []
    books.close()


def test_a_claim_that_cannot_be_released_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    books = package.connect("memory://")
    add_hosts(books)
    request, launcher = asked(), SimulatedLauncher({"host-3": "no"})
    found = books.schedule(request)

    def away(claim: str) -> None:
        raise Unavailable(f"the service is away, and {claim} stays")

    with monkeypatch.context() as patched:
        patched.setattr(books, "release_claim", away)
        (one,) = Launching(books, launcher).launch(request, found)
    assert "was not released: the service is away" in one.story
    # The instance has one claim: the alternate's took the place of the other.
    assert in_use(books) == {"host-2": 1}
    books.close()


def test_what_a_confirmed_claim_still_holds_of_a_failed_instance_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The service is away once, just when a part of a shared claim is given back."""
    books = package.connect("memory://")
    add_hosts(books)
    request, launcher = asked(2), SimulatedLauncher({"host-3": "no"})
    found = books.schedule(request)
    calls: list[str] = []
    delete = books.delete_instance

    def away_once(host: str, instance_uuid: str) -> None:
        calls.append(host)
        if len(calls) == 1:
            raise Unavailable("the service is away")
        delete(host, instance_uuid)

    monkeypatch.setattr(books, "delete_instance", away_once)
    launching = Launching(books, launcher, LaunchOptions(max_attempts=1))
    launches = launching.launch(request, found)
    assert calls == ["host-3", "host-3"]
    assert [one.workload is None for one in launches].count(True) == 1
    assert "not released" not in "".join(one.story for one in launches)
    assert in_use(books) == {"host-2": 1} and pending(books) == 1
    books.close()
