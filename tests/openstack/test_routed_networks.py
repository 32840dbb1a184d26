"""Segments of requested networks, looked up in a Neutron over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.client.transport import SessionTransport
from gantt.conf import RpcOptions, neutron_session
from gantt.engine.clock import SystemClock
from gantt.errors import Refused, Unavailable
from gantt.model.spec import RequestedNetwork, RequestSpec, ScheduleRequest
from gantt.openstack.neutron import Asking
from gantt.openstack.neutron import Neutron as Questions
from gantt.openstack.routed_networks import RoutedNetworks
from tests.cloud.neutron import Item, Neutron, neutron
from tests.configured import settings_of

OPTION = "query_placement_for_routed_network_aggregates"
SUBNETS: list[Item] = [
    {"id": "sub1", "network_id": "routed", "segment_id": "s1", "cidr": "10.1.0.0/16"},
    {"id": "sub2", "network_id": "routed", "segment_id": "s2", "cidr": "10.2.0.0/16"},
    {"id": "sub3", "network_id": "routed", "segment_id": "s2", "cidr": "10.3.0.0/16"},
    {"id": "sub4", "network_id": "flat", "segment_id": None, "cidr": "10.4.0.0/16"},
    {"id": "sub5", "network_id": "old", "cidr": "10.5.0.0/16"},
]
PORTS: list[Item] = [
    {"id": "bound", "network_id": "routed", "fixed_ips": [{"subnet_id": "sub2"}]},
    {
        "id": "dual",
        "network_id": "routed",
        "fixed_ips": [{"subnet_id": "sub1"}, {"subnet_id": "sub2"}],
    },
    {"id": "deferred", "network_id": "routed", "fixed_ips": []},
    {"id": "plain", "network_id": "flat", "fixed_ips": [{"subnet_id": "sub4"}]},
    {"id": "lost", "network_id": "routed", "fixed_ips": [{"subnet_id": "gone"}]},
]


_OWN = RpcOptions.__struct_fields__


class Time(SystemClock):
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.at = 0.0
        self.monotonic = lambda: self.at


def options_for(url: str) -> str:
    """As in a ``nova.conf``."""
    return (
        f"[scheduler]\n{OPTION} = true\n[neutron]\nauth_type = none\nendpoint = {url}\n"
    )


@contextmanager
def asking(
    folder: Path, server: Neutron, clock: Time | None = None, **options: Any
) -> Iterator[RoutedNetworks]:
    """``options``: of RpcOptions; others are of ``[neutron]``."""
    own = {name: options.pop(name) for name in _OWN if name in options}
    text = options_for(server.url)
    text += "".join(f"{name} = {value}\n" for name, value in options.items())
    found = RoutedNetworks(RpcOptions(**own), 4, clock or Time())
    try:
        found.ask(neutron_session(settings_of(folder, text)))
        yield found
    finally:
        found.close()


@pytest.fixture
def server() -> Iterator[Neutron]:
    with neutron(subnets=SUBNETS, ports=PORTS) as found:
        yield found


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def networks(tmp_path: Path, server: Neutron, clock: Time) -> Iterator[RoutedNetworks]:
    with asking(tmp_path, server, clock) as found:
        yield found


def request(*networks: RequestedNetwork, **fields: Any) -> ScheduleRequest:
    spec = RequestSpec(requested_networks=networks, **fields)
    return ScheduleRequest(spec, request_id="req-1")


def net(network_id: str | None) -> RequestedNetwork:
    return RequestedNetwork(network_id)


def port(port_id: str, network_id: str | None = None) -> RequestedNetwork:
    return RequestedNetwork(network_id, port_id)


@pytest.mark.parametrize(
    ("asked", "segments"),
    [
        (net("routed"), {"s1", "s2"}),
        (net("flat"), set()),
        (net("old"), set()),
        (net("empty"), set()),
        (net("auto"), set()),
        (net("none"), set()),
        (net(None), set()),
        (port("bound"), {"s2"}),
        (port("bound", "flat"), {"s2"}),
        (port("dual"), {"s1"}),
        (port("deferred"), {"s1", "s2"}),
        (port("plain"), set()),
    ],
)
def test_segments_are_those_that_nova_would_find(
    networks: RoutedNetworks, asked: RequestedNetwork, segments: set[str]
) -> None:
    given = request(asked, net("flat"))
    found = networks.with_segments(given).spec.requested_networks
    assert found == (
        replace(asked, segments=frozenset(segments)),
        replace(net("flat"), segments=frozenset()),
    )
    assert given.spec.requested_networks[0].segments is None


def test_pages_are_followed(networks: RoutedNetworks, server: Neutron) -> None:
    server.page = 2
    (found,) = networks.with_segments(request(net("routed"))).spec.requested_networks
    assert found.segments == frozenset({"s1", "s2"})
    assert len(server.asked) == 2
    assert server.asked[1].endswith("&marker=sub2")


def test_nothing_is_asked_without_networks_in_rebuilds_or_if_off(
    networks: RoutedNetworks, server: Neutron
) -> None:
    rebuild = request(net("routed"), scheduler_hints={"_nova_check_type": ("rebuild",)})
    for one in (request(), rebuild):
        assert networks.with_segments(one) is one
    networks.ask(None)
    routed = request(net("routed"))
    assert networks.with_segments(routed) is routed
    assert server.asked == []
    assert "neutron_requests" not in networks.counts()


def test_the_request_is_named_to_neutron(
    networks: RoutedNetworks, server: Neutron
) -> None:
    networks.with_segments(request(net("routed")))
    assert server.headers[0]["x-openstack-request-id"] == "req-1"


def test_networks_and_subnets_are_known_for_a_while_and_ports_are_not(
    networks: RoutedNetworks, server: Neutron, clock: Time
) -> None:
    asked = request(net("routed"), port("bound"), port("bound"))
    networks.with_segments(asked)
    assert len(server.asked) == 4
    assert networks.counts()["neutron_hits"] == 1
    clock.at = 9.9
    networks.with_segments(asked)
    assert len(server.asked) == 6
    clock.at = 10.0
    networks.with_segments(asked)
    assert len(server.asked) == 10
    counts = networks.counts()
    assert counts["neutron_requests"] == 3
    assert counts["neutron_questions"] == 10
    assert (counts["neutron_answers"], counts["neutron_answers_limit"]) == (2, 1024)


@pytest.mark.parametrize(
    ("options", "kept", "questions"),
    [
        ({"neutron_answers": 1}, 1, 4),
        ({"neutron_answers": 0}, 0, 5),
        ({"neutron_answers_s": 0.0}, 0, 5),
    ],
)
def test_what_is_known_is_limited(
    tmp_path: Path,
    server: Neutron,
    options: dict[str, Any],
    kept: int,
    questions: int,
) -> None:
    with asking(tmp_path, server, **options) as networks:
        for one in ("routed", "flat", "flat", "old", "routed"):
            networks.with_segments(request(net(one)))
        assert networks.counts()["neutron_answers"] == kept
        assert len(server.asked) == questions


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_a_failing_neutron_is_the_trouble_and_told_once(
    networks: RoutedNetworks,
    server: Neutron,
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    server.status = status
    for _ in range(2):
        found = networks.with_segments(request(net("routed"), net("flat")))
        for one in found.spec.requested_networks:
            assert one.segments is None
            assert one.trouble.startswith("Neutron did not answer")
            assert "127.0.0.1" not in one.trouble
    errors = [one for one in caplog.records if one.levelno == logging.ERROR]
    (line,) = errors
    assert "Neutron is away" in line.getMessage()
    counts = networks.counts()
    assert (counts["neutron_failures"], counts.get("neutron_late", 0)) == (2, 0)
    server.status = 200
    (one,) = networks.with_segments(request(net("flat"))).spec.requested_networks
    assert (one.segments, one.trouble) == (frozenset(), "")
    assert "Neutron is back" in caplog.text


@pytest.mark.parametrize("uuid", ["unknown", "a/b?c"])
def test_an_unknown_port_is_named(networks: RoutedNetworks, uuid: str) -> None:
    (one,) = networks.with_segments(request(port(uuid))).spec.requested_networks
    assert one.trouble.startswith("Neutron does not know ports/")


def test_a_subnet_that_is_gone_is_named(networks: RoutedNetworks) -> None:
    (one,) = networks.with_segments(request(port("lost"))).spec.requested_networks
    assert one.trouble == "Neutron does not know subnets/gone."


def test_an_answer_that_cannot_be_read_is_a_failure(
    networks: RoutedNetworks, server: Neutron, caplog: pytest.LogCaptureFixture
) -> None:
    server.content = {"subnets": [{"id": "x", "network_id": "odd", "segment_id": 7}]}
    (one,) = networks.with_segments(request(net("odd"))).spec.requested_networks
    assert one.trouble.startswith("Neutron did not answer")
    assert "cannot be read" in caplog.text


def test_an_answer_beyond_its_limit_is_a_failure(
    tmp_path: Path, server: Neutron, caplog: pytest.LogCaptureFixture
) -> None:
    server.content = {
        "subnets": [
            {"id": f"sub{n:04}", "network_id": "n", "segment_id": "s"}
            for n in range(100)
        ]
    }
    with asking(tmp_path, server, neutron_answer_size_limit=1024) as networks:
        (one,) = networks.with_segments(request(net("n"))).spec.requested_networks
        assert one.trouble.startswith("Neutron did not answer")
        assert "more than 1024 bytes" in caplog.text
        assert "neutron_answer_size_limit" in caplog.text
        counts = networks.counts()
        assert (counts["neutron_oversize"], counts["neutron_failures"]) == (1, 1)
        assert counts["neutron_answer_size_limit"] == 1024
        server.page = 10  # each within the limit
        (one,) = networks.with_segments(request(net("n"))).spec.requested_networks
    assert one.segments == frozenset({"s"})
    assert counts["neutron_questions"] == 1


def test_an_answer_that_does_not_end_is_not_read_on(
    tmp_path: Path, server: Neutron
) -> None:
    items = [{"id": f"{n:0200}", "segment_id": "s"} for n in range(100)]
    server.content = {"subnets": items}
    # Four seconds in all; two are also for the first byte, on a busy machine.
    server.dribble_s = 0.05
    session = neutron_session(settings_of(tmp_path, options_for(server.url)))
    transport = SessionTransport(session, "", timeout_s=2.0, size_limit=100_000)
    with pytest.raises(Unavailable, match=r"did not end within 2 s"):
        Questions(transport).segments_of_network("n", Asking("", lambda: None))


def test_a_connection_that_fails_is_made_again(tmp_path: Path, server: Neutron) -> None:
    server.drops = 3
    with asking(tmp_path, server) as networks:
        (one,) = networks.with_segments(request(net("flat"))).spec.requested_networks
        assert (one.segments, len(server.asked)) == (frozenset(), 4)
        assert networks.counts()["neutron_questions"] == 4
    server.drops = 1
    with asking(tmp_path, server, http_retries=0) as networks:
        (one,) = networks.with_segments(request(net("flat"))).spec.requested_networks
    assert one.trouble.startswith("Neutron did not answer")


def test_a_silent_neutron_holds_a_request_no_longer_than_the_limit(
    tmp_path: Path, server: Neutron, caplog: pytest.LogCaptureFixture
) -> None:
    server.may_answer.clear()
    with asking(tmp_path, server, neutron_timeout_s=0.3) as networks:
        asked = [request(net(f"n{n}")) for n in range(12)]  # more than threads
        with ThreadPoolExecutor(len(asked)) as pool:
            found = list(pool.map(networks.with_segments, asked))
        assert all(one.spec.requested_networks[0].trouble for one in found)
        assert networks.counts()["neutron_failures"] == 12
        assert "Neutron is away" in caplog.text
        server.may_answer.set()


@pytest.mark.parametrize("asked", [port("bound"), net("routed")])
def test_no_question_begins_once_the_caller_has_gone(
    tmp_path: Path, server: Neutron, asked: RequestedNetwork
) -> None:
    server.page = 1
    clock = Time()
    # A network is looked for among what is known first.
    ticks = iter(([] if asked.port_id else [0]) + list(range(0, 1_000, 6)))
    clock.monotonic = lambda: next(ticks)
    with asking(tmp_path, server, clock) as networks:
        (one,) = networks.with_segments(request(asked)).spec.requested_networks
    assert one.trouble.startswith("Neutron did not answer")
    assert len(server.asked) == 1


def test_a_dead_neutron_is_the_trouble(tmp_path: Path) -> None:
    with neutron() as gone:
        pass
    with asking(tmp_path, gone) as networks:
        (one,) = networks.with_segments(request(net("n"))).spec.requested_networks
    assert one.trouble.startswith("Neutron did not answer")


# -- options -------------------------------------------------------------------------


def test_without_the_option_the_section_is_not_read(tmp_path: Path) -> None:
    text = "[neutron]\nauth_type = no-such-plugin\n"
    assert neutron_session(settings_of(tmp_path, text)) is None


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("", r"\[neutron\] does not say how to sign in"),
        ("auth_type = no-such-plugin\n", r"\[neutron\] cannot be used"),
    ],
)
def test_a_section_that_cannot_sign_in_is_refused(
    tmp_path: Path, section: str, words: str
) -> None:
    text = f"[scheduler]\n{OPTION} = true\n[neutron]\n{section}"
    with pytest.raises(Refused, match=words):
        neutron_session(settings_of(tmp_path, text))


def test_keystone_has_no_more_time_than_neutron(tmp_path: Path) -> None:
    text = options_for("http://n").replace(
        "[neutron]", "neutron_timeout_s = 2.5\n[neutron]"
    )
    assert neutron_session(settings_of(tmp_path, text)).session.timeout == 3
    given = text + "timeout = 7\n"
    assert neutron_session(settings_of(tmp_path, given)).session.timeout == 7


def test_the_section_says_where_neutron_is_and_how_it_is_reached(
    tmp_path: Path,
) -> None:
    text = f"""[scheduler]
{OPTION} = true
[neutron]
auth_type = password
auth_url = https://keystone.example/v3
username = neutron
password = secret
region_name = north
valid_interfaces = admin
service_type = networking
endpoint_override = https://neutron.example
cafile = /etc/ca.pem
certfile = /etc/own.pem
keyfile = /etc/own.key
http_retries = 5
"""
    found = neutron_session(settings_of(tmp_path, text))
    assert (found.region_name, found.interface) == ("north", ["admin"])
    assert found.service_type == "networking"
    assert found.endpoint_override == "https://neutron.example"
    assert found.session.verify == "/etc/ca.pem"
    assert found.session.cert == ("/etc/own.pem", "/etc/own.key")
    assert settings_of(tmp_path, text).rpc.http_retries == 5
    found = neutron_session(settings_of(tmp_path, text + "insecure = true\n"))
    assert found.session.verify is False
    plain = neutron_session(settings_of(tmp_path, options_for("http://n")))
    assert (plain.interface, plain.service_type) == (["internal", "public"], "network")


@pytest.mark.parametrize("value", ["-1", "many"])
def test_odd_retries_are_refused(tmp_path: Path, value: str) -> None:
    text = options_for("http://n") + f"http_retries = {value}\n"
    with pytest.raises(Refused, match="http_retries"):
        settings_of(tmp_path, text)
