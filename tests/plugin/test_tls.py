"""Gantt behind TLS."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from gantt_nova_plugin.advisor import Advisor

from tests.plugin.clouds import hosts, spec, weighed
from tests.plugin.fake_gantt import FakeGantt
from tests.plugin.test_failures import LIMIT_S

Configure = Callable[..., Advisor]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For 127.0.0.1, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gantt")])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = tmp_path_factory.mktemp("tls") / "gantt.pem"
    path.write_bytes(
        made.public_bytes(pem)
        + key.private_bytes(
            pem,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@pytest.fixture
def secured(gantt: FakeGantt, certificate: Path) -> str:
    """The URL of the fake, which speaks TLS now."""
    gantt.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    gantt.tls.load_cert_chain(certificate)
    return gantt.url.replace("http:", "https:")


def test_certificate_that_is_known_is_accepted(
    configure: Configure, gantt: FakeGantt, secured: str, certificate: Path
) -> None:
    configure(mode="advise", url=secured, cafile=str(certificate), timeout=1.0)
    for _ in range(3):
        assert weighed(spec(), hosts()) == ["c", "b", "a"]
    assert gantt.connections == 1


def test_idle_connection_that_was_ended_is_made_anew(
    configure: Configure, gantt: FakeGantt, secured: str, certificate: Path
) -> None:
    advisor = configure(
        mode="advise", url=secured, cafile=str(certificate), timeout=1.0
    )
    for _ in range(3):
        assert weighed(spec(), hosts()) == ["c", "b", "a"]
        gantt.hang_up()
    assert gantt.connections == 3
    assert advisor.journal.counters() == {"asked": 3, "answered": 3}


@pytest.mark.parametrize("cafile", [None, "/no/such/file"])
def test_certificate_that_is_unknown_is_refused(
    cafile: str | None, configure: Configure, gantt: FakeGantt, secured: str
) -> None:
    advisor = configure(mode="advise", url=secured, cafile=cafile, timeout=1.0)
    assert weighed(spec(), hosts()) == ["a", "b", "c"]
    assert advisor.journal.counters() == {"asked": 1, "failed_connection": 1}
    assert gantt.asked == []


@pytest.mark.parametrize("letters", [b"", b"\x16\x03\x03\x40\x00" + b"\x02" * 1000])
def test_handshake_that_takes_for_ever_is_not_waited_for(
    letters: bytes, configure: Configure, gantt: FakeGantt
) -> None:
    class Dripping:
        def wrap_socket(self, sock: socket.socket, server_side: bool) -> None:
            for letter in letters:
                sock.sendall(bytes([letter]))
                time.sleep(0.01)
            gantt.closing.wait(10)
            raise OSError

    gantt.tls = Dripping()  # type: ignore[assignment]
    url = gantt.url.replace("http:", "https:")
    advisor = configure(mode="advise", url=url, timeout=0.3)
    began = time.monotonic()
    assert weighed(spec(), hosts()) == ["a", "b", "c"]
    assert time.monotonic() - began < LIMIT_S
    assert advisor.journal.counters() == {"asked": 1, "failed_timeout": 1}
